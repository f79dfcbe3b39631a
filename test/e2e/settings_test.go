package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// onLine is an editor that shows the file and puts the line that is typed in its
// place.
const onLine = `#!/bin/sh
echo "it has $(head -n 1 "$1"); type:"
read -r line
printf '%s\n' "$line" > "$1"
`

func TestSettingsAreEditedUntilTheyAreValid(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write(filepath.Join(m.home, "editor"), onLine)
	if err := os.Chmod(filepath.Join(m.home, "editor"), 0o700); err != nil {
		t.Fatal(err)
	}
	m.env = append(m.env, "EDITOR="+filepath.Join(m.home, "editor"))
	file := filepath.Join(m.home, ".config/aibox/config.toml")

	s := m.onTerminal("config", "edit")
	s.stdout.await(t, "it has # Settings of aibox.")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info, err)
	}
	s.typed("timeout = 1h\r")
	s.stdout.await(t, "config.toml:1:12: strings must be quoted")
	s.stdout.await(t, "Edit it again? [Y/n]")
	s.typed("\r")
	s.stdout.await(t, "it has timeout = 1h; type:")
	s.typed("timeout = \"2h\"\r")
	s.ends(0)
	s.sane()
	if got := m.read(file); got != "timeout = \"2h\"\n" {
		t.Errorf("the file is %q", got)
	}

	s = m.onTerminal("config", "edit")
	s.stdout.await(t, "type:")
	s.typed("timeot = 1\r")
	s.stdout.await(t, "Edit it again? [Y/n]")
	s.typed("n\r")
	if code := s.wait(); code != 2 || strings.Count(s.stdout.String(), "unknown setting") != 1 {
		t.Errorf("exit %d:\n%s", code, s.stdout.String())
	}
}

func TestAnEditorThatWritesNothingLeavesNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for editor, want := range map[string]int{"true": 0, "false": 3} {
		m.env = append(m.env, "VISUAL="+editor)
		s := m.onTerminal("config", "edit")
		s.ends(want)
		if _, err := os.Stat(filepath.Join(m.home, ".config/aibox/config.toml")); err == nil {
			t.Errorf("%s: a file is left", editor)
		}
	}
}
