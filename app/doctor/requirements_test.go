package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

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

func TestNothingIsFixedByTheSetupForTheSystemsDocker(t *testing.T) {
	escape := runtime.Runtime{Name: "runsc", Path: "/nowhere/runsc", Args: []string{"--network=host"}, Overlay: true, OverlaySize: 1}
	unlimited := runtime.Runtime{Name: "runsc", Path: aProgram(t), Overlay: true}
	noProgram := runtime.Runtime{Name: "runsc", Path: "/nowhere/runsc", Overlay: true, OverlaySize: 1 << 30}
	onDisk := runtime.Runtime{Name: "runsc", Path: aProgram(t)}
	noRuntime := fault.New(fault.Environment, "no runtime").Hint(runtime.SystemRegistration)
	for want, found := range map[string][]Finding{
		"/etc/docker/daemon.json": {
			daemonFinding(runtime.Info{}, noRuntime, true),
			runscFinding(t.Context(), runtime.Info{}, true),
			runscFinding(t.Context(), runtime.Info{Runtimes: []runtime.Runtime{escape}}, true),
			runscFinding(t.Context(), runtime.Info{Runtimes: []runtime.Runtime{unlimited}}, true),
			runscFinding(t.Context(), runtime.Info{Runtimes: []runtime.Runtime{onDisk}}, true),
		},
		"gvisor.dev/docs/user_guide/install": {
			runscFinding(t.Context(), runtime.Info{Runtimes: []runtime.Runtime{escape}}, true),
			runscFinding(t.Context(), runtime.Info{Runtimes: []runtime.Runtime{noProgram}}, true),
		},
		"use rootless Docker": {snapshotFinding(runtime.Info{}, "", true)},
		"load it": {New(Sources{Guard: func(context.Context) (Guard, error) {
			return Guard{}, fault.New(fault.Environment, "no table").Hint("load it")
		}}).guardFinding(t.Context(), true)},
		"sudo modprobe br_netfilter": {machine{files: fstest.MapFS{}, system: true}.bridgeFilter()},
	} {
		for _, f := range found {
			if f.State == OK || f.FixedBySetup() || f.Replaces != "" || !strings.Contains(f.Fix, want) {
				t.Errorf("not fixed by %q: %+v", want, f)
			}
		}
	}
	f := runscFinding(t.Context(), runtime.Info{Runtimes: []runtime.Runtime{noProgram}}, true)
	if strings.Contains(f.Fix, "daemon.json") {
		t.Errorf("a registration does not mend the program: %+v", f)
	}
}

// aProgram returns a new enough runsc.
func aProgram(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "runsc")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho runsc version release-20991231.0\n"), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	return path
}
