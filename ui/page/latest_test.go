package page

import (
	"testing"

	tea "charm.land/bubbletea/v2"
)

func answer(text string) tea.Cmd { return func() tea.Msg { return text } }

func TestOnlyTheNewestRequestOfASeriesIsAnswered(t *testing.T) {
	var series, other Latest
	first, elsewhere := series.Replace(answer("first")), other.Replace(answer("elsewhere"))
	second := series.Replace(answer("second"))
	third := series.Continue(answer("third"))
	for _, test := range []struct {
		cmd     tea.Cmd
		text    string
		current bool
	}{{first, "first", false}, {second, "second", true}, {third, "third", true}, {elsewhere, "elsewhere", true}} {
		if got, current := Current(test.cmd()); got != test.text || current != test.current {
			t.Errorf("%s: got %v, current %t", test.text, got, current)
		}
	}
	series.Cancel()
	if _, current := Current(second()); current {
		t.Error("the answer to a canceled request counts")
	}
	if got, current := Current("plain"); got != "plain" || !current {
		t.Errorf("a plain message became %v, current %t", got, current)
	}
	if msg := series.Continue(func() tea.Msg { return nil })(); msg != nil {
		t.Errorf("no answer became %v", msg)
	}
}
