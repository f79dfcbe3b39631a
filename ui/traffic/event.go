package traffic

import (
	"aibox/agents/conversation"
	"aibox/internal/amount"
	"aibox/session/auditlog"
)

// Event returns an access as an event of the session's conversation: of kind ModelCall,
// Allowed or Refused. The session screen and `aibox logs` show it. Its name and its text are
// escaped, its target and its model raw.
func Event(a auditlog.Access) conversation.Event {
	w, c := Say(a), a.Call
	e := conversation.Event{Kind: conversation.Refused, Time: a.Time, Name: w.What, Target: a.Target, Text: w.Target, Failed: !a.Allowed, Model: c.Model, Status: c.Status}
	if w.Detail != "" {
		e.Text += ": " + w.Detail
	}
	if c.Cost > 0 {
		e.Text += " " + amount.Cost(c.Cost)
	}
	if c.Status != 0 {
		e.Usage = &conversation.Usage{Input: c.Input, Output: c.Output, Cached: c.Cached, Cost: c.Cost, Millis: c.Millis}
	}
	switch {
	case a.Allowed && a.What == auditlog.AskedModel:
		e.Kind = conversation.ModelCall
	case a.Allowed:
		e.Kind = conversation.Allowed
	}
	return e
}
