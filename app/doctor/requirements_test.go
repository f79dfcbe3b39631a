package doctor

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"aibox/bakery"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/runtime"
)

func TestAFindingThatCannotBeCheckedSaysWhatToDo(t *testing.T) {
	for _, err := range []error{errors.New("the list is cut off"), fault.New(fault.Environment, "no answer").Hint("start it")} {
		d := New(Sources{
			UserSettings: func() (*config.Resolved, error) { return nil, nil },
			Images:       func(context.Context) ([]bakery.Status, error) { return nil, err },
		})
		if found := d.imageFindings(t.Context()); len(found) != 1 || found[0].Fix == "" {
			t.Errorf("images: %+v", found)
		}
	}
	for _, home := range []string{"", filepath.Join(t.TempDir(), "gone")} {
		t.Setenv("HOME", home)
		if f := New(Sources{}).diskFinding(); f.State != Missing || f.Fix == "" {
			t.Errorf("disk with the home folder %q: %+v", home, f)
		}
	}
}

func TestADockerSocketThatTheUserMayNotUseIsNotAStoppedDocker(t *testing.T) {
	denied := fault.New(fault.Environment, "this user may not use the Docker socket").Hint("join its group")
	denied.Err = fs.ErrPermission
	if f := daemonFinding(runtime.Info{}, denied, true); f.Fix != "join its group" {
		t.Errorf("%+v", f)
	}
	if f := daemonFinding(runtime.Info{}, errors.New("no answer"), true); !strings.Contains(f.Fix, "start docker") {
		t.Errorf("%+v", f)
	}
}

func TestSettingsThatBuildsOfImagesDoNotGetAreReported(t *testing.T) {
	const note = "HTTPS_PROXY holds a password, which images would show: images are built without it"
	d := New(Sources{
		UserSettings: func() (*config.Resolved, error) { return nil, nil },
		Images: func(context.Context) ([]bakery.Status, error) {
			return []bakery.Status{{Name: "codex", State: bakery.Fresh}}, nil
		},
		HostNotes: func() []string { return []string{note} },
	})
	found := d.imageFindings(t.Context())
	if len(found) != 2 || found[0].Detail != note || found[0].State != Warning || found[0].Image != "" {
		t.Errorf("%+v", found)
	}
}
