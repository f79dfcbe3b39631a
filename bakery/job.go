package bakery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// JobState is the state of a Job.
type JobState int

// The states. The zero value is Waiting.
const (
	Waiting  JobState = iota // for a slot, or for the base
	Baking                   // being built
	Done                     // made
	Reused                   // up to date, nothing built
	Failed                   // Err has the reason
	Canceled                 // by the user
)

// String returns the state's name.
func (s JobState) String() string {
	return [...]string{"waiting", "baking", "done", "reused", "failed", "canceled"}[s]
}

// Over reports whether nothing more will happen.
func (s JobState) Over() bool { return s > Baking }

// Job is one image of a Queue. All text is safe for a terminal, except that of Err.
type Job struct {
	Name  string
	State JobState
	Ref   string    // the image's reference; empty until it is known
	Began time.Time // zero: not yet
	Ended time.Time // zero: not yet
	Steps []JobStep
	Log   []string // output of the steps under their names; the last LogLimit lines
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

// Progress returns how far a job is by the numbers in its recipe, as in "[3/9] RUN …":
// the furthest step that has begun, and how many there are; 0, 0 if unknown.
func (j Job) Progress() (at, of int) {
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

// job is a Job of a queue. The queue's lock guards it.
type job struct {
	Job
	ids      []string // of the steps
	lastStep string   // the step of the last line
	cancel   context.CancelFunc
	done     chan struct{} // closed when it is over
}

// snapshot copies the job for a caller. The log is only appended to, so its lines are
// shared.
func (j *job) snapshot() Job {
	snapshot := j.Job
	snapshot.Steps = slices.Clone(j.Steps)
	snapshot.Log = slices.Clip(j.Log)
	return snapshot
}

// apply applies an event. Events of other images, such as a base that is up to date,
// are ignored.
func (j *job) apply(e Event, now time.Time) {
	if e.Image != "" && e.Image != j.Name {
		return
	}
	switch e.Kind {
	case StepLine:
		if at := slices.Index(j.ids, e.Step); at >= 0 && j.lastStep != e.Step {
			j.log(heading + j.Steps[at].Text)
		}
		j.lastStep = e.Step
		j.log("  " + e.Text)
		return
	case StepStarted, StepCached, StepDone, StepFailed, StepSkipped:
		j.step(e, now)
		if e.Kind != StepStarted {
			j.lastStep = ""
		}
	case ImageStarted:
		j.Ref = e.Ref
	case ImageReused:
		j.Ref, j.State = e.Ref, Reused
	}
	e.Image, e.Tail = "", nil // the tail is in the log already
	for _, line := range lines(e) {
		j.log(line)
	}
}

// heading begins the line that names the step of the following lines.
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

// end records how the job ended.
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
		if step := &j.Steps[i]; step.Kind == StepStarted { // it was canceled with the job
			step.Kind, step.Took = StepSkipped, now.Sub(step.Began)
		}
	}
}
