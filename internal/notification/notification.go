// Package notification tells the user about a question while they look at something else:
// on the desktop through notify-send, and through the terminal's own notifications. It never
// fails a caller, and its texts contain no control character and no markup.
//
// It speaks to the desktop through notify-send of libnotify, which every desktop with
// org.freedesktop.Notifications has, and not through a D-Bus library: that would be a large
// dependency for one call.
package notification

import (
	"context"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"aibox/internal/command"
	"aibox/internal/termtext"
)

const (
	maxText = 200             // bytes of a title or text
	timeout = 5 * time.Second // for notify-send
)

// OnDesktop shows a notification on the desktop. It does nothing without a session bus or
// without notify-send, and returns when the desktop has taken it.
func OnDesktop(ctx context.Context, title, text string) error {
	program, err := exec.LookPath("notify-send")
	if err != nil || !hasSessionBus() {
		return nil // there is no desktop to notify
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return command.Cmd{
		Name: program, Env: command.User(),
		// The text may contain markup, the title may not.
		Args: []string{"--app-name=aibox", "--", clean(title), html.EscapeString(clean(text))},
	}.Run(ctx)
}

// hasSessionBus reports whether the user has a D-Bus session.
func hasSessionBus() bool {
	if os.Getenv("DBUS_SESSION_BUS_ADDRESS") != "" {
		return true
	}
	_, err := os.Stat(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "bus"))
	return os.Getenv("XDG_RUNTIME_DIR") != "" && err == nil
}

// Sequence returns what makes the terminal with the variables getenv notify the user: its
// bell, and the control sequence for notifications that it knows.
func Sequence(getenv func(string) string, title, text string) string {
	// Semicolons separate the fields of the sequences.
	title, text = strings.ReplaceAll(clean(title), ";", ","), strings.ReplaceAll(clean(text), ";", ",")
	const bell = "\a"
	switch term := getenv("TERM"); {
	case getenv("TMUX") != "" || strings.HasPrefix(term, "screen") || strings.HasPrefix(term, "tmux"):
		return bell // it marks the window, and passes no notification
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
