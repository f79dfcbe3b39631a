package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"aibox/agents/spec"

	"github.com/spf13/pflag"
)

// flagError says what a flag takes, instead of how the reading of its value failed.
// Other errors stay as they are.
func flagError(err error) error {
	invalid, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	if setting := settingOf(invalid.GetFlag()); setting != nil {
		return setting.explain(invalid)
	}
	takes := map[string]string{
		"bool":     "true or false",
		"int":      "a whole number",
		"uint64":   "a whole number, 0 or more",
		"duration": "a duration such as 90s, 30m, 2h or 1d",
	}[invalid.GetFlag().Value.Type()]
	if takes == "" {
		return err
	}
	return fmt.Errorf("--%s must be %s, not %q", invalid.GetFlag().Name, takes, invalid.GetValue())
}

// explain says what the setting takes. A mistyped number or time is named by its kind;
// for anything else the setting says what is wrong.
func (f *settingFlag) explain(invalid *pflag.InvalidValueError) error {
	_, notNumber := strconv.ParseInt(invalid.GetValue(), 10, 64)
	_, notTime := spec.ParseDuration(invalid.GetValue())
	switch {
	case f.field.Type == spec.Int && (notNumber != nil || strings.HasPrefix(invalid.GetValue(), "-")):
		return fmt.Errorf("--%s must be a whole number, 0 or more, not %q", f.field.Key, invalid.GetValue())
	case f.field.Type == spec.Duration && notTime != nil:
		return fmt.Errorf("--%s must be a duration such as 90s, 30m, 2h or 1d, not %q", f.field.Key, invalid.GetValue())
	}
	return errors.New(strings.Replace(invalid.Unwrap().Error(), fmt.Sprintf("option %q", f.field.Key), "--"+f.field.Key, 1))
}
