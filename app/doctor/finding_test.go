package doctor

import (
	"slices"
	"testing"
)

func TestImprovedFindingsCountAsFixed(t *testing.T) {
	before := []Finding{{Name: "a", State: Missing}, {Name: "b", State: Warning}, {Name: "c", State: OK}, {Name: "d", State: OK}, {Name: "gone", State: Missing}}
	after := []Finding{{Name: "a", State: Warning}, {Name: "b", State: Warning}, {Name: "c", State: OK}, {Name: "d", State: Missing}, {Name: "new", State: OK}, {Name: "poor", State: Warning}}
	if got := Fixed(before, after); !slices.Equal(got, []string{"a", "new"}) {
		t.Errorf("mended %q", got)
	}
}

func TestAFixForRootIsOneCommandAndNoRestart(t *testing.T) {
	for fix, want := range map[string]bool{
		"sudo systemctl start docker":                   true,
		"sudo sysctl -w user.max_user_namespaces=28633": true,
		"sudo reboot": false,
		"sudo apt-get install linux-image-amd64, then reboot": false,
		"sudo sh -c 'x'":     false,
		"sudo true; rm -r x": false,
		SetupCommand:         false,
		"":                   false,
		"start Ollama, or set a key such as ANTHROPIC_API_KEY": false,
		"sudo":                                  false,
		"unset DOCKER_HOST; aibox doctor --fix": false,
		"sudo $(x)":                             false,
		"start it, or choose another with `aibox config set inf`": false,
	} {
		if _, ok := (Finding{State: Missing, Fix: fix}).RootCommand(); ok != want {
			t.Errorf("%q: %t", fix, ok)
		}
	}
}
