package dialog

import (
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

func press(text string) tea.KeyPressMsg {
	r := []rune(text)[0]
	return tea.KeyPressMsg{Code: r, Text: text}
}

func TestAnAnswerClosesTheQuestionAndOnlyYesIsHandedOn(t *testing.T) {
	begun := time.Unix(1, 0)
	for _, c := range []struct {
		key       string
		after     time.Duration
		open, yes bool
	}{
		{"y", Grace / 2, true, false},
		{"n", Grace / 2, true, false},
		{"y", Grace, false, true},
		{"n", Grace, false, false},
		{"x", Grace, true, false},
	} {
		asked := Ask(Confirm{Title: "Sure?", Yes: "do it"}, begun)
		open := asked
		yes := Answer(&open, press(c.key), begun.Add(c.after))
		if (open != nil) != c.open || (yes == asked) != c.yes || !c.yes && yes != nil {
			t.Errorf("%q after %v: open %v, yes %v", c.key, c.after, open != nil, yes != nil)
		}
	}
}
