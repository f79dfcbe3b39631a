package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aibox/runtime"
	"aibox/scripts"
)

func TestDoctorReportsTheProblemsOfARegisteredRuntime(t *testing.T) {
	const current = "echo runsc version release-20991231.0"
	for name, test := range map[string]struct {
		script string
		mode   os.FileMode
		args   []string
		want   string // "" if there is no problem
	}{
		"as it should be":        {current, 0o755, nil, ""},
		"other harmless flags":   {current, 0o700, []string{"--platform=kvm", "-network=sandbox"}, ""},
		"the host's network":     {current, 0o755, []string{"--network=host"}, "its argument --network=host"},
		"sockets of the host":    {current, 0o755, []string{"--host-uds=all"}, "its argument --host-uds=all"},
		"no gofer":               {current, 0o755, []string{"--directfs"}, "its argument --directfs"},
		"a terminal's sequences": {current, 0o755, []string{"--x\x1b[2J"}, `its argument --x\x1b[2J`},
		"open to others":         {current, 0o757, nil, "others can write to"},
		"not to be executed":     {current, 0o644, nil, "cannot be executed"},
		"an old one":             {"echo runsc version release-20200101.0", 0o755, nil, "it says: runsc version release-20200101.0"},
		"of no version":          {"true", 0o755, nil, "it says: )"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "runsc")
			if err := os.WriteFile(path, []byte("#!/bin/sh\n"+test.script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, test.mode); err != nil {
				t.Fatal(err)
			}
			r := runtime.Runtime{Name: "runsc", Path: path, Args: append([]string{"--ignore-cgroups", "--overlay2=root:self,size=1g"}, test.args...), Overlay: true, OverlaySize: 1 << 30}
			f := runscFinding(t.Context(), runtime.Info{Runtimes: []runtime.Runtime{r}}, false)
			if (f.State == OK) != (test.want == "") || !strings.Contains(f.Detail, test.want) || strings.Contains(f.Detail, "\x1b") {
				t.Errorf("found %+v", f)
			}
		})
	}
}

func TestTheArgumentsOfTheSetupsOwnRuntimeAreChecked(t *testing.T) {
	r := runtime.Runtime{Name: "runsc", Path: setupDir + "runsc-release-1", Args: []string{"--network=host"}, Overlay: true, OverlaySize: 1}
	if f := runscFinding(t.Context(), runtime.Info{Runtimes: []runtime.Runtime{r}}, false); f.State == OK || !strings.Contains(f.Detail, "--network=host") {
		t.Errorf("found %+v", f)
	}
}

func TestTheSetupsOwnProgramIsTheOneOfThisVersion(t *testing.T) {
	release := "runsc-release-" + string(pinnedRelease.FindSubmatch(scripts.Setup)[1])
	build := "runsc-" + string(pinnedBuild.FindSubmatch(scripts.Setup)[1])
	for name, test := range map[string]struct {
		file string
		mode os.FileMode
		want string // "" if there is no problem
	}{
		"built from source":               {build, 0o755, ""},
		"a release with other bytes":      {release, 0o755, "is not the one of this version of aibox"},
		"of another version":              {"runsc-release-20200101.0", 0o755, "is not the one of this version of aibox"},
		"a build that a group can write":  {build, 0o775, "others can write to"},
		"a release that everybody writes": {release, 0o757, "others can write to"},
		"not to be executed":              {build, 0o644, "cannot be executed"},
		"removed":                         {build, 0, "cannot be executed"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), test.file)
			if test.mode != 0 {
				if err := errors.Join(os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755), os.Chmod(path, test.mode)); err != nil {
					t.Fatal(err)
				}
			}
			if why := ownProgramProblem(path); !strings.Contains(why, test.want) || (why == "") != (test.want == "") {
				t.Errorf("it has the problem %q", why)
			}
		})
	}
	if pinned := pinnedDigest.FindAllStringSubmatch(string(scripts.Setup), -1); len(pinned) != 2 || pinned[0][1] != "x86_64" || pinned[1][1] != "aarch64" {
		t.Errorf("the setup pins %q", pinned)
	}
}

func TestAnUnknownProgramInTheSetupsFolderIsReported(t *testing.T) {
	for _, path := range []string{setupDir + "runsc-release-20200101.0", setupDir + "../../../../nowhere/runsc"} {
		r := runtime.Runtime{Name: "runsc", Path: path, Overlay: true, OverlaySize: 1 << 30}
		f := runscFinding(t.Context(), runtime.Info{Runtimes: []runtime.Runtime{r}}, false)
		if !f.FixedBySetup() || !strings.Contains(f.Detail, "cannot be executed") || (f.Replaces == "") != isOurs(path) {
			t.Errorf("%s: found %+v", path, f)
		}
	}
}
