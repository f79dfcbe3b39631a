package compose

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"aibox/app/run"
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
// request, such as for want of a terminal; nil if it can.
func NewRuns(runner *run.Runner, dirs paths.Dirs, refuse func(run.Request) error) Runs {
	return Runs{runner, dirs, refuse}
}

// Checked is the result of a check.
type Checked struct {
	RepositorySettings string   // the settings that a file in the repository changes, raw
	Command            string   // how the agent is started in its sandbox, raw, secrets as dots
	Hide               []string // the globs besides the built-in ones
	Delivers           bool     // the run delivers at its end, so it has to be followed until then
}

// Started is the result of a start.
type Started struct {
	ID           session.ID      // empty if it failed; of several, the first
	Batch        session.BatchID // of several sessions
	MissingImage bool            // it failed because the agent's image has to be baked first
	Output       []string        // the last lines of a bake step that failed, raw
}

// Files returns the files of the repository that the agent of a request would get
// (visible) and those that are hidden.
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
	if err == nil && request.Resumes == "" && request.Forks == "" { // the task of a resumed session may be its feedback
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
	request.Times = 0 // each time is the same
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

// Start starts a request and returns when its agent runs or it is queued. With bake a missing image is
// baked first. step receives each stage, from one goroutine.
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
	plan.Launch.Detached = true // a queued session is on the dashboard
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
	var mu sync.Mutex // guards done, and calls of step
	done := 0
	starts, err := r.runner.StartBatch(ctx, batch, with, func(int, run.BatchStart) {
		mu.Lock()
		defer mu.Unlock()
		done++
		progress(done)
	})
	started := Started{Batch: batch.ID, MissingImage: run.IsMissingImage(err), Output: stage.tail}
	for _, one := range starts {
		if one.Err != nil {
			err = one.Err
		} else if started.ID == "" {
			started.ID = one.ID
		}
	}
	if started.ID != "" { // the comparison shows the others
		err = nil
	}
	return started, err
}

// Remember keeps the choices for the next run of the repository.
func (r Runs) Remember(request run.Request) error { return storeIn(r.dirs).Save(request) }

// storeIn is the store of the last choices.
func storeIn(dirs paths.Dirs) run.Store { return run.Open(filepath.Join(dirs.State, "choices")) }
