package bakery

import "time"

// Kind says what an Event tells.
type Kind int

// The kinds of events.
const (
	Note         Kind = iota // Text: something worth knowing
	ImageStarted             // Image, Ref: it is going to be made
	StepStarted              // Image, Step, Text: what the step does
	StepLine                 // Image, Step, Text: one line of its output
	StepCached               // Image, Step, Text: nothing to do, done before
	StepDone                 // Image, Step, Text, Took
	StepFailed               // Image, Step, Text, Took, Err, Tail
	StepSkipped              // Image, Step, Text, Took, Err: it failed, and there is another way
	ImageReused              // Image, Ref: its recipe has not changed
	ImageDone                // Image, Ref, Took
	ImageFailed              // Image, Err
)

// Event is one piece of progress. All text is safe for a terminal.
type Event struct {
	Kind  Kind
	Image string // the recipe's name; empty in a Note about none
	Ref   string
	Step  string // identity of a step within one Bake
	Text  string
	Took  time.Duration
	Err   string
	Tail  []string // the failed step's last lines
}

// Progress follows a Bake. Handle is called from one goroutine at a time and
// must not block for long.
type Progress interface {
	Handle(Event)
}

// Silent is a Progress that shows nothing.
type Silent struct{}

// Handle drops the event.
func (Silent) Handle(Event) {}
