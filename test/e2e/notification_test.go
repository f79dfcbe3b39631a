package e2e

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aibox/internal/notification/desktoptest"
)

// nextNote returns the next notification.
func nextNote(t *testing.T, desktop *desktoptest.Desktop) desktoptest.Note {
	t.Helper()
	select {
	case note := <-desktop.Notes:
		return note
	case <-time.After(limit):
		t.Fatal("no notification came")
		return desktoptest.Note{}
	}
}

// awaitNote waits for the next notification.
func awaitNote(t *testing.T, desktop *desktoptest.Desktop, title, text string) {
	t.Helper()
	got := nextNote(t, desktop)
	if got.App != "aibox" || got.Title != title || !strings.Contains(got.Text, text) {
		t.Errorf("notified is %+v, not %q and %q", got, title, text)
	}
}

// A session that no client follows notifies the desktop and the user's command when it
// ends, fails or waits. Its supervisor does that, so no client need run.
func TestADetachedSessionNotifiesTheUser(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	desktop := desktoptest.Start(t, "body", "body-markup")
	m.env = append(m.env, "DBUS_SESSION_BUS_ADDRESS="+desktop.Address)
	received := filepath.Join(m.home, "received")
	m.write(filepath.Join(m.home, ".config/aibox/config.toml"), "notify-command = \"tee -a "+received+"\"\n")
	repo := m.repo("p", nil)
	ended := m.detached("shell", "--network", "none", "--repo", repo, "--", "sh", "-c", "echo work > work.txt")
	awaitNote(t, desktop, ended+" has ended", "1 file to review: +1 -0")
	failed := m.detached("shell", "--network", "none", "--repo", repo, "--timeout", "1s", "--", "sleep", "1000")
	// The question about more time may come first.
	if got := nextNote(t, desktop); got.Title == failed+" asks" {
		awaitNote(t, desktop, failed+" failed", "time limit of 1s")
	} else if got.Title != failed+" failed" {
		t.Errorf("notified is %+v", got)
	}
	waits := m.detached("shell", "-i", "--network", "none", "--repo", repo, "--", "sh", "-c", `printf '\a'; sleep 1000`)
	awaitNote(t, desktop, waits+" waits for you", repo)
	m.aibox(0, "stop", waits) // who stops it knows
	followed := m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--", "true")
	m.tidied()
	if len(desktop.Notes) > 0 {
		t.Errorf("notified is %+v, too, after\n%s", <-desktop.Notes, followed)
	}
	text := m.read(received)
	for _, want := range []string{
		`"event":"ended","session":"` + ended + `"`, `"event":"failed","session":"` + failed + `"`, `"event":"waiting","session":"` + waits + `"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the command received\n%s\nwithout %s", text, want)
		}
	}
	m.write(filepath.Join(repo, ".aibox.toml"), "notify-command = \"touch /tmp/owned\"\n")
	if o := m.aibox(2, "run", "shell", "--network", "none", "--repo", repo, "--", "true"); !strings.Contains(o.stderr, "notify-command") {
		t.Errorf("a repository names a command:\n%s", o)
	}
}

// A terminal that shows sessions notifies the user in its own way.
func TestTheTerminalUINotifiesOfTheEndOfASession(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.env = append(m.env, "VTE_VERSION=7000")
	id := m.detached("shell", "--network", "none", "--repo", m.repo("p", nil), "--", "sh", "-c", "until test -e go; do sleep 0.05; done; rm go")
	ui := m.onTerminal()
	ui.awaitShown(`● running +` + id)
	m.write(filepath.Join(m.record(id).State.Workspace.Path, "go"), "")
	ui.stdout.await(t, "\a\x1b]777;notify;"+id+" has ended;")
	ui.typed("q")
	ui.ends(0)
}
