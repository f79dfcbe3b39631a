// Package traffic holds the network accesses of sandboxes as screens show them: allowed
// or refused, and why. It makes no request itself, and every text it returns is escaped.
package traffic

import (
	"fmt"
	"strings"
	"time"

	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/session"
	"aibox/session/auditlog"
)

// keep is the maximum number of accesses in a Log. When it is reached, the older half is
// dropped.
const keep = 20_000

// Log is a list of accesses in order of arrival. The zero value is empty.
type Log struct {
	all []auditlog.Access
	at  map[refusal]int // the index of each refusal
}

// refusal is the key under which repeated refusals are counted.
type refusal struct {
	session           session.ID
	what, target, why string
}

// Add appends an access and reports whether older ones were dropped. A repeated refusal
// only increases its count.
func (l *Log) Add(a auditlog.Access) (dropped bool) {
	if l.at == nil {
		l.at = map[refusal]int{}
	}
	key := refusal{a.Session, a.What, a.Target, a.Why}
	if i, known := l.at[key]; known && !a.Allowed {
		l.all[i].Times += a.Times
		return false
	}
	if dropped = len(l.all) >= keep; dropped {
		l.all = append([]auditlog.Access(nil), l.all[keep/2:]...)
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

// Count updates how often each access of a session was refused.
func (l *Log) Count(id session.ID, live session.Live) {
	for _, r := range live.Refused {
		if i, known := l.at[refusal{id, r.What, r.Target, r.Reason}]; known {
			l.all[i].Times = r.Times
		}
	}
}

// All returns every access, oldest first. The caller must not change the slice.
func (l *Log) All() []auditlog.Access { return l.all }

// Words describe an access. All fields are escaped.
type Words struct {
	Time   string // of day
	Mark   string // one column
	What   string // "model", "name", "tcp"
	Target string
	Detail string // the result, or why it was refused
}

// String returns the access in one line, without the time and the mark.
func (w Words) String() string {
	if w.Detail == "" {
		return w.What + " " + w.Target
	}
	return w.What + " " + w.Target + ": " + w.Detail
}

// Say describes an access.
func Say(a auditlog.Access) Words {
	w := Words{
		Time: a.Time.Local().Format(time.TimeOnly), Mark: "✗",
		What: termtext.Escape(a.What), Target: termtext.Escape(a.Target), Detail: termtext.Escape(a.Why),
	}
	if a.Allowed {
		w.Mark = "✓"
	}
	if a.What == auditlog.AskedModel && a.Call.Status != 0 {
		w.Target, w.Detail = model(a.Call, w.Target), call(a)
	}
	if a.Times > 1 {
		w.Target += fmt.Sprintf(" ×%d", a.Times)
	}
	return w
}

// model returns the model of a call, or target if the call names none.
func model(c auditlog.ModelCall, target string) string {
	if c.Model == "" {
		return target
	}
	return termtext.Escape(c.Model)
}

// call returns the result of a model call.
func call(a auditlog.Access) string {
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
	case c.Outcome == auditlog.GivenUp:
		text += ": the agent hung up"
	case c.Outcome == auditlog.Blank:
		text += ": an empty answer"
	}
	return text
}
