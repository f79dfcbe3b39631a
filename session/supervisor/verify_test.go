package supervisor

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"testing"
	"testing/synctest"

	"aibox/review/reviewtest"
	"aibox/runtime"
	"aibox/runtime/runtimetest"
	"aibox/session"
	"aibox/workspace"
)

// The agent can end by itself just before the user asks for that.
func TestAStopWhileTheChangesAreComputedPreventsTheVerification(t *testing.T) {
	_, s := watched(t)
	s.launch.Spec.Verify = "make test"
	s.Stop("stopped by the user", 0)
	result := session.Result{Changed: true, Changes: session.Changes{Tree: "1"}}
	s.verifyWork(t.Context(), nil, &result)
	if !slices.Contains(result.Notes, stoppedNote) || result.Verification != nil {
		t.Errorf("%+v", result)
	}
}

// verifying returns a supervisor of a verification whose client has died, of a session with a
// workspace.
func verifying(t *testing.T) *supervisor {
	t.Helper()
	b := reviewtest.NewRepository(t, map[string]string{"a.txt": "one\n"}).Prepare()
	of := session.ID("00001-shell")
	_, s := watched(t)
	s.report = reporter{discard{}}
	s.deps.Dirs = reviewtest.DirsIn(b.Home)
	reviewtest.Must(t, os.Mkdir(s.store.Dir(of), 0o700))
	reviewtest.Must(t, s.store.WriteSpec(of, session.Spec{ID: of}))
	reviewtest.Must(t, s.store.Write(of, session.StateFile, session.State{Phase: session.Ended, Workspace: b.Workspace}))
	s.launch.Spec.Verifies = &session.Verifies{Session: of, Has: b.Workspace.BaseTree, Tree: b.Workspace.BaseTree, For: runtime.Process{PID: 1 << 22}}
	s.current.Phase = session.Running
	return s
}

type discard struct{ io.Writer }

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }

// The copy may just have filled the disk.
func TestACopyForAVerificationThatCannotBeRecordedIsRemoved(t *testing.T) {
	s := verifying(t)
	var begun string
	_, err := s.copyWorkspace(t.Context(), func(path string) {
		begun = path
		_ = os.RemoveAll(s.dir)
	})
	if err == nil {
		t.Fatal("it is recorded")
	}
	if _, err := os.Lstat(begun); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", begun, err)
	}
}

// A folder that no record names may hold work, so that nothing removes it.
func TestTheRecordOfAnAbandonedVerificationStaysWhileItsCopyExists(t *testing.T) {
	s := verifying(t)
	ws, err := s.copyWorkspace(t.Context(), func(string) {})
	reviewtest.Must(t, err)
	s.removeAbandoned()
	if _, err := s.store.Load(s.id); err != nil {
		t.Errorf("while the copy exists, the record: %v", err)
	}
	reviewtest.Must(t, workspace.Remove(t.Context(), ws))
	s.removeAbandoned()
	if _, err := s.store.Load(s.id); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("afterwards: %v", err)
	}
}

// hanging is a daemon that never answers.
type hanging struct{ runtime.Backend }

func (hanging) Sandboxes(ctx context.Context) ([]runtime.Sandbox, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// The session would hold its lock, and its work could not be reviewed.
func TestADaemonThatHangsDoesNotHoldUpTheEndOfASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSupervisor(&run{})
		if _, err := s.removeOrphans(t.Context(), hanging{runtimetest.NewFake()}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it ends with %v", err)
		}
	})
}
