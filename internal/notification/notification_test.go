package notification

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestATerminalGetsItsOwnSequenceWithoutControlCharactersInTheText(t *testing.T) {
	const title, text = "aibox\x1b]0;x\x07", "evil\x1b\\\x07;example\n\u202e" + "<b>"
	for name, c := range map[string]struct {
		env  map[string]string
		want string
	}{
		"kitty":   {map[string]string{"TERM": "xterm-kitty"}, "\a\x1b]99;i=aibox:d=0;T\x1b\\\x1b]99;i=aibox:d=1:p=body;B\x1b\\"},
		"foot":    {map[string]string{"TERM": "foot"}, "\a\x1b]777;notify;T;B\x1b\\"},
		"VTE":     {map[string]string{"TERM": "xterm-256color", "VTE_VERSION": "7000"}, "\a\x1b]777;notify;T;B\x1b\\"},
		"iTerm":   {map[string]string{"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, "\a\x1b]9;T: B\x1b\\"},
		"tmux":    {map[string]string{"TERM": "tmux-256color", "TERM_PROGRAM": "iTerm.app"}, "\a"},
		"console": {map[string]string{"TERM": "linux"}, "\a"},
	} {
		got := Sequence(func(key string) string { return c.env[key] }, title, text)
		want := strings.NewReplacer("T", `aibox\x1b]0,x\x07`, "B", `evil\x1b\\\x07,example\n\u202e<b>`).Replace(c.want)
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestTheDesktopGetsATextWithoutMarkup(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\nprintf '%s\\n' \"$@\" >" + dir + "/said\n"
	if err := os.WriteFile(filepath.Join(dir, "notify-send"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	if err := OnDesktop(t.Context(), "aibox", "x"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir + "/said"); err == nil {
		t.Error("it notifies without a session bus")
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
	if err := OnDesktop(t.Context(), "--help", "<a href=x>evil</a>\x1b]0;x\x07\n"+strings.Repeat("x", 1000)); err != nil {
		t.Fatal(err)
	}
	said, err := os.ReadFile(dir + "/said")
	lines := strings.Split(string(said), "\n")
	if err != nil || len(lines) != 5 || lines[1] != "--" || lines[2] != "--help" || !strings.HasPrefix(lines[3], `&lt;a href=x&gt;evil&lt;/a&gt;\x1b]0;x\x07`) || len(lines[3]) > 300 {
		t.Errorf("%q, %v", lines, err)
	}
}
