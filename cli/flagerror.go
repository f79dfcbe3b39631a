package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
)

// flagError says what a flag takes, instead of how the reading of its value failed.
// Other errors stay as they are.
func flagError(err error) error {
	invalid, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	takes := map[string]string{
		"bool":     "true or false",
		"int":      "a whole number",
		"uint64":   "a whole number of 0 or more",
		"duration": "a length of time such as 90s, 30m, 2h or 1d",
	}[invalid.GetFlag().Value.Type()]
	if takes == "" {
		return err
	}
	return fmt.Errorf("--%s takes %s, not %q", invalid.GetFlag().Name, takes, invalid.GetValue())
}
