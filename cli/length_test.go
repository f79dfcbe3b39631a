package cli

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func TestAFlagParsesADurationAsSettingsDo(t *testing.T) {
	flags := pflag.NewFlagSet("x", pflag.ContinueOnError)
	var limit time.Duration
	lengthVar(flags, &limit, "timeout", time.Hour, "end it after this time")
	if limit != time.Hour || flags.Lookup("timeout").DefValue != "1h" {
		t.Errorf("at first %v, shown as %q", limit, flags.Lookup("timeout").DefValue)
	}
	for text, want := range map[string]time.Duration{"2d": 48 * time.Hour, "90s": 90 * time.Second, "0": 0} {
		if err := flags.Set("timeout", text); err != nil || limit != want {
			t.Errorf("%q is %v, %v", text, limit, err)
		}
	}
	if err := flags.Set("timeout", "soon"); err == nil || limit < 0 {
		t.Errorf("\"soon\" is %v", limit)
	}
}
