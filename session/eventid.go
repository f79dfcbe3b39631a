package session

import (
	"strconv"
	"strings"
)

// EventID names an event of a session's audit log. A refusal has the same id in the log, in
// the audit and in the answer to the sandbox.
type EventID struct {
	Session ID
	Number  int // audit.Event.Seq
}

// String returns the id as users type it, such as "0dq4f/17"; "" if nothing was logged.
func (e EventID) String() string {
	if e.Session == "" {
		return ""
	}
	id := string(e.Session)
	if !e.Session.Hidden() {
		id, _, _ = strings.Cut(id, "-") // the number is unique without the agent
	}
	return id + "/" + strconv.Itoa(e.Number)
}

// ParseEventID parses an id as String returns it. Its session may be any prefix of an id.
func ParseEventID(text string) (EventID, bool) {
	prefix, digits, found := strings.Cut(text, "/")
	number, err := strconv.ParseUint(digits, 10, 31)
	if !found || err != nil || !IsID(prefix) {
		return EventID{}, false
	}
	return EventID{Session: ID(prefix), Number: int(number)}, true
}
