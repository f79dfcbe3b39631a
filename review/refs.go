package review

import (
	"time"

	"aibox/internal/git"
)

// RefPrefix returns the prefix of a session's refs.
func RefPrefix(session string) string { return "refs/aibox/" + session + "/" }

// Signature returns the author of commits in the repositories that aibox owns.
func Signature(when time.Time) git.Signature {
	return git.Signature{Name: "aibox", Email: "aibox@localhost", When: when}
}
