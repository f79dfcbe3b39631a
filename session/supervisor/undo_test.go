package supervisor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"testing"

	"aibox/agents"
	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/agentstate"
	"aibox/workspace"
)

// The next repair needs the record to find the remains of a failed start.
func TestARecordStaysWhenAStartCannotBeUndone(t *testing.T) {
	for _, failed := range []error{nil, errors.New("the daemon does not answer")} {
		s, stays := &run{}, false
		s.onUndo(func(context.Context) error { stays = s.isUndoIncomplete(); return nil })
		s.onUndo(func(context.Context) error { return failed })
		s.onUndo(func(context.Context) error { return nil })
		if err := s.undo.Run(t.Context(), 0); !errors.Is(err, failed) || stays != (failed != nil) {
			t.Errorf("after %v the record stays: %v", err, stays)
		}
	}
}

// A record that says that the session has ended has no workspace, network or sandbox, so no
// repair would look for them.
func TestTheRecordOfAQueuedSessionHasNotEndedWhenItsStartCannotBeUndone(t *testing.T) {
	for _, failed := range []error{nil, errors.New("the disk is full")} {
		s, notes := notified(t, "failed")
		left := &workspace.Workspace{Path: "/home/ann/work"}
		if err := s.save(func(st *session.State) {
			st.Phase, st.Queue, st.Workspace = session.Running, &session.Queue{Detached: true}, left
		}); err != nil {
			t.Fatal(err)
		}
		s.onUndo(func(context.Context) error { return failed })
		_ = s.undo.Run(t.Context(), 0)
		s.recordFailedStart(fault.New(fault.Environment, "the image is gone"), false)
		close(notes)
		record, err := s.store.Load(s.id)
		if err != nil {
			t.Fatal(err)
		}
		if ended := record.State.Phase == session.Ended; ended != (failed == nil) || (record.State.Workspace == nil) != ended || (len(notes) == 1) != ended {
			t.Errorf("after %v stored is %s with %+v, %d notifications", failed, record.State.Phase, record.State.Workspace, len(notes))
		}
		if end := s.store.History(s.id).End; end == nil || end.Fault.Message != "the image is gone" {
			t.Errorf("after %v logged is %+v", failed, end)
		}
	}
}

// A queued session keeps its record when its start fails.
func TestAFailedForkRemovesTheConversationsThatItCopied(t *testing.T) {
	s, _ := notified(t, "failed")
	s.deps.Dirs, s.report = s.store.Dirs(), reporter{discard{}}
	s.launch.Spec.Forks = "00001-shell" // removed meanwhile
	talk, err := agentstate.MakeFolder(s.dir, "shell", "~/.talk")
	if err != nil {
		t.Fatal(err)
	}
	p := &preparation{modelWatch: &modelWatch{run: s.run}}
	if err := p.beginWorkspace(t.Context(), &resources{agent: &agents.Shell{}}); err == nil {
		t.Fatal("it starts")
	}
	if err := s.undo.Run(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(talk); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the conversation is left: %v", err)
	}
}
