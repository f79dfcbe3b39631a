package manager

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/netguard"
	"aibox/session"
)

func TestErrorsOfASupervisorThatDiesAtOnceAreReported(t *testing.T) {
	file := filepath.Join(t.TempDir(), "terminal")
	terminal, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	ours := os.Stderr
	os.Stderr = terminal
	t.Cleanup(func() { os.Stderr = ours; _ = terminal.Close() })
	// This test program ends with a message about a flag that it does not know.
	sessions := New(Deps{Settings: func() Settings { return Settings{Supervise: []string{"-no-such-flag"}} }})
	id, err := sessions.Launch(t.Context(), session.Launch{Spec: session.Spec{Run: config.Run{Network: netguard.Local.String()}}}, func(session.Step) {})
	if id != "" || fault.KindOf(err) != fault.Internal {
		t.Errorf("started %q, %v", id, err)
	}
	if hints := fault.Hints(err); !slices.Contains(hints, "its last message: flag provided but not defined: -no-such-flag") {
		t.Errorf("the hints are %q", hints)
	}
	if written, err := os.ReadFile(file); err != nil || len(written) > 0 {
		t.Errorf("on the terminal is %q, %v", written, err)
	}
}

func TestASupervisorStartsBeforeTheIDOfItsSessionIsStored(t *testing.T) {
	spawned := false
	sessions := New(Deps{Dirs: paths.Dirs{State: t.TempDir(), Data: t.TempDir()}, Settings: func() Settings {
		spawned = true
		return Settings{Supervise: []string{"-test.run=^$"}}
	}})
	full := errors.New("the disk is full")
	_, err := sessions.Launch(t.Context(), session.Launch{RecordID: func(context.Context, session.ID) error {
		if !spawned {
			t.Error("there is no supervisor yet")
		}
		return full
	}}, func(session.Step) {})
	if !errors.Is(err, full) {
		t.Errorf("the error is %v", err)
	}
}

// The supervisor resolves these settings again. Without their variables it would have others than
// the command that started it.
func TestASupervisorHasTheVariablesOfTheSettingsThatItReads(t *testing.T) {
	for _, kept := range []string{
		"AIBOX_OWN_ADDRESSES=203.0.113.0/24", "AIBOX_PROVIDERS_WORK_URL=https://llm.example.org/v1", "AIBOX_PROVIDERS_WORK_KEY_COMMAND=pass show llm",
		"AIBOX_AUDIT_COMMAND=audit", "AIBOX_NOTIFY=false", "AIBOX_NOTIFY_ON=ended", "AIBOX_NOTIFY_COMMAND=notify",
	} {
		name, value, _ := strings.Cut(kept, "=")
		t.Setenv(name, value)
		if !slices.Contains(supervisorEnv(), kept) {
			t.Errorf("%s is missing", kept)
		}
	}
	for _, name := range []string{"AIBOX_INFERENCE_KEY", "OPENAI_API_KEY", "AIBOX_OWN_ADDRESSES_X", "AIBOX_MEMORY"} {
		t.Setenv(name, "not-for-a-supervisor")
	}
	if env := strings.Join(supervisorEnv(), "\n"); strings.Contains(env, "not-for-a-supervisor") {
		t.Errorf("it has other variables: %s", env)
	}
}
