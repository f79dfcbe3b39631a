package changes

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"aibox/internal/amount"
	"aibox/review"
	"aibox/session/feedback"
	"aibox/ui/changes/diff"
	"aibox/ui/page"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/keymap"

	tea "charm.land/bubbletea/v2"
)

func TestACommentAppliesToThePlaceUnderTheCursor(t *testing.T) {
	hunk := review.Hunk{ID: "1", Kind: review.HunkText}
	for name, c := range map[string]struct {
		change review.Change
		at     diff.Row
		want   feedback.Comment
		about  string
	}{
		"a line":          {review.Change{Path: "a"}, diff.Row{Kind: diff.LineRow, Hunk: 0, New: 7}, feedback.Comment{Path: "a", Line: 7}, "line 7 of a"},
		"a deleted line":  {review.Change{Path: "a"}, diff.Row{Kind: diff.LineRow, Hunk: 0, Old: 7}, feedback.Comment{Hunk: "1"}, "a hunk of a"},
		"a heading":       {review.Change{Path: "a"}, diff.Row{Kind: diff.HeadRow, Hunk: 0}, feedback.Comment{Hunk: "1"}, "a hunk of a"},
		"a line in a gap": {review.Change{Path: "a"}, diff.Row{Kind: diff.LineRow, Gap: true, Hunk: 0, New: 9}, feedback.Comment{Path: "a", Line: 9}, "line 9 of a"},
		"hidden lines":    {review.Change{Path: "a"}, diff.Row{Kind: diff.GapRow, Gap: true, Hunk: 0, New: 9}, feedback.Comment{Path: "a"}, "a"},
		"above the hunks": {review.Change{Path: "a\x1b"}, diff.Row{Hunk: -1}, feedback.Comment{Path: "a\x1b"}, `a\x1b`},
		"a deleted file":  {review.Change{Path: "a", Kind: review.Deleted}, diff.Row{Kind: diff.LineRow, Hunk: 0, New: 1}, feedback.Comment{Hunk: "1"}, "a hunk of a"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newCommentDialog(loadedFile(&c.change, hunk), c.at)
			if d.on != c.want || d.about != c.about {
				t.Errorf("%+v about %q", d.on, d.about)
			}
		})
	}
}

func TestACommentIsKeptUnlessItIsEmpty(t *testing.T) {
	d := newCommentDialog(loadedFile(&review.Change{Path: "a"}), diff.Row{Hunk: -1})
	if d.Update(keymap.Press("ctrl+s")) != dialog.Open {
		t.Error("an empty comment is kept")
	}
	typeText(func(msg tea.Msg) { d.Update(msg) }, "why?")
	if d.comment().Text != "why?" || d.Update(keymap.Press("ctrl+s")) != dialog.Taken || d.Update(keymap.Press("esc")) != dialog.Left {
		t.Errorf("%+v", d.comment())
	}
}

func TestACommentThatCannotBeKeptReplacesNoOther(t *testing.T) {
	p, _ := open(t)
	p.Press("c")
	p.Type("first")
	keep := p.m.Update(keymap.Press("ctrl+s"))
	p.Press("c")
	p.Sees("still being kept")
	if p.m.comment != nil {
		t.Error("a second comment is written meanwhile")
	}
	p.Send(commented{from: &commentDialog{on: feedback.Comment{Path: "a"}, about: "a", text: newArea("first")}, err: errors.New("the disk is full")})
	if p.m.comment == nil || p.m.comment.text.Value() != "first" || keep == nil {
		t.Error("the comment is lost")
	}
}

func TestACommentThatCannotBeKeptAndIsLeftIsStillNamed(t *testing.T) {
	p, services := open(t)
	p.goTo("src/big.txt")
	p.Press("down", "c")
	p.Type("why?")
	services.fail = errors.New("the disk is full")
	p.Press("ctrl+s")
	p.Sees("Comment on line 2 of src/big.txt once more")
	p.wait()
	p.Press("esc", "S")
	p.Sees("• on line 2 of src/big.txt")
	p.wait()
	p.Press("esc", "c")
	if got := p.m.comment; got.text.Value() != "why?" || got.again {
		t.Errorf("it opens %q, again %v", got.text.Value(), got.again)
	}
}

func TestTheTextOfACommentThatTheUserLeavesIsShownAgain(t *testing.T) {
	p, _ := open(t)
	p.Press("c", "esc")
	if p.m.comment != nil || p.m.Leaving() != nil {
		t.Fatal("an empty comment is not left")
	}
	p.Press("c")
	p.Type("why?")
	p.Press("esc")
	p.Sees("the comment is not kept yet; c on the same line opens it again")
	if asked := p.m.Leaving(); asked == nil || asked.Text != "You lose the text of 1 comment that you have not kept." {
		t.Errorf("%+v", asked)
	}
	p.Press("down", "c")
	if got := p.m.comment.text.Value(); got != "" {
		t.Errorf("another line has %q", got)
	}
	p.Press("esc", "up", "c")
	if got := p.m.comment.text.Value(); got != "why?" {
		t.Errorf("the text is %q", got)
	}
	p.Press("ctrl+s")
	p.Sees("» why?")
	if p.m.Leaving() != nil {
		t.Error("the comment that was kept would be lost")
	}
}

func TestAnUnfinishedCommentIsNamedBeforeTheReviewEnds(t *testing.T) {
	for _, c := range []struct{ first, key string }{{"", "S"}, {"y", "S"}, {"A", "enter"}, {"x", "enter"}} {
		p, services := open(t)
		p.goTo("src/big.txt")
		p.Press("down", "c")
		p.Type("why?")
		p.Press("esc")
		if c.first != "" {
			p.Press(c.first)
		}
		p.Press(c.key)
		p.Sees("Go on without 1 unfinished comment?")
		p.Sees("• on line 2 of src/big.txt")
		if len(p.Asked) > 0 || len(services.accepts) > 0 || p.m.delivery.asks() {
			t.Errorf("%s goes on: %v", c.key, p.Asked)
		}
		p.wait()
		p.Press("esc", c.key)
		p.wait()
		p.Press("y")
		if p.DoesNotSee("Go on without"); c.key == "S" && len(p.Asked) != 1 || c.first == "A" && !p.m.delivery.asks() || c.first == "x" && p.m.ask == nil {
			t.Errorf("%v, then %s does not go on", c, c.key)
		}
		if len(p.m.unfinished) != 1 {
			t.Error("the text is lost before the review closes")
		}
	}
}

func TestUnfinishedCommentsAreNamedInTheOrderOfTheReview(t *testing.T) {
	p, _ := open(t)
	p.Press("A")
	comment := func() {
		p.Press("c")
		p.Type("why?")
		p.Press("esc")
	}
	p.goTo("src/big.txt")
	p.Press("down", "down")
	for range 9 { // from line 2 to line 9
		p.Press("down")
		comment()
	}
	p.goTo("src/blob.bin")
	comment()
	p.goTo("Makefile")
	comment()
	p.Press("enter")
	var named []string
	for _, line := range strings.Split(p.m.withoutComments(false, 99), "\n") {
		if strings.HasPrefix(line, "•") {
			named = append(named, line)
		}
	}
	at := func(about string) int { return slices.Index(named, "• on "+about) }
	order := []int{at("a hunk of Makefile"), at("a hunk of src/big.txt"), at("line 8 of src/big.txt"), at("line 10 of src/big.txt"), at("a hunk of src/blob.bin")}
	if slices.Contains(order, -1) || !slices.IsSorted(order) {
		t.Errorf("%q", named)
	}
}

func TestTheQuestionAboutUnfinishedCommentsFitsWhenTheTerminalShrinks(t *testing.T) {
	p, _ := open(t)
	p.Press("A")
	p.m.unfinished = map[feedback.Comment]unfinished{}
	for i := range 5 {
		p.m.unfinished[feedback.Comment{Path: "a", Line: i}] = unfinished{about: fmt.Sprintf("line %d of a", i), text: "why?"}
	}
	p.Press("enter")
	p.Sees("• on line 4 of a")
	p.Resize(80, 12)
	p.Sees("cancel (n)")
	p.Fits("the question")
	p.Resize(80, 30)
	p.Sees("• on line 4 of a")
}

func TestTheQuestionAboutUnfinishedCommentsFitsAnyNumberOfThem(t *testing.T) {
	for _, c := range []struct {
		key         string
		n, long     int
		want, never string
	}{
		{"enter", 1, 0, "Its text is lost when the review closes. To keep it,", "The agent"},
		{"S", 1, 0, "The agent does not receive it. Its text is lost", "more"},
		{"enter", 2, 0, "Their texts are lost when the review closes. To keep one,", "The agent"},
		{"S", 20, 0, "The agent does not receive them. Their texts are lost", ""},
		{"S", 20, 0, "and 15 more", "on line 6 "},
		{"S", 20, 80, "end", ""},
		{"S", 20, 4000, "• on line 1 of ", ""},
	} {
		for _, height := range []int{12, 24} {
			p := newUser(t, &recorded{set: worked(t)}, 80, height)
			p.Press("A")
			p.m.unfinished = map[feedback.Comment]unfinished{}
			for i := 1; i <= c.n; i++ {
				about := fmt.Sprintf("line %d of %send", i, strings.Repeat("x", c.long))
				p.m.unfinished[feedback.Comment{Path: "a", Line: i}] = unfinished{about: about, text: "why?"}
			}
			p.Press(c.key)
			p.Sees(fmt.Sprintf("Go on without %s?", amount.Of(c.n, "unfinished comment")))
			p.Sees("cancel (n)")
			p.Fits("the question")
			if text := strings.Join(strings.Fields(p.m.ask.Text), " "); height > 12 && !strings.Contains(text, c.want) || c.never != "" && strings.Contains(text, c.never) {
				t.Errorf("%d comments, %s at %d rows: %q", c.n, c.key, height, text)
			}
		}
	}
}

func TestLeavingWithOnlyACommentSaysNothingAboutDecisions(t *testing.T) {
	p, _ := open(t)
	p.Press("c")
	p.Type("why?")
	p.Press("esc", "q")
	p.wait()
	p.Press("y")
	if closed, ok := p.Asked[0].(page.Close); !ok || closed != (page.Close{}) {
		t.Errorf("%+v", p.Asked)
	}
}
