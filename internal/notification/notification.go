// Package notification notifies users who are looking at something else: on the desktop by
// D-Bus, and by the terminal's own notifications. Its texts contain no control characters and
// no markup. It does not decide when to notify.
package notification

import (
	"fmt"
	"strings"

	"aibox/internal/termtext"
)

// maxText is the size of a title or text in bytes.
const maxText = 200

// Sequence returns the output that makes a terminal notify the user: the bell, and the
// control sequence for notifications that the terminal supports according to the variables
// of getenv.
func Sequence(getenv func(string) string, title, text string) string {
	// Semicolons separate the fields of the sequences.
	title, text = strings.ReplaceAll(clean(title), ";", ","), strings.ReplaceAll(clean(text), ";", ",")
	const bell = "\a"
	switch term := getenv("TERM"); {
	case getenv("TMUX") != "" || strings.HasPrefix(term, "screen") || strings.HasPrefix(term, "tmux"):
		return bell // it marks the window, and does not pass on notifications
	case term == "xterm-kitty":
		return bell + fmt.Sprintf("\x1b]99;i=aibox:d=0;%s\x1b\\\x1b]99;i=aibox:d=1:p=body;%s\x1b\\", title, text)
	case strings.HasPrefix(term, "rxvt"), strings.HasPrefix(term, "foot"), term == "xterm-ghostty", getenv("VTE_VERSION") != "":
		return bell + fmt.Sprintf("\x1b]777;notify;%s;%s\x1b\\", title, text)
	case getenv("TERM_PROGRAM") == "iTerm.app", getenv("TERM_PROGRAM") == "WezTerm", getenv("WT_SESSION") != "":
		return bell + fmt.Sprintf("\x1b]9;%s: %s\x1b\\", title, text)
	default:
		return bell // an unknown terminal could print the sequence
	}
}

// clean returns text without control characters, cut.
func clean(text string) string {
	text = termtext.Escape(text)
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return text
}
