package doctor_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aibox/app"
	"aibox/app/doctor"
)

// ownApp returns the doctor of an app with the test's folders.
func ownApp(t *testing.T) *doctor.Doctor {
	t.Helper()
	home := t.TempDir()
	for name, dir := range map[string]string{"HOME": "", "XDG_CACHE_HOME": "cache", "XDG_CONFIG_HOME": "config", "XDG_STATE_HOME": "state", "XDG_DATA_HOME": "data"} {
		t.Setenv(name, filepath.Join(home, dir))
	}
	return app.New(nil).Doctor()
}

func TestDoctorReportsWhetherAModelServerIsConfigured(t *testing.T) {
	for name, test := range map[string]struct {
		inference, key string
		state          doctor.State
		detail         string
	}{
		"the script":              {"scripted", "", doctor.OK, "plays a built-in script"},
		"a vendor with a key":     {"openai", "abc-abc-abc", doctor.OK, "with the key of OPENAI_API_KEY"},
		"a vendor without a key":  {"openai", "", doctor.Warning, "OPENAI_API_KEY is not set"},
		"a server that is not on": {"http://127.0.0.1:1/v1", "", doctor.Warning, "does not answer"},
	} {
		d := ownApp(t)
		t.Setenv("AIBOX_INFERENCE", test.inference)
		t.Setenv("OPENAI_API_KEY", test.key)
		checks := d.Checks()
		i := slices.IndexFunc(checks, func(c doctor.Check) bool { return c.Name == "model" })
		found := checks[i].Run(t.Context())
		if len(found) != 1 || found[0].State != test.state || !strings.Contains(found[0].Detail, test.detail) {
			t.Errorf("%s: %+v", name, found)
			continue
		}
		if mends := found[0].Fix != ""; mends == (test.state == doctor.OK) || strings.Contains(found[0].Detail, "abc") {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// Without readable settings, only the finding about the settings reports the problem.
func TestDoctorFindsThatTheSettingsNameNoModelServer(t *testing.T) {
	d := ownApp(t)
	t.Setenv("AIBOX_INFERENCE", "nobody")
	checks := d.Checks()
	i := slices.IndexFunc(checks, func(c doctor.Check) bool { return c.Name == "settings" })
	found := checks[i].Run(t.Context())
	if len(found) != 1 || found[0].State == doctor.OK || !strings.Contains(found[0].Detail, "unknown model server") || found[0].Fix == "" {
		t.Errorf("found %+v", found)
	}
}

func TestAMissingDaemonIsReportedByOneFinding(t *testing.T) {
	d := ownApp(t)
	t.Setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
	t.Setenv("AIBOX_INFERENCE", "scripted")
	var docker, images []doctor.Finding
	for _, f := range doctor.All(t.Context(), d.Checks()) {
		switch f.Part {
		case doctor.Docker:
			docker = append(docker, f)
		case doctor.Images:
			images = append(images, f)
		}
	}
	if len(docker) != 1 || docker[0].State != doctor.Missing || docker[0].Fix == "" || len(images) != 0 {
		t.Errorf("found %+v and %+v", docker, images)
	}
}
