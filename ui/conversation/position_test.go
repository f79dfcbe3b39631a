package conversation

import "testing"

func TestALongConversationShowsWhichItemsAreHidden(t *testing.T) {
	p := open(t, 80, 24, work(40)...)
	if got := p.m.Position(); got != "23-44 of 44" {
		t.Errorf("at the end: %q", got)
	}
	p.Press("home")
	if got := p.m.Position(); got != "1-22 of 44" {
		t.Errorf("at the start: %q", got)
	}
	p.Resize(80, 400)
	if got := p.m.Position(); got != "" {
		t.Errorf("where all fit: %q", got)
	}
}
