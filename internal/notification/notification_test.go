package notification

import (
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
		"rxvt":    {map[string]string{"TERM": "rxvt-unicode-256color"}, "\a\x1b]777;notify;T;B\x1b\\"},
		"Ghostty": {map[string]string{"TERM": "xterm-ghostty", "TERM_PROGRAM": "ghostty"}, "\a\x1b]777;notify;T;B\x1b\\"},
		"WezTerm": {map[string]string{"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, "\a\x1b]9;T: B\x1b\\"},
		"Windows": {map[string]string{"TERM": "xterm-256color", "WT_SESSION": "x"}, "\a\x1b]9;T: B\x1b\\"},
		"screen":  {map[string]string{"TERM": "screen.xterm-256color", "VTE_VERSION": "7000"}, "\a"},
		"in tmux": {map[string]string{"TERM": "xterm-kitty", "TMUX": "/tmp/tmux-1000/default,1,0"}, "\a"},
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
