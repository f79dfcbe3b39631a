package cli

import (
	"strings"
	"testing"

	"aibox/internal/health"
)

func TestDoctorSaysWhetherThereIsSomebodyToTalkTo(t *testing.T) {
	for name, test := range map[string]struct {
		inference, key string
		state          health.State
		detail         string
	}{
		"the script":               {"scripted", "", health.OK, "plays a built-in script"},
		"a vendor with a key":      {"openai", "abc-abc-abc", health.OK, "with the key of OPENAI_API_KEY"},
		"a vendor without a key":   {"openai", "", health.Warning, "OPENAI_API_KEY is not set"},
		"a server that is not on":  {"http://127.0.0.1:1/v1", "", health.Warning, "does not answer"},
		"something that is no URL": {"nobody", "", health.Warning, "unknown model server"},
	} {
		a, _ := quietApp(t)
		t.Setenv("AIBOX_INFERENCE", test.inference)
		t.Setenv("OPENAI_API_KEY", test.key)
		found := a.modelFindings(t.Context())
		if len(found) != 1 || found[0].State != test.state || !strings.Contains(found[0].Detail, test.detail) {
			t.Errorf("%s: %+v", name, found)
			continue
		}
		if mends := found[0].Mend != ""; mends == (test.state == health.OK) || strings.Contains(found[0].Detail, "abc") {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

func TestWithoutADaemonOnlyItsOwnFindingSaysSo(t *testing.T) {
	a, _ := quietApp(t)
	t.Setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
	t.Setenv("AIBOX_INFERENCE", "scripted")
	var docker, images []health.Finding
	for _, f := range health.All(t.Context(), a.checks()) {
		switch f.Part {
		case health.Docker:
			docker = append(docker, f)
		case health.Images:
			images = append(images, f)
		}
	}
	if len(docker) != 1 || docker[0].State != health.Missing || docker[0].Mend == "" || len(images) != 0 {
		t.Errorf("found %+v and %+v", docker, images)
	}
}
