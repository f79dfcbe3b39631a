package session

import (
	"strings"

	"aibox/internal/fault"
)

// ID names a session, such as "0dq4f-codex": a number as five base-36 digits, so that ids
// sort by age, and the agent. The number is the minute in which the session was created, or
// a later one if that number was taken. It is never used again (see Store.nextNumber),
// since branches and saved work outlive the session's record.
type ID string

// maxID is the length of the longest ID in bytes.
const maxID = 63

// IsID reports whether ParseID accepts text: an ID or a prefix of one. A list calls it for
// every session, and a regular expression takes ten times as long.
func IsID(text string) bool {
	if text == "" || len(text) > maxID || text[0] == '-' {
		return false
	}
	for _, c := range []byte(text) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && c != '-' {
			return false
		}
	}
	return true
}

// Agent returns the name of the agent in an id, or "" if the session has none.
func (id ID) Agent() string {
	_, agent, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(string(id), verificationPrefix), openedPrefix), "-")
	return agent
}

// newID returns the id of the session with the given number.
func newID(agent string, number int64) ID { return ID(digits(number) + "-" + agent) }

// newVerificationID is newID for a verification.
func newVerificationID(number int64) ID { return ID(verificationPrefix + digits(number)) }

// newOpenedID is newID for a session that opens a workspace.
func newOpenedID(number int64) ID { return ID(openedPrefix + digits(number)) }

// ParseID checks text that the user typed as a session id or a prefix of one.
func ParseID(text string) (ID, error) {
	if !IsID(text) {
		return "", fault.New(fault.Usage, "%q is not a session id", text).
			Hint("ids look like 0dq4f-codex; `aibox ls` lists them, and any unique prefix works")
	}
	return ID(text), nil
}
