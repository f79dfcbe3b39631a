package cli

import (
	"strings"
	"testing"

	"aibox/internal/fault"
)

func TestTheDefaultsOfATenantAreShownAndChanged(t *testing.T) {
	run := volumeApp(t)
	for _, c := range []struct{ line, want string }{
		{"token defaults ci --json", "{}"},
		{"token defaults ci --network allowlist --allow a.example,b.example --memory 512 --json", `{"allow":"a.example,b.example","memory":"512MiB","network":"allowlist"}`},
		{"token defaults ci --allow c.example --unset memory --json", `{"allow":"c.example","network":"allowlist"}`},
		{"token defaults ci --json", `{"allow":"c.example","network":"allowlist"}`},
		{"token defaults other --json", "{}"},
	} {
		out, _, err := run(c.line)
		if got := strings.Join(strings.Fields(out), ""); err != nil || got != c.want {
			t.Errorf("%s printed %s, %v", c.line, got, err)
		}
	}
	if out, _, err := run("token defaults ci"); err != nil || !strings.Contains(out, "allowlist") || !strings.Contains(out, "c.example") {
		t.Errorf("it printed %q, %v", out, err)
	}
	for _, line := range []string{
		"token defaults", "token defaults ci --memory 1", "token defaults ci --network none", "token defaults ci --unset color",
		"token defaults ci --memory 512 --unset memory", "token defaults ../x", "token defaults ci --image x",
	} {
		if _, _, err := run(line); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v", line, err)
		}
	}
	if out, _, err := run("token defaults ci --unset network,allow"); err != nil || out != "" {
		t.Errorf("without defaults, it printed %q, %v", out, err)
	}
}
