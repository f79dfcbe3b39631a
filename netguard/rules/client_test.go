package rules

import "testing"

func TestTheHintNamesTheProgramAsSudoFindsIt(t *testing.T) {
	for exe, want := range map[string]string{
		"/usr/local/bin/aibox":        "aibox",
		"/usr/bin/aibox":              "aibox",
		"/home/a/.local/bin/aibox":    "/home/a/.local/bin/aibox",
		"/home/a b/.local/bin/aibox":  "'/home/a b/.local/bin/aibox'",
		"/usr/local/bin/elsewhere/ai": "/usr/local/bin/elsewhere/ai",
	} {
		if got := (Client{Exe: exe}).sudoName(); got != want {
			t.Errorf("%s is %s, not %s", exe, got, want)
		}
	}
}
