package netguard

import (
	"strings"
	"testing"
)

func TestSSHLogins(t *testing.T) {
	for text, want := range map[string]string{
		"git@github.com": "git@github.com:22", "git@GitHub.com.:2222": "git@github.com:2222", "a.b-c_d@9.9.9.9": "a.b-c_d@9.9.9.9:22", "git@[2606:4700::1]:22": "git@[2606:4700::1]:22",
	} {
		l, err := ParseSSHLogin(text)
		if err != nil || l.String() != want {
			t.Errorf("%s: %q, %v", text, l, err)
		}
		if again, err := ParseSSHLogin(l.String()); err != nil || again != l {
			t.Errorf("%s: %q, %v", l, again, err)
		}
	}
	for _, text := range []string{
		"", "github.com", "@github.com", "git@", "git@*.example.org", "git@0x7f.1", "a b@github.com", "a\n@github.com", "a@b@github.com", "git@github.com:0", "git@github.com:x",
		strings.Repeat("a", 65) + "@github.com",
	} {
		if l, err := ParseSSHLogin(text); err == nil {
			t.Errorf("%q is %s", text, l)
		}
	}
}

func TestTheSSHAgentHasItsOwnDestination(t *testing.T) {
	if d := destination(t, "ssh-agent.aibox.internal:22"); d != SSHAgent() {
		t.Error(d)
	}
}
