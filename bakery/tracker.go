package bakery

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"aibox/internal/lazyregexp"
	"aibox/internal/termtext"
)

const (
	tailLines = 20      // lines of a failed step that are shown
	nameLimit = 100     // characters of a step's name
	lineLimit = 2 << 10 // bytes of one line that are kept
)

// tracker turns the updates of one build, which repeat and overlap, into events
// that each come once and are safe to print.
type tracker struct {
	image  string
	handle func(Event)
	steps  map[string]*trackedStep
	failed *StepError
}

type trackedStep struct {
	name    string
	started bool
	ended   bool
	partial []byte
	tail    []string
}

func newTracker(image string, handle func(Event)) *tracker {
	return &tracker{image: image, handle: handle, steps: map[string]*trackedStep{}}
}

// update applies an update: starts first, then output, then ends, so that no line of a step
// follows its end.
func (t *tracker) update(u Update) {
	for _, s := range u.Steps {
		t.start(s)
	}
	for _, l := range u.Logs {
		t.log(l)
	}
	for _, s := range u.Steps {
		t.end(s)
	}
}

func (t *tracker) step(id string) *trackedStep {
	step := t.steps[id]
	if step == nil {
		step = &trackedStep{}
		t.steps[id] = step
	}
	return step
}

func (t *tracker) start(s Step) {
	step := t.step(s.ID)
	if s.Name != "" {
		step.name = stepName(s.Name)
	}
	if step.started || s.Started.IsZero() || s.Cached || isInternal(s) {
		return
	}
	step.started = true
	t.handle(Event{Kind: StepStarted, Image: t.image, Step: s.ID, Text: step.name})
}

func (t *tracker) end(s Step) {
	step := t.step(s.ID)
	if step.ended || s.Ended.IsZero() && s.Error == "" && !s.Cached {
		return
	}
	step.ended = true
	if len(step.partial) > 0 {
		t.line(s.ID, step, step.partial)
		step.partial = nil
	}
	event := Event{Image: t.image, Step: s.ID, Text: step.name, Took: took(s)}
	switch {
	case canceled(s.Error):
		return // canceled because another step failed
	case s.Error != "":
		event.Kind, event.Err, event.Tail = StepFailed, termtext.Escape(reason(s.Error)), step.tail
		if t.failed == nil {
			t.failed = &StepError{Image: t.image, Step: step.name, Reason: event.Err, Tail: step.tail}
		}
	case isInternal(s):
		return
	case s.Cached:
		event.Kind, event.Took = StepCached, 0
	default:
		event.Kind = StepDone
	}
	t.handle(event)
}

func (t *tracker) log(l Log) {
	step := t.step(l.Step)
	data := append(step.partial, l.Data...)
	for {
		line, rest, ok := bytes.Cut(data, []byte{'\n'})
		if !ok {
			break
		}
		t.line(l.Step, step, line)
		data = rest
	}
	if extra := len(data) - lineLimit; extra > 0 {
		data = data[extra:]
	}
	step.partial = bytes.Clone(data)
}

// line reports one line. If a program overwrote it with carriage returns, only the
// last state counts.
func (t *tracker) line(id string, step *trackedStep, raw []byte) {
	raw = bytes.TrimRight(raw, "\r")
	if at := bytes.LastIndexByte(raw, '\r'); at >= 0 {
		raw = raw[at+1:]
	}
	if len(raw) > lineLimit {
		raw = raw[:lineLimit]
	}
	text := termtext.Escape(strings.ReplaceAll(string(raw), "\t", "    "))
	if len(step.tail) == tailLines {
		step.tail = append(step.tail[:0:0], step.tail[1:]...)
	}
	step.tail = append(step.tail, text)
	t.handle(Event{Kind: StepLine, Image: t.image, Step: id, Text: text})
}

// stepName makes BuildKit's name of a step readable: one line without the mounts, which
// every RUN has, cut to nameLimit characters.
func stepName(raw string) string {
	words := slices.DeleteFunc(strings.Fields(scriptIn(raw)), func(word string) bool { return strings.HasPrefix(word, "--mount=") })
	for i, word := range words {
		if at := strings.Index(word, "/aibox/"); at > 0 { // our own images, which BuildKit puts under a registry
			words[i] = word[at+1:]
		}
	}
	name := []rune(termtext.Escape(strings.Join(words, " ")))
	if len(name) > nameLimit {
		name = append(name[:nameLimit-1], '…')
	}
	return string(name)
}

// shellPrefix begins a script that a recipe holds as JSON.
const shellPrefix = `["/bin/sh","-euc",`

// scriptIn returns a step's name with the first line of such a script in place of JSON. The
// end may be missing, because BuildKit cuts off long names.
func scriptIn(raw string) string {
	before, script, ok := strings.Cut(raw, shellPrefix)
	if !ok {
		return raw
	}
	first, _, more := strings.Cut(script, `\n`)
	if more {
		first += `"`
	} else {
		first = strings.TrimSuffix(first, "]")
	}
	var text string
	if json.Unmarshal([]byte(first), &text) != nil {
		return raw
	}
	if more {
		text += " …"
	}
	return before + text
}

// isInternal reports whether s is one of BuildKit's own steps, which matter to the user
// only if they fail.
func isInternal(s Step) bool {
	return (strings.HasPrefix(s.Name, "[internal]") || s.Name == "copy /context /") && s.Error == ""
}

// commandFailed matches BuildKit's two messages for a failed RUN step. They repeat the
// whole command, which the step's name already holds.
var commandFailed = lazyregexp.New(`(?s)^(?:executor failed running \[.*\]|process ".*" did not complete successfully): exit code: (\d+)$`)

func reason(failure string) string {
	return commandFailed.ReplaceAllString(failure, "exit code $1")
}

func canceled(reason string) bool {
	return strings.HasSuffix(reason, "context canceled")
}

func took(s Step) time.Duration {
	if s.Started.IsZero() || s.Ended.Before(s.Started) {
		return 0
	}
	return s.Ended.Sub(s.Started)
}

// StepError is the failure of one step of a build. All text is safe for a terminal.
type StepError struct {
	Image  string
	Step   string
	Reason string
	Tail   []string // its last lines of output, at most 20
}

func (e *StepError) Error() string {
	return "step " + e.Step + ": " + e.Reason
}
