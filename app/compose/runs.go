package compose

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"aibox/app/run"
	"aibox/internal/amount"
	"aibox/internal/paths"
	"aibox/session"
)

// Runs checks and starts requests.
type Runs struct {
	runner *run.Runner
	dirs   paths.Dirs
	// refuse reports why this process cannot run a request; nil if it can.
	refuse func(run.Request) error
}

// NewRuns returns the runs of this user. refuse reports why this process cannot run a
// request, for example because there is no terminal; nil if it can.
func NewRuns(runner *run.Runner, dirs paths.Dirs, refuse func(run.Request) error) Runs {
	return Runs{runner, dirs, refuse}
}

// Checked is the result of a check.
type Checked struct {
	RepositorySettings string   // settings that a file in the repository changes, raw
	Command            string   // the agent's command in its sandbox, raw, with dots for secrets
	Hide               []string // the globs in addition to the built-in ones
	Delivers           bool     // the run delivers its work at the end, so it must be followed until then
}

// Started is the result of a start.
type Started struct {
	ID           session.ID      // empty if it failed; the first one of several
	Batch        session.BatchID // set for several sessions
	MissingImage bool            // it failed because the agent's image has to be built first
	Output       []string        // last lines of a failed build step, raw
	Failed       error           // why some of several sessions were not started, although others were
}

// Files returns the files of the repository that would be visible to the agent of a
// request, and those that would be hidden.
func (r Runs) Files(ctx context.Context, request run.Request) (visible, hidden []string, err error) {
	return r.runner.Files(ctx, request)
}

// Check validates a request without starting anything.
func (r Runs) Check(_ context.Context, request run.Request) (Checked, error) {
	members, err := request.Members()
	if err != nil {
		return Checked{}, err
	}
	plan, err := r.runner.Resolve(members[0])
	for _, member := range members[1:] {
		if err == nil {
			_, err = r.runner.Resolve(member)
		}
	}
	checked := Checked{RepositorySettings: plan.RepositorySettings, Hide: plan.Hide, Delivers: plan.WaitsForEnd()}
	sandbox, failed := r.runner.Preview(plan)
	checked.Command = sandbox
	if err == nil && request.Resumes == "" && request.Forks == "" { // a resumed session can have feedback as its task
		err = failed
	}
	if err == nil {
		err = r.refuse(request)
	}
	return checked, err
}

// CheckModel reports why a start of the request would find no model; see
// run.Runner.CheckModel.
func (r Runs) CheckModel(ctx context.Context, request run.Request) error {
	request.Times = 0 // all repetitions are the same
	members, err := request.Members()
	if err != nil {
		return nil //nolint:nilerr // Check reports it
	}
	for _, member := range members {
		if err := r.runner.CheckModel(ctx, member); err != nil {
			return err
		}
	}
	return nil
}

// Start starts a request and returns when its agent runs or it is queued. If bake is set, a
// missing image is built first. step receives each stage, from one goroutine.
func (r Runs) Start(ctx context.Context, request run.Request, bake bool, step func(session.Step)) (Started, error) {
	if err := r.refuse(request); err != nil {
		return Started{}, err
	}
	if request.IsBatch() {
		return r.startBatch(ctx, request, bake, step)
	}
	plan, err := r.runner.Resolve(request)
	if err != nil {
		return Started{}, err
	}
	plan.Launch.Detached = true // a queued session is shown on the dashboard
	stage := &bakeStage{step: step}
	with := run.Callbacks{Step: step}
	if bake {
		with.Bake = stage.bake
	}
	id, err := r.runner.Start(ctx, plan, with)
	return Started{ID: id, MissingImage: run.IsMissingImage(err), Output: stage.tail}, err
}

// startBatch starts a request for several sessions. It fails if none could be started.
func (r Runs) startBatch(ctx context.Context, request run.Request, bake bool, step func(session.Step)) (Started, error) {
	batch, err := r.runner.ResolveBatch(ctx, request, nil)
	if err != nil {
		return Started{}, err
	}
	stage := &bakeStage{step: step}
	var with run.Callbacks
	if bake {
		with.Bake = stage.bake
	}
	begun := time.Now()
	progress := func(done int) {
		step(session.Step{Name: "sessions", Done: done == len(batch.Plans), Detail: fmt.Sprintf("%d of %d started", done, len(batch.Plans)), Took: time.Since(begun)})
	}
	progress(0)
	var mu sync.Mutex // guards done and the calls of step
	done := 0
	starts, err := r.runner.StartBatch(ctx, batch, with, func(_ int, start run.BatchStart) {
		mu.Lock()
		defer mu.Unlock()
		if start.Err == nil {
			done++
		}
		progress(done)
	})
	started := Started{Batch: batch.ID, MissingImage: run.IsMissingImage(err), Output: stage.tail}
	if err == nil {
		err = started.take(starts)
	}
	return started, err
}

// take takes over the first session that was started, and why others were not. It fails if none was
// started.
func (s *Started) take(starts []run.BatchStart) error {
	var first error
	failed := 0
	for _, start := range starts {
		switch {
		case start.Err != nil:
			failed++
			first = cmp.Or(first, start.Err)
		case s.ID == "":
			s.ID = start.ID
		}
	}
	if s.ID == "" {
		return first
	}
	if failed > 0 {
		s.Failed = fmt.Errorf("%d of %s did not start: %w", failed, amount.Of(len(starts), "session"), first)
	}
	return nil
}

// Remember keeps the choices for the next run of the repository.
func (r Runs) Remember(request run.Request) error { return storeIn(r.dirs).Save(request) }

// storeIn is the store of the last choices.
func storeIn(dirs paths.Dirs) run.Store { return run.Open(filepath.Join(dirs.State, "choices")) }
