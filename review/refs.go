package review

import (
	"time"

	"aibox/internal/git"
)

// RefPrefix begins the refs of a session.
func RefPrefix(session string) string { return "refs/aibox/" + session + "/" }

// Signature is the author of the commits in the repositories that aibox owns.
func Signature(when time.Time) git.Signature {
	return git.Signature{Name: "aibox", Email: "aibox@localhost", When: when}
}
