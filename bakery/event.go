package bakery

import "time"

// Kind is the kind of an Event.
type Kind int

// The kinds of events.
const (
	Note         Kind = iota // Text: something worth knowing
	ImageStarted             // Image, Ref: its build begins
	StepStarted              // Image, Step, Text: what the step does
	StepLine                 // Image, Step, Text: one line of its output
	StepCached               // Image, Step, Text: nothing to do, done before
	StepDone                 // Image, Step, Text, Took
	StepFailed               // Image, Step, Text, Took, Err, Tail
	StepSkipped              // Image, Step, Text, Took, Err: it failed, and there is an alternative
	ImageReused              // Image, Ref: its recipe has not changed
	ImageDone                // Image, Ref, Took
	ImageFailed              // Image, Err
)

// Event is one piece of progress. All text is safe for a terminal.
type Event struct {
	Kind  Kind
	Image string // the recipe's name; empty in a Note that is not about an image
	Ref   string
	Step  string // identifies a step within one Bake
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

// noProgress drops all events.
type noProgress struct{}

func (noProgress) Handle(Event) {}
