package session

import (
	"time"
)

// RequestTime is the request for more time before a limit ends the session.
const RequestTime = "time"

// Request is a question of a running session to its user. Only the first answer counts;
// no answer means no.
type Request struct {
	Session  ID        `json:"session"`
	ID       int       `json:"id"`   // within the session, from 1
	What     string    `json:"what"` // RequestTime
	Question string    `json:"question"`
	Yes      string    `json:"yes"` // the effect of yes, a verb
	No       string    `json:"no"`  // the effect of no, or of no answer
	Made     time.Time `json:"made"`
	Until    time.Time `json:"until"` // when it expires
}
