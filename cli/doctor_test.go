package cli

import (
	"testing"

	"aibox/app/doctor"
)

func TestImagesThatAreNotBakedAreOneLineOfDoctor(t *testing.T) {
	image := func(name string, state doctor.State, detail, fix string) doctor.Finding {
		return doctor.Finding{Name: "image " + name, State: state, Detail: detail, Fix: fix, Image: name}
	}
	git := doctor.Finding{Name: "git", State: doctor.OK, Detail: "2.47"}
	base := image("base", doctor.OK, "fresh", "")
	amp := image("amp", doctor.Warning, "missing", "aibox bake amp")
	codex := image("codex", doctor.Warning, "outdated", "aibox bake codex")
	qwen := image("qwen", doctor.Warning, "missing", "aibox bake qwen")
	for name, c := range map[string]struct {
		findings []doctor.Finding
		want     string
	}{
		"several": {
			[]doctor.Finding{base, amp, codex, qwen, git},
			"✓ image base   fresh\n! images       2 are not baked: amp, qwen  → aibox bake NAME, for an agent that you use\n! image codex  outdated  → aibox bake codex\n✓ git          2.47\n",
		},
		"one": {[]doctor.Finding{amp, git}, "! image amp  missing  → aibox bake amp\n✓ git        2.47\n"},
	} {
		a, out, _ := testApp(t)
		o := doctorOptions{cli: a}
		o.printFindings(doctorReport{Findings: c.findings})
		if out.String() != c.want {
			t.Errorf("%s: printed\n%swant\n%s", name, out, c.want)
		}
	}
}
