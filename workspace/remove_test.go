package workspace_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"aibox/workspace"
)

// A half-deleted workspace would look like work of an agent that deleted files.
func TestAKilledRemovalLeavesNoPartialFolderAndIsFinishedByTheNext(t *testing.T) {
	removed := func(path string) *workspace.Workspace {
		return &workspace.Workspace{Path: path, Baseline: path + ".baseline"}
	}
	if doomed := os.Getenv("AIBOX_TEST_REMOVE"); doomed != "" {
		must(t, workspace.Remove(t.Context(), removed(doomed)))
		return
	}
	const files = 20_000
	parent := t.TempDir()
	doomed := filepath.Join(parent, "project")
	must(t, os.Mkdir(doomed, 0o755))
	for n := range files {
		must(t, os.WriteFile(filepath.Join(doomed, fmt.Sprint(n)), nil, 0o600))
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "AIBOX_TEST_REMOVE="+doomed)
	must(t, cmd.Start())
	left := ""
	for left == "" {
		entries, err := os.ReadDir(parent)
		must(t, err)
		if len(entries) == 0 {
			t.Fatal("it was removed before it could be killed")
		}
		if name := entries[0].Name(); name != "project" {
			left = name
		} else if inside, _ := os.ReadDir(doomed); len(inside) > 0 && len(inside) < files/2 {
			t.Fatal("the folder is emptied under its own name")
		}
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	if _, err := os.Lstat(doomed); !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(left, ".aibox-removed-") {
		t.Errorf("left is %s, and of the folder %v", left, err)
	}
	must(t, os.Mkdir(doomed, 0o755)) // another one of the same name
	must(t, workspace.RemoveFolder(t.Context(), doomed))
	must(t, workspace.Remove(t.Context(), removed(doomed)))
	if entries, err := os.ReadDir(parent); err != nil || len(entries) > 0 {
		t.Errorf("left are %q (%v)", entries, err)
	}
}
