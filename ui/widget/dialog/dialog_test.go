package dialog

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

func press(text string) tea.KeyPressMsg {
	r := []rune(text)[0]
	return tea.KeyPressMsg{Code: r, Text: text}
}

func TestKeysWhileTheUserStillTypesAnswerNothing(t *testing.T) {
	begun := time.Unix(1, 0)
	c := Ask(Confirm{Title: "Sure?", Yes: "do it"}, begun)
	at := begun
	for range 20 {
		at = at.Add(Grace - 1)
		if c.Press(press("y"), at) != Open {
			t.Fatalf("a key %v behind the one before is an answer", Grace-1)
		}
	}
	if c.Press(press("y"), at.Add(Grace)) != Taken {
		t.Error("a key after a pause is no answer")
	}
}

func TestAClickGivesAButtonTheFocusAndASecondOneTakesIt(t *testing.T) {
	const width, height = 80, 24
	begun := time.Unix(1, 0)
	screen := strings.TrimSuffix(strings.Repeat(strings.Repeat(".", width)+"\n", height), "\n")
	for _, c := range []struct {
		label string
		want  []Outcome // of each click
	}{{"do it (y)", []Outcome{Open, Taken}}, {"cancel (n)", []Outcome{Left}}} {
		ask := Ask(Confirm{Title: "Sure?", Text: "It is\nfar too late.", Yes: "do it"}, begun)
		for _, want := range c.want {
			rows := strings.Split(ansi.Strip(Over(screen, ask.View(theme.New(true), width, height), width, height)), "\n")
			hits := 0
			for y, row := range rows {
				at := strings.Index(row, c.label)
				if at < 0 {
					continue
				}
				hits++
				msg := tea.MouseClickMsg{Button: tea.MouseLeft, X: ansi.StringWidth(row[:at]) + 2, Y: y}
				key, hit := ask.Click(theme.New(true), width, height, msg)
				if got := ask.Press(key, begun.Add(Grace)); !hit || got != want {
					t.Errorf("a click on %q is %v, %v", c.label, got, hit)
				}
				msg.Button = tea.MouseRight
				if _, hit := ask.Click(theme.New(true), width, height, msg); hit {
					t.Errorf("the right button is taken for %q", c.label)
				}
			}
			if hits != 1 {
				t.Fatalf("%q stands %d times on the screen", c.label, hits)
			}
		}
		if _, hit := ask.Click(theme.New(true), width, height, tea.MouseClickMsg{Button: tea.MouseLeft, X: 1, Y: 1}); hit {
			t.Error("a click beside the question is taken")
		}
	}
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

func TestNothingUnreadableIsShownBesideADialog(t *testing.T) {
	const width, height = 80, 9
	screen := strings.TrimSuffix(strings.Repeat(strings.Repeat("x", width)+"\n", height), "\n")
	for _, c := range []struct {
		box   int
		shown bool
	}{{78, false}, {66, false}, {width - 2*leastBeside + 1, false}, {width - 2*leastBeside, true}, {30, true}, {width, false}} {
		rows := strings.Split(ansi.Strip(Over(screen, strings.Repeat("b", c.box), width, height)), "\n")
		for y, row := range rows {
			if beside := strings.Contains(row, "x"); beside != (c.shown || !strings.Contains(row, "b")) {
				t.Errorf("%d columns, row %d: %q", c.box, y, row)
			}
		}
		if at := strings.Index(rows[4], "b"); at != (width-c.box)/2 {
			t.Errorf("a sandbox of %d columns stands at %d", c.box, at)
		}
	}
}

func TestANameInAQuestionIsNotBrokenAtItsHyphens(t *testing.T) {
	ask := Ask(Confirm{Title: "Sure?", Yes: "do it", Text: "All that has no risks goes to the branch now: aibox/0aaaa-open-code-two"}, time.Unix(1, 0))
	if view := ansi.Strip(ask.View(theme.New(true), 80, 24)); !strings.Contains(view, "aibox/0aaaa-open-code-two") {
		t.Error(view)
	}
}

func TestATextThatIsHigherThanTheScreenIsScrolled(t *testing.T) {
	var hosts []string
	for i := range 20 {
		hosts = append(hosts, fmt.Sprintf("host-%02d.example.com", i))
	}
	for _, height := range []int{11, 12, 24, 25, 26, 60} {
		now := time.Unix(1, 0)
		ask := Ask(Confirm{Title: "Let it talk to these?", Yes: "allow", Text: strings.Join(hosts, "\n") + "\nIt can send them anything."}, now)
		seen, before := map[string]bool{}, ""
		now = now.Add(Grace)
		for range 100 {
			view := ansi.Strip(ask.View(theme.New(true), 80, height))
			if rows := strings.Count(view, "\n") + 1; rows > height || !strings.Contains(view, "allow (y)") {
				t.Fatalf("%d rows of %d:\n%s", rows, height, view)
			}
			for line := range strings.SplitSeq(view, "\n") {
				seen[strings.Trim(line, "│ ")] = true
			}
			if view == before {
				break
			}
			before = view
			ask.Press(tea.KeyPressMsg{Code: tea.KeyDown}, now)
		}
		for _, line := range append(hosts, "It can send them anything.") {
			if !seen[line] {
				t.Errorf("with %d rows, %q is not reached", height, line)
			}
		}
		scrolls := height < 21+7
		if scrolls != strings.Contains(before, "of 21") || scrolls != (len(ask.Keys()[0].Keys) == 6) {
			t.Errorf("with %d rows:\n%s", height, before)
		}
		for range 30 {
			ask.Press(tea.KeyPressMsg{Code: tea.KeyUp}, now)
		}
		if view := ansi.Strip(ask.View(theme.New(true), 80, height)); !strings.Contains(view, hosts[0]) {
			t.Errorf("with %d rows, the beginning is not reached again:\n%s", height, view)
		}
	}
}
