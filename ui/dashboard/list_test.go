package dashboard

import (
	"strings"
	"testing"

	"aibox/session/summary"
)

// order returns the ids in the order of the list.
func (p *user) order() string {
	var ids []string
	for _, r := range p.m.list.rows {
		if r.brief == nil {
			ids = append(ids, "/"+r.heading)
		} else {
			ids = append(ids, string(r.brief.ID[1:2]))
		}
	}
	return strings.Join(ids, " ")
}

func TestEveryColumnSortsByAKeyAndByAClickOnItsName(t *testing.T) {
	p, _ := open(t, 200, 40)
	p.Press("p") // the whole width for the list
	want := map[string]string{
		"STATE": "d a c b", "SESSION": "d c b a", "REPOSITORY": "b d c a", "TASK": "d c a b",
		"CHANGES": "a c d b", "TOKENS": "a d c b", "COST": "a d c b", "REFUSED": "a d c b", "CPU": "d c b a", "MEMORY": "d c b a", "TIME": "d c b a",
	}
	for c := range columnCount {
		name := kinds[c].name
		p.Press(">")
		p.Sees(name + "↓")
		if got := p.order(); got != want[name] {
			t.Errorf("by %s: %s", name, got)
		}
	}
	p.ClickOn("TOKENS")
	if got := p.order(); got != "a d c b" {
		t.Errorf("after a click: %s", got)
	}
	p.ClickOn("TOKENS")
	p.Sees("TOKENS↑")
	if got := p.order(); got != "d c b a" {
		t.Errorf("after another click: %s", got)
	}
	p.Press("O")
	if got := p.order(); got != "a d c b" {
		t.Errorf("turned round: %s", got)
	}
}

func TestSessionsAreGroupedAndFilteredByWhatIsTyped(t *testing.T) {
	p, _ := open(t, 120, 40)
	for _, want := range []string{
		"//home/ann/blog b //home/ann/shop d c a", "/running d /to review a /accepted c /failed b", "/aider b /codex a /qwen c /shell d", "d c b a",
	} {
		p.Press("v")
		if got := p.order(); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
	p.Press("/")
	p.Type("agent:codex,aider -state:failed")
	if got := p.order(); got != "a" {
		t.Errorf("filtered: %s", got)
	}
	p.Press("esc")
	if got := p.order(); got != "d c b a" {
		t.Errorf("no longer filtered: %s", got)
	}
}

func TestEveryScreenFrom80ColumnsShowsTheChanges(t *testing.T) {
	for width := 80; width <= 200; width++ {
		m := Model{width: width}
		for _, preview := range []bool{false, true} {
			m.preview.on = preview
			if m.list.layout(m.listWidth())[byChanges] == 0 {
				t.Errorf("%d columns, preview %v: the changes are hidden", width, preview)
			}
		}
	}
}

func TestACostIsNeverShownAsLessThanIsKnown(t *testing.T) {
	for want, b := range map[string]summary.Summary{
		"": {Tokens: 5}, "$1.20": {Cost: 1.2}, "≥$1.20": {Cost: 1.2, Unpriced: 1}, "<$0.01": {Cost: 0.001}, "?": {Unpriced: 2},
	} {
		if got := cost(&b); got != want {
			t.Errorf("%+v: %q, not %q", b, got, want)
		}
	}
	if got := cost(&summary.Summary{Uncounted: true, Cost: 3}); got != "?" {
		t.Errorf("%q", got)
	}
}

func TestTheHintOfTheFilterIsNotCutWithinAWord(t *testing.T) {
	for width, want := range map[int]string{10: "words", 24: "words state:running", 40: "words state:running agent:codex -word"} {
		if got := filterHint(width); got != want {
			t.Errorf("at %d it is %q, want %q", width, got, want)
		}
	}
}

func TestAFilterWithAnUnknownStateNamesTheStatesOnTheScreen(t *testing.T) {
	p, _ := openAsIs(t, 80, 24)
	p.Press("/")
	p.Type("state:rnning")
	p.Sees(`"rnning" is not a state; the states are open, running, to-review`)
	p.Sees("no-changes")
	p.Press("esc", "/")
	p.Type("-state:rnning")
	p.Sees(`"rnning" is not a state; the states are open, running, to-review`)
	p.Press("esc", "/")
	p.Type("state:runni")
	p.DoesNotSee("is not a state")
}

func TestTheTaskGetsTheRoomThatOtherColumnsDoNotNeed(t *testing.T) {
	for width, least := range map[int]int{66: 16, 80: 15, 110: 27, 120: 27} {
		short, long := layout{bySession: 11, byRepository: 9}, layout{bySession: 16, byRepository: 40}
		if got := layoutOf(width, &short); got[byTask] < least || got[bySession] != 12 {
			t.Errorf("%d columns: %v", width, got)
		}
		if got := layoutOf(width, &long); got[byTask] < leastTask || got[bySession] < 12 {
			t.Errorf("%d columns, with long names: %v", width, got)
		}
	}
}

func TestAHiddenColumnLeavesTheSessionItsWholeName(t *testing.T) {
	long := layout{bySession: 14, byRepository: 40}
	if got := layoutOf(70, &long); got[byRepository] != 0 || got[bySession] != 15 || got[byTask] < leastTask {
		t.Errorf("%v", got)
	}
}
