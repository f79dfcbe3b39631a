package sessionview

import (
	"encoding/json"
	"fmt"
	"time"

	"aibox/audit"
	"aibox/internal/amount"
	"aibox/internal/termtext"
)

// logEntry is an entry of the session's log, in words.
type logEntry struct {
	time time.Time
	mark string // one column
	text string // escaped
}

// turns are the events after which the session is another one.
var stateChanges = map[audit.Type]bool{
	audit.AgentStarted: true, audit.AgentEnded: true, audit.BoxDestroyed: true, audit.WorkVerified: true,
	audit.SessionRepaired: true, audit.SessionContinued: true, audit.SessionReturned: true,
	audit.ChangesAccepted: true, audit.ChangesDiscarded: true, audit.ChangesRecovered: true,
}

// plain are the events that need no more than a sentence.
var plain = map[audit.Type]string{
	audit.SessionStarted: "the session began", audit.AgentStarted: "the agent started", audit.BoxDestroyed: "the sandbox is gone",
	audit.SessionRepaired: "cleared up, since its supervisor had died", audit.ChangesDiscarded: "its changes were discarded",
	audit.ChangesRecovered: "its changes were brought back", audit.ChangesAccepted: "changes were accepted",
}

// details is what is looked for in the data of events.
type details struct {
	Text     string `json:"text"`
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

// describe puts an event in words; false for those that nobody needs to read here.
func describe(e audit.Event) (logEntry, bool) {
	h := logEntry{time: e.Time, mark: "·"}
	if text, ok := plain[e.Type]; ok {
		h.text = text
		return h, true
	}
	var d details
	if json.Unmarshal(e.Data, &d) != nil && len(e.Data) > 0 {
		return h, false
	}
	switch e.Type {
	case audit.NoticeGiven:
		h.mark, h.text = "!", d.Text
	case audit.RequestMade:
		h.mark, h.text = "?", d.Question
	case audit.RequestAnswered:
		h.text = answers[d.Answer]
	case audit.LimitExtended:
		h.text = fmt.Sprintf("given %s more, %s in all", span(d.By), span(d.Value))
	case audit.LimitReached:
		h.mark, h.text = "!", fmt.Sprintf("the %s limit of %s was reached", d.Limit, span(d.Value))
	case audit.StopRequested:
		h.text = d.Reason
	case audit.AgentEnded:
		h.text = fmt.Sprintf("the agent ended with exit code %d", d.Exit)
		if d.Signal != 0 {
			h.text = fmt.Sprintf("the agent was ended by signal %d", d.Signal)
		}
	case audit.ChangesComputed:
		h.text = fmt.Sprintf("%s changed, +%d -%d", amount.Of(d.Files, "file"), d.Added, d.Deleted)
		if d.Files == 0 {
			h.text = "nothing was changed"
		}
	}
	h.text = termtext.Escape(h.text)
	return h, h.text != ""
}

// answers are how requests end, in words.
var answers = map[string]string{
	"yes": "you said yes", "no": "you said no", "settled": "the question was answered", "none": "the question was not answered",
}

// span returns a length of time of the log as it is shown everywhere; anything else stays.
func span(text string) string {
	if d, err := time.ParseDuration(text); err == nil {
		return amount.Span(d)
	}
	return text
}
