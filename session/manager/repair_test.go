package manager

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"testing"

	"aibox/runtime"
	"aibox/session"
)

// Commands at the same time repair the same session. One of them removes its record while
// the other one waits for its lock.
func TestConcurrentRepairsReportNoErrors(t *testing.T) {
	d := newFixture(t)
	for n := range 60 {
		id := session.ID(fmt.Sprintf("1%04d-shell", n))
		d.must(os.Mkdir(d.store.Dir(id), 0o700))
		d.must(d.store.WriteSpec(id, session.Spec{ID: id, Created: session.Now(), Agent: "shell", Repository: d.repo}))
		d.must(d.store.WriteState(id, session.State{Phase: session.Preparing, Supervisor: runtime.Process{PID: 1 << 22, StartTime: 1}}))
	}
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			if _, err := d.Repair(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if ids, err := d.store.IDs(); len(ids) > 0 || err != nil {
		t.Errorf("%q are left, %v", ids, err)
	}
}

// The other command could still fail to end it.
func TestASessionThatAnotherCommandHoldsDoesNotCountAsEnded(t *testing.T) {
	d := newFixture(t)
	const id = session.ID("10000-shell")
	d.must(os.Mkdir(d.store.Dir(id), 0o700))
	d.must(d.store.WriteSpec(id, session.Spec{ID: id, Created: session.Now(), Agent: "shell", Repository: d.repo}))
	d.must(d.store.WriteState(id, session.State{Phase: session.Preparing}))
	lock, err := d.store.Lock(id)
	d.must(err)
	gone, leave := context.WithCancel(t.Context())
	leave() // so that it does not wait for the lock
	if err := d.EndDead(gone, id); !errors.Is(err, context.Canceled) {
		t.Errorf("the session is held: %v", err)
	}
	ended := make(chan error)
	go func() { ended <- d.EndDead(t.Context(), id) }()
	d.must(lock.Close()) // the other command has failed, before this one waits for it or later
	d.must(<-ended)
	if found, err := d.store.Load(id); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is left as %q, %v", found.State.Phase, err)
	}
}
