package bakery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// JobState is how far a Job is.
type JobState int

// The states. The zero value is Waiting.
const (
	Waiting  JobState = iota // for its turn, or for the base below it
	Baking                   // at work
	Done                     // made
	Reused                   // there already
	Failed                   // Err says why
	Canceled                 // given up by somebody
)

// String is the state for people.
func (s JobState) String() string {
	return [...]string{"waiting", "baking", "done", "reused", "failed", "canceled"}[s]
}

// Over reports whether nothing more will happen.
func (s JobState) Over() bool { return s > Baking }

// Job is one image of a Queue. All text is safe for a terminal but Err's.
type Job struct {
	Name  string
	State JobState
	Ref   string    // what is made; empty until that is known
	Began time.Time // zero: not yet
	Ended time.Time // zero: not yet
	Steps []JobStep
	Log   []string // what the steps said, their names between it; the last LogLimit lines
	Err   error    // nil unless Failed
}

// LogLimit is how many lines of a job are kept.
const LogLimit = 5000

// JobStep is one step of a Job.
type JobStep struct {
	Text  string // what it does
	Kind  Kind   // StepStarted while it runs, then how it ended: StepDone and the others
	Began time.Time
	Took  time.Duration // zero while it runs
	Err   string        // why it failed; empty otherwise
}

// Place is how far a job is by the numbers in its recipe, as in "[3/9] RUN …": the
// furthest step that has begun, of how many; 0, 0 when that is not known.
func (j Job) Place() (at, of int) {
	for _, step := range j.Steps {
		for word := range strings.FieldsSeq(strings.TrimPrefix(step.Text, "[")) {
			var a, b int
			if n, _ := fmt.Sscanf(word, "%d/%d]", &a, &b); n == 2 && b >= of && a >= at {
				at, of = a, b
			}
			if strings.HasSuffix(word, "]") {
				break
			}
		}
	}
	return at, of
}

// job is a Job at work. Its queue's lock guards it.
type job struct {
	Job
	ids    []string // of the steps
	said   string   // the step whose line came last
	cancel context.CancelFunc
	done   chan struct{} // closed when it is over
}

// snapshot is the job for somebody else. The log is only appended to, so that its
// lines are shared.
func (j *job) snapshot() Job {
	snapshot := j.Job
	snapshot.Steps = slices.Clone(j.Steps)
	snapshot.Log = slices.Clip(j.Log)
	return snapshot
}

// take takes an event in at a time. Events of other images, such as the base that is
// there already, tell nothing of this one.
func (j *job) take(e Event, now time.Time) {
	if e.Image != "" && e.Image != j.Name {
		return
	}
	switch e.Kind {
	case StepLine:
		if at := slices.Index(j.ids, e.Step); at >= 0 && j.said != e.Step {
			j.log(heading + j.Steps[at].Text)
		}
		j.said = e.Step
		j.log("  " + e.Text)
		return
	case StepStarted, StepCached, StepDone, StepFailed, StepSkipped:
		j.step(e, now)
		if e.Kind != StepStarted {
			j.said = ""
		}
	case ImageStarted:
		j.Ref = e.Ref
	case ImageReused:
		j.Ref, j.State = e.Ref, Reused
	}
	e.Image, e.Tail = "", nil // the tail stands in the log already
	for _, line := range lines(e) {
		j.log(line)
	}
}

// heading begins the line that says which step the next lines are of.
const heading = "▸ "

func (j *job) step(e Event, now time.Time) {
	at := slices.Index(j.ids, e.Step)
	if at < 0 {
		at = len(j.ids)
		j.ids, j.Steps = append(j.ids, e.Step), append(j.Steps, JobStep{Began: now})
	}
	step := &j.Steps[at]
	step.Text, step.Kind, step.Took, step.Err = e.Text, e.Kind, e.Took, e.Err
}

func (j *job) log(line string) {
	if len(j.Log) >= 2*LogLimit {
		j.Log = slices.Clone(j.Log[len(j.Log)-LogLimit:])
	}
	j.Log = append(j.Log, line)
}

// end is the end of the work, with what came of it.
func (j *job) end(ctx context.Context, err error, now time.Time) {
	j.Ended = now
	switch {
	case err == nil && j.State != Reused:
		j.State = Done
	case err == nil:
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		j.State = Canceled
	default:
		j.State, j.Err = Failed, err
	}
	for i := range j.Steps {
		if step := &j.Steps[i]; step.Kind == StepStarted { // it was given up with the rest
			step.Kind, step.Took = StepSkipped, now.Sub(step.Began)
		}
	}
}
