// Package traffic is what boxes asked of the network, as screens show it: what was let
// through and what was refused, and why. It never asks for anything itself, and every
// text it gives is escaped.
package traffic

import (
	"fmt"
	"strings"
	"time"

	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/session"
)

// keep is how many accesses a Log holds at most; then the older half goes.
const keep = 20_000

// Log is a list of accesses in the order in which they came. The zero value is empty.
type Log struct {
	all []session.Access
	at  map[refusal]int // of those that are counted
}

// refusal is what makes two refusals one.
type refusal struct {
	session           session.ID
	what, target, why string
}

// Add appends an access and reports whether older ones had to go. A refusal that is
// there already only counts.
func (l *Log) Add(a session.Access) (dropped bool) {
	if l.at == nil {
		l.at = map[refusal]int{}
	}
	key := refusal{a.Session, a.What, a.Target, a.Why}
	if i, known := l.at[key]; known && !a.Allowed {
		l.all[i].Times += a.Times
		return false
	}
	if dropped = len(l.all) >= keep; dropped {
		l.all = append([]session.Access(nil), l.all[keep/2:]...)
		clear(l.at)
		for i, a := range l.all {
			if !a.Allowed {
				l.at[refusal{a.Session, a.What, a.Target, a.Why}] = i
			}
		}
	}
	if !a.Allowed {
		l.at[key] = len(l.all)
	}
	l.all = append(l.all, a)
	return dropped
}

// Count takes how often a session was refused what.
func (l *Log) Count(id session.ID, live session.Live) {
	for _, r := range live.Refused {
		if i, known := l.at[refusal{id, r.What, r.Target, r.Reason}]; known {
			l.all[i].Times = r.Times
		}
	}
}

// All is every access, oldest first. It is the log's own.
func (l *Log) All() []session.Access { return l.all }

// Words are an access in words, each escaped.
type Words struct {
	Time   string // of day
	Mark   string // one column
	What   string // "model", "name", "tcp"
	Target string
	Detail string // what came of it, or why it was refused
}

// String is the words in one line, without the time and the mark.
func (w Words) String() string { return w.What + " " + w.Target + ": " + w.Detail }

// Say puts an access in words.
func Say(a session.Access) Words {
	w := Words{
		Time: a.Time.Local().Format(time.TimeOnly), Mark: "✗",
		What: termtext.Escape(a.What), Target: termtext.Escape(a.Target), Detail: termtext.Escape(a.Why),
	}
	if a.Allowed {
		w.Mark = "✓"
	}
	if a.What == session.AskedModel && a.Call.Status != 0 {
		w.Target, w.Detail = model(a.Call, w.Target), call(a)
	}
	if a.Times > 1 {
		w.Target += fmt.Sprintf(" ×%d", a.Times)
	}
	return w
}

// model is the model that a request is to, or what else it is about.
func model(c session.ModelCall, target string) string {
	if c.Model == "" {
		return target
	}
	return termtext.Escape(c.Model)
}

// call is what came of a request to the model.
func call(a session.Access) string {
	c := a.Call
	took := (time.Duration(c.Millis) * time.Millisecond).Round(100 * time.Millisecond)
	parts := []string{fmt.Sprint(c.Status), amount.Took(took)}
	if c.Input+c.Output > 0 {
		parts = append(parts, amount.Short(c.Input)+" in "+amount.Short(c.Output)+" out")
	}
	text := strings.Join(parts, " ")
	switch {
	case a.Why != "":
		text += ": " + termtext.Escape(a.Why)
	case c.Reason != "":
		text += ": " + termtext.Escape(c.Reason)
	case c.Outcome == session.GivenUp:
		text += ": the agent hung up"
	case c.Outcome == session.Blank:
		text += ": an empty answer"
	}
	return text
}
