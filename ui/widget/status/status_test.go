package status

import (
	"testing"

	"aibox/session"
	"aibox/session/summary"
	"aibox/ui/widget/theme"

	"github.com/charmbracelet/x/ansi"
)

func TestEveryStatusHasAMarkOfItsOwn(t *testing.T) {
	marks := map[string]summary.Status{}
	for status, l := range looks {
		if ansi.StringWidth(l.mark) != 1 {
			t.Errorf("%s has the mark %q", status, l.mark)
		}
		if other, taken := marks[l.mark]; taken {
			t.Errorf("%s and %s look the same without color", status, other)
		}
		marks[l.mark] = status
	}
}

func TestASessionIsShownByItsMarkAndTheWord(t *testing.T) {
	dark := theme.New(true)
	for _, test := range []struct {
		session session.Session
		want    string
	}{
		{session.Session{State: session.State{Phase: session.Preparing}}, "◌ starting"},
		{session.Session{State: session.State{Phase: session.Running}}, "● running"},
		{session.Session{State: session.State{Phase: "mending"}}, "● mending"},
		{decided(session.Accepted), "✓ accepted"},
		{decided(session.Discarded), "– discarded"},
		{decided(session.PartlyAccepted), "◐ part taken"},
		{decided(""), "▲ to review"},
	} {
		b := summary.Of(&test.session)
		if got := Text(b.Status()); got != test.want {
			t.Errorf("%q, not %q", got, test.want)
		}
		if got := ansi.Strip(Style(&dark, b.Status()).Render(Text(b.Status()))); got != test.want {
			t.Errorf("with its style %q, not %q", got, test.want)
		}
	}
}

// decided is a session that has changed something.
func decided(as session.Review) session.Session {
	return session.Session{State: session.State{Phase: session.Ended, Review: as, Result: &session.Result{Changed: true}}}
}
