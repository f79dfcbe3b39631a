package sessionview

import (
	"encoding/json"
	"fmt"
	"time"

	"aibox/audit"
	"aibox/internal/amount"
	"aibox/internal/termtext"
)

// logEntry is an event of the session, described for the user.
type logEntry struct {
	time time.Time
	mark string // one column
	text string // escaped
}

// stateChanges are the events after which the session must be read again.
var stateChanges = map[audit.Type]bool{
	audit.SessionQueued: true, audit.SessionAdmitted: true, audit.AgentStarted: true, audit.AgentEnded: true, audit.SandboxDestroyed: true, audit.WorkVerified: true,
	audit.SessionRepaired: true, audit.SessionContinued: true, audit.SessionReturned: true,
	audit.ChangesAccepted: true, audit.ChangesDiscarded: true, audit.ChangesRecovered: true,
}

// plain are the events without data to show.
var plain = map[audit.Type]string{
	audit.SessionStarted: "the session started", audit.SessionAdmitted: "its turn in the queue came", audit.SandboxDestroyed: "the sandbox was removed",
	audit.SessionForked:   "another session got a copy of its work",
	audit.SessionRepaired: "repaired after its supervisor died", audit.ChangesDiscarded: "its changes were discarded",
	audit.ChangesRecovered: "its changes were restored", audit.ChangesAccepted: "changes were accepted",
}

// details are the fields that describe reads from the data of events.
type details struct {
	Text     string `json:"text"`
	Template string `json:"template"` // of a sandbox, which has no agent
	Question string `json:"question"`
	Answer   string `json:"answer"`
	Reason   string `json:"reason"`
	Limit    string `json:"limit"`
	By       string `json:"by"`
	Value    string `json:"value"`
	Signal   int    `json:"signal"`
	Exit     int    `json:"exit_code"`
	Files    int    `json:"files"`
	Added    int    `json:"added"`
	Deleted  int    `json:"deleted"`
}

// describe describes an event; false for events that are not shown.
func describe(e audit.Event) (logEntry, bool) {
	h := logEntry{time: e.Time, mark: "·"}
	if text, ok := plain[e.Type.Today()]; ok {
		h.text = text
		return h, true
	}
	var d details
	if json.Unmarshal(e.Data, &d) != nil && len(e.Data) > 0 {
		return h, false
	}
	switch e.Type {
	case audit.AgentStarted:
		h.text = "the agent started"
		if d.Template != "" {
			h.text = "the sandbox is ready"
		}
	case audit.SessionQueued:
		h.text = "queued: " + d.Text
	case audit.NoticeGiven:
		h.mark, h.text = "!", d.Text
	case audit.RequestMade:
		h.mark, h.text = "?", d.Question
	case audit.RequestAnswered:
		h.text = answers[d.Answer]
	case audit.LimitExtended:
		h.text = fmt.Sprintf("extended by %s to %s", span(d.By), span(d.Value))
	case audit.LimitReached:
		h.mark, h.text = "!", fmt.Sprintf("the %s limit of %s was reached", d.Limit, span(d.Value))
	case audit.StopRequested:
		h.text = d.Reason
	case audit.AgentEnded:
		if d.Template != "" {
			return h, false // the sandbox has no agent, and its removal follows
		}
		h.text = fmt.Sprintf("the agent ended with exit code %d", d.Exit)
		if d.Signal != 0 {
			h.text = fmt.Sprintf("the agent was killed by signal %d", d.Signal)
		}
	case audit.ChangesComputed:
		h.text = fmt.Sprintf("%s changed, +%d -%d", amount.Of(d.Files, "file"), d.Added, d.Deleted)
		if d.Files == 0 {
			h.text = "no changes"
		}
	}
	h.text = termtext.Escape(h.text)
	return h, h.text != ""
}

// answers describe how requests end.
var answers = map[string]string{
	"yes": "you answered yes", "no": "you answered no", "settled": "the question was answered", "none": "the question was not answered",
}

// span formats a duration of the log. Other texts stay as they are.
func span(text string) string {
	if d, err := time.ParseDuration(text); err == nil {
		return amount.Span(d)
	}
	return text
}
