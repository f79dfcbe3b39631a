package conversation

import (
	"strings"
	"time"
	"unsafe"

	events "aibox/agents/conversation"
	"aibox/internal/termtext"
)

// maxBody bounds the text of an item that is kept, in bytes. The raw output has the rest.
const maxBody = 64 << 10

// item is one entry of the conversation. All texts are raw; those that a program
// printed have no colors.
type item struct {
	time   time.Time
	kind   events.Kind // "" for a Note
	user   bool        // of a message: the user's
	title  string      // one line
	body   string
	edits  []events.Edit
	tasks  []events.Task
	result *result // of a call; nil until it is known
	note   *Note
	fold   fold
}

// result is the result of a call.
type result struct {
	text   string
	code   *int
	failed bool
	took   time.Duration
}

// fold is whether the details of an item are shown.
type fold uint8

// The states of a fold.
const (
	byDefault fold = iota // the beginning of edits, and nothing else
	unfolded
	folded
)

// Note is an entry of the session's log in the conversation. Its texts are escaped.
type Note struct {
	Time time.Time
	Mark string // one column
	Text string
	Tone Tone
}

// Tone is how a Note is colored.
type Tone uint8

// The tones.
const (
	Faint Tone = iota
	Good
	Bad
	Warn
)

// newItem returns the item of an event; nil for one that is not shown.
func newItem(e events.Event) *item {
	it := &item{time: e.Time, kind: e.Kind, body: bound(e.Text)}
	switch e.Kind {
	case events.Message:
		it.user = e.Role == events.User
		if strings.TrimSpace(e.Text) == "" && !e.Delta {
			return nil
		}
	case events.Reasoning, events.Failure, events.Warning:
	case events.Text:
		if e.Text == "" {
			return nil
		}
		it.body = printed(e.Text)
	case events.Plan:
		it.tasks = e.Tasks
	case events.Call:
		it.title, it.edits = bound(e.Title()), e.Edits
		if it.body = bound(e.Command); e.Command == "" && len(e.Edits) == 0 {
			it.body = bound(string(e.Input))
		}
	case events.Result: // of a call that is not known
		it.kind, it.title, it.body, it.edits = events.Call, "result", "", e.Edits
		it.result = &result{text: printed(e.Text), code: e.ExitCode, failed: e.Failed}
	case events.Other:
		it.title, it.body = "other event: "+e.Name, bound(string(e.Raw))
	case events.End:
		if !e.Failed {
			return nil // the session's log reports the end
		}
		it.body = "the agent reports a failure"
	default:
		return nil
	}
	return it
}

// size returns about how much memory the item's texts take, in bytes.
func (it *item) size() int {
	n := len(it.title) + len(it.body)
	for _, edit := range it.edits {
		n += int(unsafe.Sizeof(edit)) + len(edit.Path) + len(edit.Diff)
	}
	for _, task := range it.tasks {
		n += int(unsafe.Sizeof(task)) + len(task.Text)
	}
	if it.result != nil {
		n += len(it.result.text)
	}
	return n
}

// printed returns what is kept of a program's output: without its colors, which the screen would
// show as escapes.
func printed(text string) string { return bound(termtext.Unstyled(text)) }

// bound shortens a text to maxBody. It copies the text, so a longer one that it is a part of can be freed.
func bound(text string) string {
	if len(text) <= maxBody {
		return strings.Clone(text)
	}
	return strings.ToValidUTF8(strings.Clone(text[:maxBody]), "") + "…"
}

// foldable reports whether the item has details to show or hide.
func (it *item) foldable() bool {
	switch it.kind {
	case events.Call, events.Other, events.Reasoning:
		return true
	default:
		return false
	}
}

// open reports whether details are shown.
func (it *item) open() bool { return it.fold == unfolded || it.fold == byDefault && len(it.edits) > 0 }

// contains reports whether the item's text has words, which are in lower case.
func (it *item) contains(words string) bool {
	texts := []string{it.title, it.body}
	if it.note != nil {
		texts = append(texts, it.note.Text)
	}
	if it.result != nil {
		texts = append(texts, it.result.text)
	}
	for _, edit := range it.edits {
		texts = append(texts, edit.Path, edit.Diff)
	}
	for _, task := range it.tasks {
		texts = append(texts, task.Text)
	}
	for _, text := range texts {
		if strings.Contains(strings.ToLower(text), words) {
			return true
		}
	}
	return false
}
