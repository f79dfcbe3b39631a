package cli

import (
	"strings"
	"testing"
)

func TestASandboxIsExtendedByATimeOrByAnIdleTimeout(t *testing.T) {
	run := volumeApp(t)
	storedSandbox(t, "0dq4f-sandbox", "first", "ended")
	for line, want := range map[string]string{
		"":                           "takes an id and a duration",
		"0dq4f":                      "takes an id and a duration",
		"0dq4f 30m x":                "takes an id and a duration",
		"--idle-timeout 1h":          "takes an id and a duration",
		"0dq4f --idle-timeout soon":  "--idle-timeout takes a duration",
		"0dq4f --idle-timeout=-1h":   "--idle-timeout takes a duration",
		"0dq4f soon":                 "is not a duration",
		"0dq4f x --idle-timeout 1h":  "is not a duration",
		"none 30m":                   "no sandbox",
		"none --idle-timeout 1h":     "no sandbox",
		"0dq4f --idle-timeout 1h":    "",
		"0dq4f 1h --idle-timeout 1h": "",
	} {
		if _, _, err := run("sandbox extend " + line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
	}
}
