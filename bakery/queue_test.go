package bakery_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"aibox/bakery"
	"aibox/bakery/bakerytest"
)

// three returns a base and three images on it.
func three() fstest.MapFS {
	all := files()
	all["second.Dockerfile"], all["third.Dockerfile"] = all["agent.Dockerfile"], all["agent.Dockerfile"]
	return all
}

// queue returns a Queue that builds with a Fake and is closed when the test ends.
func queue(t *testing.T, fake *bakerytest.Fake, width int) *bakery.Queue {
	t.Helper()
	q := bakery.NewQueue(t.Context(), width, func(_ context.Context, rebuild bool) (*bakery.Bakery, error) {
		return bakery.New(fake, three(), bakery.Options{NoCache: rebuild})
	})
	t.Cleanup(func() { q.Close() })
	return q
}

// until waits until the jobs are as wanted, and returns them.
func until(t *testing.T, q *bakery.Queue, wanted func([]bakery.Job) bool) []bakery.Job {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	changed := q.Changed(ctx)
	for {
		jobs := q.Jobs()
		if wanted(jobs) {
			return jobs
		}
		if _, ok := <-changed; !ok {
			t.Fatalf("it stays at %+v", jobs)
		}
	}
}

func over(jobs []bakery.Job) bool {
	return !slices.ContainsFunc(jobs, func(j bakery.Job) bool { return !j.State.Over() })
}

// states returns the jobs as "name state".
func states(jobs []bakery.Job) []string {
	all := make([]string, len(jobs))
	for i, j := range jobs {
		all[i] = j.Name + " " + j.State.String()
	}
	slices.Sort(all)
	return all
}

func builtOf(fake *bakerytest.Fake, name string) (n int) {
	for _, b := range fake.Builds() {
		if b.Labels[bakery.LabelAgent] == name {
			n++
		}
	}
	return n
}

func TestImagesAreBuiltInParallelOnOneBase(t *testing.T) {
	var atWork sync.WaitGroup
	atWork.Add(2)
	fake := reachable()
	fake.OnBuild = func(_ context.Context, b bakery.Build, _ func(bakery.Update)) error {
		if b.Labels[bakery.LabelAgent] != bakery.Base && !b.NoCache {
			atWork.Done()
			atWork.Wait() // ends only once the other one is building, too
		}
		return nil
	}
	q := queue(t, fake, 2)
	q.Add(false, "agent", "second", "agent")
	jobs := until(t, q, over)
	if got := states(jobs); !slices.Equal(got, []string{"agent done", "base done", "second done"}) {
		t.Errorf("jobs %v", got)
	}
	if builtOf(fake, bakery.Base) != 1 || builtOf(fake, "agent") != 1 {
		t.Errorf("builds %+v", fake.Builds())
	}
	q.Add(false, "agent")
	if got := states(until(t, q, over)); !slices.Contains(got, "agent reused") {
		t.Errorf("again: %v", got)
	}
	q.Add(true, "agent")
	if got := states(until(t, q, over)); !slices.Contains(got, "agent done") || builtOf(fake, "agent") != 2 {
		t.Errorf("second time: %v", got)
	}
}

// lateAnswer is a Builder whose first list of images arrives an hour after it was made.
type lateAnswer struct {
	*bakerytest.Fake
	asked atomic.Bool
}

func (b *lateAnswer) Labeled(ctx context.Context, label string) ([]bakery.Image, error) {
	images, err := b.Fake.Labeled(ctx, label)
	if b.asked.CompareAndSwap(false, true) {
		time.Sleep(time.Hour) // of the synctest bubble
	}
	return images, err
}

func TestABaseIsNotBakedAgainForAnImageThatAskedBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		builder := &lateAnswer{Fake: reachable()}
		q := bakery.NewQueue(t.Context(), 2, func(context.Context, bool) (*bakery.Bakery, error) {
			return bakery.New(builder, three(), bakery.Options{})
		})
		defer q.Close()
		q.Add(false, "agent")
		synctest.Wait() // the answer for this image is on its way
		q.Add(false, "second")
		for range q.Changed(t.Context()) {
			if over(q.Jobs()) {
				break
			}
		}
		if got := states(q.Jobs()); !slices.Equal(got, []string{"agent done", "base done", "second done"}) {
			t.Errorf("jobs %v", got)
		}
	})
}

func TestQueueLimitsConcurrentBuilds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := reachable()
		var atWork, most atomic.Int32
		fake.OnBuild = func(context.Context, bakery.Build, func(bakery.Update)) error {
			most.Store(max(most.Load(), atWork.Add(1)))
			time.Sleep(time.Minute) // of the synctest bubble: advances once every goroutine is blocked
			atWork.Add(-1)
			return nil
		}
		q := queue(t, fake, 2)
		q.Add(false, "agent", "second", "third")
		until(t, q, over)
		if got := states(q.Jobs()); !slices.Equal(got, []string{"agent done", "base done", "second done", "third done"}) || most.Load() != 2 {
			t.Errorf("%d at once, %v", most.Load(), got)
		}
	})
}

// steps returns a build with two steps. The second prints a line, and then blocks if hang
// is set.
func steps(hang bool, failure string) func(context.Context, bakery.Build, func(bakery.Update)) error {
	return func(ctx context.Context, b bakery.Build, report func(bakery.Update)) error {
		if b.Labels[bakery.LabelAgent] == bakery.Base {
			return nil
		}
		begun := time.Unix(100, 0)
		first := bakery.Step{ID: "1", Name: "[1/3] FROM base", Cached: true, Started: begun, Ended: begun}
		second := bakery.Step{ID: "2", Name: "[2/3] RUN install", Started: begun}
		report(bakery.Update{Steps: []bakery.Step{first}})
		report(bakery.Update{Steps: []bakery.Step{second}, Logs: []bakery.Log{{Step: "2", Data: []byte("fetching \x1b[31mit\n")}}})
		if hang {
			<-ctx.Done()
			return ctx.Err()
		}
		second.Ended, second.Error = begun.Add(3*time.Second), failure
		report(bakery.Update{Steps: []bakery.Step{second}})
		if failure != "" {
			return errors.New(failure)
		}
		return nil
	}
}

func TestJobReportsStepsAndTheirOutput(t *testing.T) {
	fake := reachable()
	fake.OnBuild = steps(false, "exit code: 7")
	q := queue(t, fake, 2)
	q.Add(false, "agent")
	jobs := until(t, q, over)
	job := jobs[slices.IndexFunc(jobs, func(j bakery.Job) bool { return j.Name == "agent" })]
	if job.State != bakery.Failed || job.Err == nil || !strings.Contains(job.Err.Error(), "exit code: 7") || job.Ended.Before(job.Began) {
		t.Errorf("job %+v", job)
	}
	if len(job.Steps) != 2 || job.Steps[0].Kind != bakery.StepCached || job.Steps[1].Kind != bakery.StepFailed || job.Steps[1].Took != 3*time.Second {
		t.Errorf("steps %+v", job.Steps)
	}
	if at, of := job.Progress(); at != 2 || of != 3 {
		t.Errorf("at %d of %d", at, of)
	}
	log := strings.Join(job.Log, "\n")
	for _, want := range []string{"cached [1/3] FROM base", "▸ [2/3] RUN install\n  fetching ", "FAILED [2/3] RUN install"} {
		if !strings.Contains(log, want) {
			t.Errorf("no %q in\n%s", want, log)
		}
	}
	if strings.Contains(log, "\x1b") {
		t.Errorf("raw bytes in %q", log)
	}
}

func TestCancelingOneJobDoesNotStopOthers(t *testing.T) {
	fake := reachable()
	fake.OnBuild = steps(true, "")
	q := queue(t, fake, 2)
	q.Add(false, "agent", "second")
	until(t, q, func(jobs []bakery.Job) bool {
		hanging := 0
		for _, job := range jobs {
			if len(job.Steps) == 2 {
				hanging++
			}
		}
		return hanging == 2
	})
	q.Cancel("agent")
	jobs := until(t, q, func(jobs []bakery.Job) bool { return slices.Contains(states(jobs), "agent canceled") })
	if !slices.Contains(states(jobs), "second baking") {
		t.Errorf("jobs %v", states(jobs))
	}
	for _, job := range jobs {
		if job.Name == "agent" && (job.Err != nil || job.Steps[1].Kind != bakery.StepSkipped) {
			t.Errorf("job %+v", job)
		}
	}
	if open := q.Close(); !slices.Equal(open, []string{"second"}) {
		t.Errorf("open at the end: %v", open)
	}
	q.Add(false, "third")
	if len(q.Jobs()) != 3 {
		t.Errorf("a closed queue took %v", states(q.Jobs()))
	}
}

func TestImageWithoutItsBaseIsNotBuilt(t *testing.T) {
	fake := reachable()
	fake.OnBuild = func(context.Context, bakery.Build, func(bakery.Update)) error { return errors.New("no room") }
	q := queue(t, fake, 2)
	q.Add(false, "agent", "second")
	jobs := until(t, q, over)
	if got := states(jobs); !slices.Equal(got, []string{"agent failed", "base failed", "second failed"}) {
		t.Errorf("jobs %v", got)
	}
	if builtOf(fake, "agent") != 0 {
		t.Error("it was tried")
	}
}

func TestLongLogKeepsItsEnd(t *testing.T) {
	fake := reachable()
	const lines = 4 * bakery.LogLimit
	fake.OnBuild = func(_ context.Context, b bakery.Build, report func(bakery.Update)) error {
		var lastStep strings.Builder
		for i := range lines {
			fmt.Fprintf(&lastStep, "line %d\n", i)
		}
		report(bakery.Update{Steps: []bakery.Step{{ID: "1", Name: "x", Started: time.Unix(1, 0)}}, Logs: []bakery.Log{{Step: "1", Data: []byte(lastStep.String())}}})
		return nil
	}
	q := queue(t, fake, 1)
	q.Add(false, bakery.Base)
	job := until(t, q, over)[0]
	last := fmt.Sprintf("  line %d", lines-1)
	if len(job.Log) < bakery.LogLimit || len(job.Log) > 2*bakery.LogLimit || !slices.Contains(job.Log, last) {
		t.Errorf("%d lines are kept", len(job.Log))
	}
}

func TestWatcherStopsWithItsContext(t *testing.T) {
	q := queue(t, reachable(), 1)
	ctx, cancel := context.WithCancel(t.Context())
	changed := q.Changed(ctx)
	cancel()
	if _, ok := <-changed; ok {
		t.Error("something has changed")
	}
	q.Add(false, "agent")
	until(t, q, over)
}
