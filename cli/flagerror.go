package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"aibox/agents/spec"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/spelling"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagFault explains an error of the parser, and suggests the nearest flag for an unknown
// one.
func flagFault(cmd *cobra.Command, err error) error {
	f := usage(err)
	if near := nearestFlag(cmd, err); near != "" {
		f = f.Hint("did you mean --%s?", near)
	}
	if strings.Contains(cmd.Use, "-- COMMAND") {
		f = f.Hint("write -- before a command that has flags of its own")
	}
	return f.Hint("`%s --help` lists the flags", cmd.CommandPath())
}

// nearestFlag returns the flag of cmd with the most similar name to the unknown one that
// err is about; "" means none.
func nearestFlag(cmd *cobra.Command, err error) string {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return ""
	}
	name := unknown.GetSpecifiedName()
	if letters := unknown.GetSpecifiedShortnames(); letters != "" {
		if len(letters) == 1 {
			return ""
		}
		name = letters // a long flag with one dash
	}
	var known []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			known = append(known, flag.Name)
		}
	})
	return spelling.Nearest(name, known)
}

// flagError names the values that a flag accepts instead of the parser's error. It
// returns other errors unchanged.
func flagError(err error) error {
	invalid, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	if setting, ok := invalid.GetFlag().Value.(*settingFlag); ok {
		return setting.explain(invalid)
	}
	takes := map[string]string{
		"bool":     "true or false",
		"int":      "a whole number",
		"int64":    "a whole number",
		"float64":  "a number such as 2 or 1.5",
		"uint64":   "a whole number, 0 or more",
		"size":     "a size such as 512MiB or 4GiB",
		"duration": "a duration such as 90s, 30m, 2h or 1d",
	}[strings.ToLower(invalid.GetFlag().Value.Type())]
	if takes == "" {
		return err
	}
	return fmt.Errorf("--%s must be %s, not %q", invalid.GetFlag().Name, takes, invalid.GetValue())
}

// refuseEmpty returns an error if a flag that takes a list was given without a word, or with an empty
// one, as with a variable that is not set. An empty list must not select everything.
func refuseEmpty(cmd *cobra.Command, flag string, words []string) error {
	empty := func(word string) bool { return strings.TrimSpace(word) == "" }
	if cmd.Flags().Changed(flag) && (len(words) == 0 || slices.ContainsFunc(words, empty)) {
		return fault.New(fault.Usage, "--%s has an empty value", flag).Hint("leave out --%s to select everything", flag)
	}
	return nil
}

// explain names the values that the setting accepts: for a number or a duration their
// form, for other types the error of the setting.
func (f *settingFlag) explain(invalid *pflag.InvalidValueError) error {
	_, notNumber := strconv.ParseInt(invalid.GetValue(), 10, 64)
	size, notSize := amount.ParseMiB(invalid.GetValue())
	_, notTime := spec.ParseDuration(invalid.GetValue())
	auto := ""
	if f.field.Auto != "" {
		auto = spec.Auto + " or "
	}
	switch {
	case f.field.Type == spec.Decimal:
		return fmt.Errorf("--%s must be %sa number such as 2 or 1.5, 0 or more and with at most two decimals, not %q", f.field.Key, auto, invalid.GetValue())
	case f.field.Type == spec.Int && (notNumber != nil || strings.HasPrefix(invalid.GetValue(), "-")):
		return fmt.Errorf("--%s must be %sa whole number, 0 or more, not %q", f.field.Key, auto, invalid.GetValue())
	case f.field.Type == spec.Size && (notSize != nil || size < 0):
		return fmt.Errorf("--%s must be %sa size such as 512MiB or 4GiB, 0 or more, not %q", f.field.Key, auto, invalid.GetValue())
	case f.field.Type == spec.Money:
		return fmt.Errorf("--%s must be US dollars such as 5 or 2.50, not %q", f.field.Key, invalid.GetValue())
	case f.field.Type == spec.Duration && notTime != nil:
		return fmt.Errorf("--%s must be a duration such as 90s, 30m, 2h or 1d, not %q", f.field.Key, invalid.GetValue())
	}
	return errors.New(strings.Replace(invalid.Unwrap().Error(), fmt.Sprintf("option %q", f.field.Key), "--"+f.field.Key, 1))
}
