package session

import (
	"slices"
	"time"

	"aibox/internal/fault"
)

// The values of Request.What.
const (
	RequestTime   = "time"   // more time before a limit ends the session
	RequestAccess = "access" // a connection that the network policy refuses
	RequestTokens = "tokens" // more tokens, while a request to the model waits
	RequestCost   = "cost"   // a higher cost, while a request to the model waits
	RequestDisk   = "disk"   // more growth of the workspace before a limit ends the session
	RequestState  = "state"  // larger conversation folders before a limit ends the session
	RequestOutput = "output" // more output before a limit ends the session
	RequestIdle   = "idle"   // to keep an idle session
)

// Request is a question of a running session to its user. Only the first answer counts;
// no answer means no.
type Request struct {
	Session  ID        `json:"session"`
	ID       int       `json:"id"`   // within the session, from 1
	What     string    `json:"what"` // RequestTime or another of its kind
	Question string    `json:"question"`
	Yes      string    `json:"yes"` // the effect of yes; begins with a verb
	No       string    `json:"no"`  // the effect of no, or of no answer; begins with a verb
	Made     time.Time `json:"made"`
	Until    time.Time `json:"until"` // when it expires; zero if that is not known in advance
	// Access is set for RequestAccess. Clients of versions without it answer yes, which
	// means AnswerOnce, or no.
	Access *AccessRequest `json:"access,omitempty"`
}

// Holds reports whether the sandbox waits for the answer: a connection does, and so does a
// model request in a session that has exhausted a budget.
func (r *Request) Holds() bool {
	return r.What == RequestAccess || r.What == RequestTokens || r.What == RequestCost
}

// AccessRequest is a connection of the sandbox that waits for the user.
type AccessRequest struct {
	Agent  string `json:"agent"`
	Host   string `json:"host"` // canonical
	Port   int    `json:"port"`
	Method string `json:"method"` // "CONNECT", or the method of a plain HTTP request; raw
	Reason string `json:"reason"` // why the policy refuses it, a clause
	Allow  string `json:"allow"`  // the entry of an allow list that permits it
}

// Answer is an answer to a Request.
type Answer string

// The answers. A RequestAccess takes the last four, every other request the first two.
const (
	AnswerYes     Answer = "yes"
	AnswerNo      Answer = "no"
	AnswerOnce    Answer = "once"    // allow the connections that wait now
	AnswerSession Answer = "session" // allow the destination until the session ends
	AnswerAlways  Answer = "always"  // like AnswerSession; the client adds it to the user's settings
	AnswerDeny    Answer = "deny"    // refuse the destination until the session ends
)

// Answers returns the answers that the request takes, the most limited yes first and no
// last.
func (r *Request) Answers() []Answer {
	if r.What == RequestAccess {
		return []Answer{AnswerOnce, AnswerSession, AnswerAlways, AnswerDeny}
	}
	return []Answer{AnswerYes, AnswerNo}
}

// Understand returns the answer that a means for the request: yes and no are AnswerOnce
// and AnswerDeny where those are expected. An answer that the request does not take is a
// Usage fault.
func (r *Request) Understand(a Answer) (Answer, error) {
	if r.What == RequestAccess {
		switch a {
		case AnswerYes:
			a = AnswerOnce
		case AnswerNo:
			a = AnswerDeny
		}
	}
	if !slices.Contains(r.Answers(), a) {
		return "", fault.New(fault.Usage, "%q does not answer the question", string(a)).Hint("answer %s", r.choices())
	}
	return a, nil
}

// choices returns the answers as text.
func (r *Request) choices() string {
	answers := r.Answers()
	text := string(answers[0])
	for _, a := range answers[1 : len(answers)-1] {
		text += ", " + string(a)
	}
	return text + " or " + string(answers[len(answers)-1])
}

// Allows reports whether the answer grants the request.
func (a Answer) Allows() bool {
	return a == AnswerYes || a == AnswerOnce || a == AnswerSession || a == AnswerAlways
}
