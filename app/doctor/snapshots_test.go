package doctor

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"aibox/runtime"
	"aibox/scripts"
)

// installedRestorer returns a file with the program that the setup's own function prints.
func installedRestorer(t *testing.T) string {
	t.Helper()
	_, after, _ := bytes.Cut(scripts.Setup, []byte("\nrestorer_program() {"))
	body, _, found := bytes.Cut(after, []byte("\nEOF\n}\n"))
	if !found {
		t.Fatal("the setup has no function restorer_program")
	}
	program, err := exec.Command("bash", "-c", "{"+string(body)+"\nEOF\n}").Output()
	if err != nil || len(program) == 0 {
		t.Fatalf("%q, %v", program, err)
	}
	path := filepath.Join(t.TempDir(), "runsc-restore")
	if err := os.WriteFile(path, program, 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	return path
}

func TestAMissingRuntimeForRestoringIsReportedWithItsFix(t *testing.T) {
	program := installedRestorer(t)
	info := runtime.Info{Runtimes: []runtime.Runtime{{Name: "runsc", Path: "/opt/runsc", Args: []string{"--ignore-cgroups"}}}}
	if f := snapshotFinding(info, program, false); f.State != Warning || !f.FixedBySetup() {
		t.Errorf("without it: %+v", f)
	}
	info.Runtimes = append(info.Runtimes, runtime.Runtime{
		Name: runtime.RestorerName, Path: setupDir + "runsc-restore", Args: []string{"--aibox-runsc=/opt/runsc", "--ignore-cgroups"},
	})
	if f := snapshotFinding(info, program, false); f.State != OK {
		t.Errorf("with it: %+v", f)
	}
}

func TestAnotherProgramThatRestoresIsReported(t *testing.T) {
	runsc := runtime.Runtime{Name: "runsc", Path: "/opt/runsc"}
	info := runtime.Info{Runtimes: []runtime.Runtime{runsc, runtime.RestorerOf(runsc)}}
	for name, change := range map[string]func(path string) error{
		"an older one":                func(path string) error { return os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755) }, //nolint:gosec // a program
		"one that others can change":  func(path string) error { return os.Chmod(path, 0o757) },                            //nolint:gosec // the attack
		"one that cannot be executed": func(path string) error { return os.Chmod(path, 0o644) },
		"none":                        os.Remove,
	} {
		path := installedRestorer(t)
		if f := snapshotFinding(info, path, false); f.State != OK {
			t.Fatalf("the setup's own: %+v", f)
		}
		if err := change(path); err != nil {
			t.Fatal(err)
		}
		if f := snapshotFinding(info, path, false); f.State != Warning || !f.FixedBySetup() {
			t.Errorf("%s: %+v", name, f)
		}
	}
}
