package session

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"aibox/internal/fault"
)

// ID names a session, such as "0dq4f-codex": the minute it was made as five
// base-36 digits, so that ids sort by age, and the agent.
type ID string

// epoch is where the minutes of an ID start; five digits last until 2140.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// idForm is what ParseID accepts: an ID or a prefix of one.
var idForm = regexp.MustCompile(`^[0-9a-z][0-9a-z-]{0,62}$`)

// newID makes the id of a session made at now, step minutes later, so that a
// caller whose id is taken can try the next step.
func newID(agent string, now time.Time, step int) ID {
	return ID(minute(now, step) + "-" + agent)
}

// newVerificationID is newID for a verification.
func newVerificationID(now time.Time, step int) ID {
	return ID(verificationPrefix + minute(now, step))
}

// newOpenedID is newID for a session in which a workspace is looked at.
func newOpenedID(now time.Time, step int) ID {
	return ID(openedPrefix + minute(now, step))
}

// minute is a time as ids have it.
func minute(now time.Time, step int) string {
	minutes := int64(now.Sub(epoch)/time.Minute) + int64(step)
	digits := strconv.FormatInt(minutes, 36)
	return strings.Repeat("0", max(0, 5-len(digits))) + digits
}

// ParseID checks text that a person typed as a session id or a prefix of one.
func ParseID(text string) (ID, error) {
	if !idForm.MatchString(text) {
		return "", fault.New(fault.Usage, "%q is not a session id", text).
			Hint("ids look like 0dq4f-codex; `aibox ls` lists them, and any unique prefix works")
	}
	return ID(text), nil
}
