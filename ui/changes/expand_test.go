package changes

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"aibox/review/reviewtest"
	"aibox/ui/changes/diff"
	"aibox/ui/syntax"
	"aibox/ui/uitest"
	"aibox/ui/widget/keymap"
)

func TestLinesAroundHunksAreShown(t *testing.T) {
	set := worked(t)
	for _, size := range uitest.Sizes {
		p := newUser(t, &recorded{set: set}, size[0], size[1])
		p.goTo("src/big.txt")
		p.Press("]", "e")
		p.Show("ten lines on either side of a hunk")
		for range diff.ExpandStep + 1 {
			p.Press("up")
		}
		p.Show("a gap")
		p.Press("E")
		p.Show("all of a gap")
		p.Press("|")
		p.Show("in the other layout")
		p.Golden("around-")
	}
}

func TestAGapIsExpandedAndCollapsedByKeysAndByMouse(t *testing.T) {
	p, _ := open(t)
	p.goTo("src/big.txt")
	before := p.View()
	p.Sees("⋯ 1 line")
	p.Sees("⋯ 25 lines")
	p.Sees("⋯ 17 lines")
	p.Press("e")
	p.Sees("  1  line 1\n")
	p.Sees(" 21  line 21")
	p.DoesNotSee("line 22\n")
	p.Sees("⋯ 15 lines")
	p.ClickOn("⋯ 15 lines")
	p.Sees(" 30  line 30") // ten lines at its start, and the remaining ones at its end
	p.DoesNotSee("⋯ 15 lines")
	if p.m.diff.Hunk() >= 0 {
		t.Error("a line between hunks counts as one of a hunk")
	}
	p.Press("z")
	p.Sees("⋯ 25 lines")
	p.Press("[")
	if p.m.diff.Hunk() != 0 {
		t.Errorf("the hunk before the gap behind hunk 0 is %d", p.m.diff.Hunk())
	}
	p.Press("E", "E")
	if after := p.View(); after != before {
		t.Errorf("%s\nwas\n%s", after, before)
	}
	p.ClickOn("⋯ 17 lines")
	p.Sees("⋯ 7 lines · e shows more, E all")
	p.Sees(" 53  line 53")
	p.DoesNotSee("line 54\n")
	p.Press("e", "e")
	p.Sees("no line is hidden here")
	p.Press("end")
	p.Sees(" 60  line 60")
}

func TestALineBetweenHunksCanBeSearchedAndCommentedButNotDecided(t *testing.T) {
	p, services := open(t)
	p.goTo("src/big.txt")
	before := p.m.draft.Tally()
	p.ClickOn("⋯ 25 lines")
	p.ClickOn("line 16")
	for _, key := range []string{"y", "x", "backspace", "s"} {
		p.Press(key)
		if p.m.draft.Tally() != before || len(p.m.positions) > 0 || p.m.draft.Steps() > 0 {
			t.Fatalf("%s on a line of no hunk decides something", key)
		}
	}
	p.Press("c")
	p.Sees("Comment on line 16 of src/big.txt")
	p.Press("h", "m", "ctrl+s")
	p.Sees("» hm")
	if got := services.comments[0]; got.Line != 16 || got.Hunk != "" {
		t.Errorf("%+v", got)
	}
	for _, where := range []string{"this file", "all files"} {
		p.Press("/", "tab")
		p.Type("line 2")
		p.Press("enter") // 2, 20, 21 and 27 to 29; 22 to 26 are hidden
		if n := len(p.m.search.hits); n != 6 {
			t.Errorf("%d hits in %s: %+v", n, where, p.m.search.hits)
		}
		for range p.m.search.hits {
			p.Press("n")
			if at, want := p.m.diff.Current(), p.m.search.hits[p.m.search.at].line; int(at.New) != want {
				t.Errorf("the hit in line %d is at %+v", want, at)
			}
		}
		p.Press("esc")
	}
}

func TestExpandedLinesAreHighlightedInTheirContext(t *testing.T) {
	var old strings.Builder
	for i := range 30 {
		fmt.Fprintf(&old, "word%d\n", i)
	}
	text := "/*\n" + old.String() + "*/\n"
	set := reviewtest.ChangeSet(t, map[string]string{"a.go": text}, map[string]string{"a.go": strings.Replace(text, "word15\n", "return\n", 1)})
	p := newUser(t, &recorded{set: set}, 120, 60)
	comment := p.m.diff.Styles.Context.Classes[syntax.Comment]
	if strings.Contains(p.m.View(), comment.Render("word14")) {
		t.Error("nothing says yet that it is a comment")
	}
	p.Press("E")
	for _, word := range []string{"word0", "word14", "word16"} {
		if !strings.Contains(p.m.View(), comment.Render(word)) {
			t.Errorf("%s is not colored as the comment it stands in", word)
		}
	}
	p.Press("E")
	if strings.Contains(p.m.View(), comment.Render("word14")) {
		t.Error("it is colored by lines that are not shown")
	}
}

func TestOnlyChangedTextHasGaps(t *testing.T) {
	set := reviewtest.ChangeSet(t, map[string]string{"gone": strings.Repeat("x\n", 50), "blob": "\x00\x01", "small": "1\n2\n"},
		map[string]string{"fresh": strings.Repeat("x\n", 50), "blob": "\x00\x02", "small": "1\n3\n"})
	p := newUser(t, &recorded{set: set}, 80, 40)
	for range p.m.diff.Files {
		p.DoesNotSee("⋯")
		p.Press("e", "E")
		p.Sees("no line is hidden here")
		p.Press("tab")
	}
}

func TestExpandedLinesAreLimited(t *testing.T) {
	large, small := strings.Repeat("\n", diff.MaxExpanded/40), strings.Repeat("\n", 100)
	p := newUser(t, &recorded{set: reviewtest.ChangeSet(t, map[string]string{"a": large + "old\n", "b": small + "old\n", "c": small + "old\n"},
		map[string]string{"a": large + "new\n", "b": small + "new\n", "c": small + "new\n"})}, 80, 24)
	a := p.m.diff.File()
	for range 2 {
		p.Press("E")
		p.Sees("no more of this file can be shown")
		if a.ExpandedBytes > diff.MaxExpanded || a.ExpandedBytes < diff.MaxExpanded-diff.ExpandStep*48 {
			t.Fatalf("%d bytes are shown", a.ExpandedBytes)
		}
	}
	for range 2 {
		p.Press("tab", "E")
		for _, f := range p.m.diff.Files {
			if (f.ExpandedBytes > 0) != (f == p.m.diff.File()) {
				t.Errorf("%d bytes of %s are held at %s", f.ExpandedBytes, f.Change.Path, p.m.diff.File().Change.Path)
			}
		}
	}
}

func TestUnloadingAFileCollapsesItsGaps(t *testing.T) {
	p, _ := open(t)
	p.goTo("src/big.txt")
	before := p.View()
	f := p.m.diff.File()
	late := p.m.Update(keymap.Press("E"))
	if again := p.m.Update(keymap.Press("E")); again != nil {
		t.Error("it is read twice at the same time")
	}
	p.Run(late)
	decided := p.m.draft.Choice()
	p.Press("tab")
	p.m.loader.Unload(p.m.draft.Find("src/big.txt"))
	if f.ExpandedBytes != 0 || f.Lines() != 0 {
		t.Errorf("%d lines and %d bytes are held", f.Lines(), f.ExpandedBytes)
	}
	p.Press("shift+tab")
	if p.View() != before || !reflect.DeepEqual(p.m.draft.Choice(), decided) {
		t.Errorf("%s\nwas\n%s", p.View(), before)
	}
	late = p.m.Update(keymap.Press("E"))
	p.Press("tab")
	p.m.loader.Unload(p.m.draft.Find("src/big.txt"))
	f.Layout = diff.Layout{}
	p.m.diff.At-- // as while it is read again
	p.Run(late)
	if f.ExpandedBytes != 0 {
		t.Errorf("%d bytes are shown of a file that is not held", f.ExpandedBytes)
	}
}

func TestLinesThatArriveWhileAnotherFileIsShownAreKept(t *testing.T) {
	lines := strings.Repeat("var x = 1\n", 300)
	p := newUser(t, &recorded{set: reviewtest.ChangeSet(t, map[string]string{"a.go": lines + "old\n", "b": "b\n"}, map[string]string{"a.go": lines + "new\n", "b": "c\n"})}, 80, 60)
	p.Press("e")
	for range 2 {
		late := p.m.Update(keymap.Press("e"))
		p.Press("tab") // to a file without colors
		p.View()
		p.Run(late)
		p.Press("shift+tab")
		p.Fits("come back")
	}
	p.Sees("⋯ 267 lines")
	p.Press("u")
	p.Sees("⋯ 267 lines")
}

func TestUndoReturnsToTheLineAndNotToItsRow(t *testing.T) {
	p, _ := open(t)
	p.goTo("src/big.txt")
	p.Press("]", "down", "x")
	p.goTo("src/big.txt")
	p.Press("e", "E", "]", "E", "u")
	if here := p.m.diff.Current(); here.Hunk != 1 || here.New != 37 {
		t.Errorf("%+v", here)
	}
}

func TestNoSingleLineIsLeftHidden(t *testing.T) {
	for hidden, left := range map[int]string{diff.ExpandStep - 1: "", diff.ExpandStep: "", diff.ExpandStep + 1: "", diff.ExpandStep + 2: "⋯ 2 lines"} {
		lines := strings.Repeat("line\n", hidden+3)
		set := reviewtest.ChangeSet(t, map[string]string{"a": lines + "old\n" + lines}, map[string]string{"a": lines + "new\n" + lines})
		p := newUser(t, &recorded{set: set}, 100, 60)
		p.Sees("⋯ " + fmt.Sprint(hidden) + " lines")
		p.Press("e")
		if left == "" {
			p.DoesNotSee("⋯")
		} else {
			p.Sees(left)
		}
	}
}

func TestASearchIncludesLinesThatAreShownLater(t *testing.T) {
	p, _ := open(t)
	p.goTo("src/big.txt")
	p.Press("/", "tab")
	p.Type("line 2")
	p.Press("enter")
	few := len(p.m.search.hits)
	p.Press("n")
	at := p.m.search.hit()
	p.Press("E")
	many := len(p.m.search.hits)
	if many <= few || p.m.search.hit() != at {
		t.Errorf("%d hits, and %d with more lines; at %+v, not %+v", few, many, p.m.search.hit(), at)
	}
	p.Press("E")
	if n := len(p.m.search.hits); n != few {
		t.Errorf("%d hits after lines were hidden again", n)
	}
}

func TestAHitBeyondTheEdgeOfACutLineIsShown(t *testing.T) {
	long := strings.Repeat("far ", 60)
	set := reviewtest.ChangeSet(t, map[string]string{"a": "one\n"}, map[string]string{"a": "one\n" + long + "needle " + long + "\nneedle\n"})
	p := newUser(t, &recorded{set: set}, 120, 40)
	p.Press("W", "/")
	p.Type("needle")
	p.Press("enter")
	p.Sees("needle fa…")
	p.Press("n")
	p.Sees("+needle")
}

func TestAHitOnALineThatIsHiddenAgainIsNoError(t *testing.T) {
	for name, hide := range map[string]func(*user){
		"only changed lines": func(p *user) { p.Press("o") },
		"dropped from memory": func(p *user) {
			p.m.loader.Unload(p.m.diff.At)
			p.Run(p.m.load())
		},
	} {
		p, _ := open(t)
		p.goTo("src/big.txt")
		p.Press("W", "E", "/", "tab")
		p.Type("line 12")
		p.Press("enter")
		p.Sees("line 12: 1 of 1")
		hide(p)
		p.Press("n")
		p.Fits(name)
		if at := p.m.diff.Current(); name == "only changed lines" && at.New != 12 {
			t.Errorf("%s: it goes to %+v", name, at)
		}
	}
}

func TestASearchOfOneFileStaysInItWhenLinesOfAnotherAreShown(t *testing.T) {
	lines := strings.Repeat("line\n", 30)
	set := reviewtest.ChangeSet(t, map[string]string{"a": lines + "old\n", "b": lines + "old\n"}, map[string]string{"a": lines + "new line\n", "b": lines + "new\n"})
	p := newUser(t, &recorded{set: set}, 100, 40)
	p.Press("E", "/", "tab")
	p.Type("new line")
	p.Press("enter")
	p.Sees("new line: 1 of 1 in this file")
	for _, keys := range [][]string{{"tab", "e"}, {"E"}, {"z"}, {"E"}} {
		p.Press(keys...)
		p.Sees("new line: 1 of 1 in a")
	}
	p.Press("/")
	p.Sees("search this file: ")
	p.Press("esc", "shift+tab")
	p.Sees("new line: 1 of 1 in this file")
	late := p.m.Update(keymap.Press("e"))
	p.Press("tab")
	p.Run(late)
	p.Sees("new line: 1 of 1 in a")
	p.Press("n")
	if path := p.m.diff.File().Change.Path; path != "a" {
		t.Errorf("the hit is in %s", path)
	}
}

func TestASearchOfAFileThatIsNoLongerShownNamesIt(t *testing.T) {
	set := reviewtest.ChangeSet(t, map[string]string{"a": "old\n", "b": "old\n"}, map[string]string{"a": "new\n", "b": "new\n"})
	p := newUser(t, &recorded{set: set}, 100, 40)
	p.Press("/", "tab")
	p.Type("nothing")
	hits := p.m.Update(keymap.Press("enter"))
	p.Press("tab")
	p.Sees("searching a…")
	p.Run(hits)
	p.Sees("no match for nothing in a")
}

func TestARepeatedSearchCountsNoLinesOfItsFileThatWereHidden(t *testing.T) {
	lines := strings.Repeat("line\n", 30)
	set := reviewtest.ChangeSet(t, map[string]string{"a": "top\n" + lines + "old\n", "b": lines + "old\n"}, map[string]string{"a": "top\n" + lines + "new\n", "b": lines + "new\n"})
	p := newUser(t, &recorded{set: set}, 100, 40)
	p.Press("E", "/", "tab")
	p.Type("top")
	p.Press("enter")
	p.Sees("top: 1 of 1 in this file")
	p.Press("tab", "e") // hides the lines of the first file
	p.Sees("no line with top is shown anymore")
	p.Press("n")
}
