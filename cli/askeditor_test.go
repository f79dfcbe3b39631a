package cli

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"aibox/internal/fault"
)

func TestTheEditorIsTheUsersOrACommonOne(t *testing.T) {
	programs := t.TempDir()
	t.Setenv("PATH", programs)
	for _, c := range []struct {
		visual, editor, install string
		want                    []string
	}{
		{"", "", "", nil},
		{"", "", "vi", []string{"vi"}},
		{"", "", "nano", []string{"nano"}}, // before vi
		{"", "ed -s", "", []string{"ed", "-s"}},
		{"code --wait", "ed", "", []string{"code", "--wait"}},
		{"  ", "ed", "", []string{"ed"}},
	} {
		t.Setenv("VISUAL", c.visual)
		t.Setenv("EDITOR", c.editor)
		if c.install != "" {
			if err := os.WriteFile(filepath.Join(programs, c.install), []byte("#!/bin/sh\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if got := editorCommand(); !slices.Equal(got, c.want) {
			t.Errorf("VISUAL=%q EDITOR=%q: %q, want %q", c.visual, c.editor, got, c.want)
		}
	}
}

// A prompt is edited in its file, with the console's editor.
func TestAPromptIsEditedInItsFile(t *testing.T) {
	a, _, _ := testApp(t)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	err := a.execute(t.Context(), []string{"prompts", "edit", "careful"})
	want := filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "aibox", "prompts", "careful.md")
	if !slices.Contains(fault.Hints(err), "the file is "+want) {
		t.Errorf("without a terminal: %v, %q, want a hint at %s", err, fault.Hints(err), want)
	}
}
