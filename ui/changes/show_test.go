package changes

import (
	"os"
	"slices"
	"strings"
	"testing"

	"aibox/review"
	"aibox/review/decision"
	"aibox/review/reviewtest"
	"aibox/ui/changes/diff"
	"aibox/ui/syntax"
	"aibox/ui/uitest"
	"aibox/ui/widget/theme"
)

func TestAFolderIsFoldedByKeyAndByMouse(t *testing.T) {
	p, _ := open(t)
	p.Press("t", "end", "left", "left")
	p.DoesNotSee("blob.bin")
	p.Sees("src/ … 3 files")
	p.Press("space")
	p.Sees("blob.bin")
	p.Press("esc")
	p.goTo("README.md")
	p.ClickOn("src/")
	p.DoesNotSee("blob.bin")
	p.ClickOn("README.md")
	p.Sees("README.md  deleted")
	p.Press("tab") // into the folder, which shows it
	p.Sees("M big.txt")
	p.ClickOn("line 39")
	if h := p.m.diff.Hunk(); h != 1 {
		t.Errorf("the click went to hunk %d", h)
	}
}

func TestOldAndNewAreSideBySideOnAWideScreen(t *testing.T) {
	p, _ := open(t)
	p.goTo("src/big.txt")
	p.DoesNotSee("│ 40 +line forty")
	p.Press("|")
	p.Sees("│ 40 +line forty")
	p.Fits("side by side")
	p.Resize(100, 30)
	p.DoesNotSee("│ 40 +line forty")
	p.Press("|") // does not count here
	p.Resize(120, 40)
	p.Sees("│ 40 +line forty")
	p.Press("y")
	if p.m.diff.Files[2].Of(p.m.diff.Files[2].Hunks()[0].ID) != decision.Accepted {
		t.Error("the hunk is not taken")
	}
}

func TestChangesOfWhitespaceCanBeIgnored(t *testing.T) {
	set := reviewtest.ChangeSet(t, map[string]string{"a.go": "if x {\ny()\n}\nz()\n"}, map[string]string{"a.go": "if x {\n\ty()\n}\n\nz(1)\n"})
	for _, width := range []int{100, 200} {
		p := newUser(t, &recorded{set: set}, width, 30)
		p.Sees("+→   y()")
		p.Press("w")
		p.DoesNotSee("+→   y()")
		p.DoesNotSee("-y()")
		p.Sees("     y()")
		p.Sees("+z(1)")
		p.Sees("whitespace ignored: 2 lines")
		p.Press("y", "enter")
		p.accept()
	}
}

func TestUnchangedLinesAndHunksCanBeHidden(t *testing.T) {
	p, _ := open(t)
	p.goTo("src/big.txt")
	p.Press("o")
	p.DoesNotSee("line 38")
	p.Sees("⋯ 3 lines unchanged")
	p.Press("o", "z")
	p.Sees("⋯ 12 lines folded")
	p.Sees("line 38")
	p.Press("Z")
	p.Sees("LINE five")
	p.Press("Z")
	p.DoesNotSee("line 38")
}

func TestTheDeletionOfALongFileIsFolded(t *testing.T) {
	set := reviewtest.ChangeSet(t, map[string]string{"a": strings.Repeat("line\n", diff.LongDeletion+1), "b": "b\n"}, map[string]string{"b": "c\n"})
	p := newUser(t, &recorded{set: set}, 80, 24)
	p.Sees("⋯ 201 lines folded; z shows them")
	p.Press("z")
	p.Sees("-line")
	p.Press("tab", "shift+tab")
	p.Sees("-line")
}

func TestASearchCoversOneFileOrAllFiles(t *testing.T) {
	p, _ := open(t)
	p.goTo("src/big.txt")
	at := p.m.diff.At
	p.Press("/", "tab")
	p.Type("LINE f")
	p.Press("enter")
	p.Sees("LINE f: 1 of 1 in this file") // a capital: as it stands
	if p.m.search.hits[0] != (hit{"src/big.txt", 5, false}) {
		t.Errorf("%+v", p.m.search.hits)
	}
	p.Press("/", "end", "backspace", "backspace", "backspace", "backspace", "backspace", "backspace", "tab")
	p.Type("evil")
	p.Press("enter")
	p.Sees("evil: 2 of 3 in all files (1 file name)")
	if p.m.diff.At == at {
		t.Error("the hit is in another file")
	}
	p.Press("n", "n")
	p.Sees("evil: 1 of 3")
	if path := p.m.diff.File().Change.Path; path != "Makefile" {
		t.Errorf("the first hit is in %s", path)
	}
	p.Press("N", "N", "n")
	p.Sees("evil: 3 of 3")
	if p.m.draft.Tally().Rejected > 0 {
		t.Error("looking for the next one rejected something")
	}
	if keys := p.m.bound().reject.Keys(); slices.Contains(keys, "n") {
		t.Errorf("the help says that %v reject", keys)
	}
	p.Press("esc", "n")
	if p.m.draft.Tally().Rejected != 1 || len(p.Asked) > 0 {
		t.Errorf("%+v, %v", p.m.draft.Tally(), p.Asked)
	}
	p.Press("/", "tab")
	p.Type("nothing says this")
	p.Press("enter")
	p.Sees("no match for nothing says this in this file")
}

func TestASearchOfAllFilesMatchesTheirNames(t *testing.T) {
	set := reviewtest.ChangeSet(t, map[string]string{"b.txt": "x\n", "login.go": "a\n", "z.txt": "login\n"}, map[string]string{"b.txt": "y\n", "login.go": "b\n", "z.txt": "the login\n"})
	p := newUser(t, &recorded{set: set}, 120, 40)
	p.Press("/")
	p.Type("login")
	p.Press("enter")
	p.Sees("login: 1 of 3 in all files (1 file name)")
	if path := p.m.diff.File().Change.Path; path != "login.go" || p.m.diff.Row != 0 {
		t.Errorf("it goes to row %d of %s", p.m.diff.Row, path)
	}
	if !strings.Contains(p.m.View(), p.m.diff.Styles.Hit.Render("login")) {
		t.Error("the match in the title is not marked")
	}
	p.Press("n")
	p.Sees("login: 2 of 3")
	if path := p.m.diff.File().Change.Path; path != "z.txt" {
		t.Errorf("the next hit is in %s", path)
	}
	p.Press("N", "N", "n")
	p.Sees("login: 1 of 3")
	p.Press("/", "tab") // this file only: no names
	p.Press("enter")
	p.Sees("no match for login in this file")
	p.Press("/", "tab")
	p.Type("b.txt") // a name alone
	p.Press("enter")
	p.Sees("b.txt: 1 of 1 in all files (1 file name)")
	if path := p.m.diff.File().Change.Path; path != "b.txt" {
		t.Errorf("the hit is in %s", path)
	}
}

func TestHighlightingChangesNoText(t *testing.T) {
	set := reviewtest.ChangeSet(t, map[string]string{"a.go": "package a\n\nvar x = 1\n"}, map[string]string{"a.go": "package a\n\nfunc f() string { return \"x\" } // f\n"})
	p := newUser(t, &recorded{set: set}, 120, 40)
	colored, text := p.m.View(), p.View()
	for _, want := range []string{"package", "func", "return"} {
		context, added := p.m.diff.Styles.Context.Classes[syntax.Keyword], p.m.diff.Styles.Added.Classes[syntax.Keyword]
		if !strings.Contains(colored, context.Render(want)) && !strings.Contains(colored, added.Render(want)) {
			t.Errorf("%s is not colored as a keyword", want)
		}
	}
	p.m.diff.File().Language = nil
	if p.View() != text || p.m.View() == colored {
		t.Error("colors change the text, or do nothing")
	}
}

func TestDifferencesWithinALineAreMarked(t *testing.T) {
	set := reviewtest.ChangeSet(t, map[string]string{"a": "one two three\n"}, map[string]string{"a": "one 2 three\n"})
	for _, width := range []int{100, 200} {
		p := newUser(t, &recorded{set: set}, width, 30)
		view := p.m.View()
		if !strings.Contains(view, p.m.diff.Styles.Deleted.Differs.Render("two")) || !strings.Contains(view, p.m.diff.Styles.Added.Differs.Render("2")) {
			t.Errorf("%q", view)
		}
	}
}

func TestEveryChangedWordOfALineIsMarked(t *testing.T) {
	set := reviewtest.ChangeSet(t, map[string]string{"a": "one two three four\nx\nkeep this line\n"}, map[string]string{"a": "one 2 three 4\nx\n// why\nkeep that line\n"})
	for _, width := range []int{100, 200} {
		p := newUser(t, &recorded{set: set}, width, 30)
		view, k := p.m.View(), &p.m.diff.Styles
		for _, want := range []string{k.Deleted.Differs.Render("two"), k.Deleted.Differs.Render("four"), k.Added.Differs.Render("2"), k.Added.Differs.Render("4")} {
			if !strings.Contains(view, want) {
				t.Errorf("%d columns: %q is not marked", width, want)
			}
		}
		if width == 100 && !strings.Contains(view, k.Added.Differs.Render("that")) { // beside an added line
			t.Error("a word is not marked among added lines")
		}
	}
}

func TestChangesOfOnlyWhitespaceAreVisible(t *testing.T) {
	set := reviewtest.ChangeSet(t, map[string]string{"a.txt": "\tone\ntwo\nthree\r\nfour  five\nsix"}, map[string]string{"a.txt": "    one\ntwo \t\nthree\nfour five\nsix\n"})
	for _, width := range []int{100, 200} {
		p := newUser(t, &recorded{set: set}, width, 30)
		for _, want := range []string{"-→   one", "+····one", "+two·→", `-three\r`, "-four··five", "+four·five", "-six ⏎ no newline at end"} {
			p.Sees(want)
		}
		p.Press("w")
		p.DoesNotSee("→")
		p.DoesNotSee("····")
	}
}

func TestChangedLinesAreTintedWhereTheTerminalHasTheColors(t *testing.T) {
	set := reviewtest.ChangeSet(t, map[string]string{"a": "one\n"}, map[string]string{"a": "two\n"})
	for name, of := range map[string]theme.Theme{"dark": theme.New(true), "light": theme.New(false)} {
		p := newUser(t, &recorded{set: set}, 100, 30)
		p.m.SetTheme(of)
		for _, want := range []string{of.AddedLine.Render("two"), of.DeletedLine.Render("one")} {
			if !strings.Contains(p.m.View(), want) {
				t.Errorf("%s: %q is not shown:\n%q", name, want, p.m.View())
			}
		}
	}
	p := newUser(t, &recorded{set: set}, 100, 30)
	p.m.SetTheme(theme.Basic(true))
	p.Sees("-one")
	p.Sees("+two")
	if strings.Contains(p.m.View(), "\x1b[48;") {
		t.Error("a terminal with 16 colors gets a background")
	}
}

func TestASearchStartsAtTheCursor(t *testing.T) {
	for _, c := range []struct {
		down int // from the head of the second hunk
		text string
		hit  hit
	}{
		{0, "line", hit{"src/big.txt", 37, false}},
		{0, "line 4", hit{"src/big.txt", 40, true}},
		{4, "line 4", hit{"src/big.txt", 40, true}},
		{5, "line 4", hit{"src/big.txt", 41, false}},
		{5, "line f", hit{"src/big.txt", 40, false}},
		{6, "line f", hit{"src/big.txt", 5, false}}, // from the end to the beginning
	} {
		p, _ := open(t)
		p.goTo("src/big.txt")
		p.Press("]")
		for range c.down {
			p.Press("down")
		}
		p.Press("/", "tab")
		p.Type(c.text)
		p.Press("enter")
		if got := p.m.search.hits[p.m.search.at]; got != c.hit {
			t.Errorf("%+v: %+v", c, got)
		}
		if at := p.m.diff.Current(); c.hit.old && int(at.Old) != c.hit.line || !c.hit.old && int(at.New) != c.hit.line {
			t.Errorf("%+v: %+v", c, at)
		}
	}
}

func TestTheMarksOfASearchGoWithIt(t *testing.T) {
	p, _ := open(t)
	p.goTo("src/big.txt")
	marked := func() bool { return strings.Contains(p.m.View(), p.m.diff.Styles.Hit.Render("five")) }
	for _, end := range [][]string{{"esc"}, {"/", "end", "backspace", "backspace", "backspace", "backspace", "enter"}} {
		p.Press("/")
		p.Type("five")
		p.Press("enter")
		if !marked() {
			t.Fatal("the hit is not marked")
		}
		if p.Press(end...); marked() {
			t.Errorf("%v leaves the marks of the search", end)
		}
	}
}

func TestFilesInGitLFSAreShownBySizeAndWithoutTheirPointer(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{".gitattributes": "*.csv filter=lfs -text\n"}).UseLFS()
	b.Commit(map[string]string{"a.csv": "1,2\n"}).Prepare()
	b.Write("a.csv", "1,2\n3,4\n")
	p := newUser(t, &recorded{set: b.Compute()}, 120, 40)
	p.Sees("Git LFS: 4 B → 8 B, ")
	p.Sees("+3,4")
	p.DoesNotSee("git-lfs.github.com")
	p.Press("s", "y", "enter")
	p.accept()
}

func TestNewExecutablesAndLinksAreShownLikeOtherFiles(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"run.sh": "#!/bin/sh\n"})
	reviewtest.Must(t, os.Symlink("old", b.InRepo("link")))
	b.Commit(nil).Prepare()
	b.Write("tool.sh", "#!/bin/sh\necho hello\n")
	for _, name := range []string{"tool.sh", "run.sh"} {
		reviewtest.Must(t, os.Chmod(b.Path(name), 0o755))
	}
	reviewtest.Must(t, os.Remove(b.Path("link")))
	reviewtest.Must(t, os.Symlink("new", b.Path("link")))
	for _, size := range uitest.Sizes {
		p := newUser(t, &recorded{set: b.Compute()}, size[0], size[1])
		for path, want := range map[review.Path][]string{
			"tool.sh": {"tool.sh  added, executable", "new executable file", "+echo hello"},
			"run.sh":  {"run.sh  now executable", "[ ] now executable"},
			"link":    {"link  modified symbolic link", "symbolic link to old → new", "+new"},
		} {
			p.goTo(path)
			for _, text := range want {
				p.Sees(text)
			}
			p.DoesNotSee("no newline")
		}
	}
}

func TestOnlyThePaneWithTheFocusHasTheCursor(t *testing.T) {
	p, _ := open(t)
	for _, where := range []string{"the diff", "the files", "the diff again"} {
		if n := strings.Count(p.View(), "▸"); n != 1 {
			t.Errorf("in %s there are %d cursors:\n%s", where, n, p.View())
		}
		p.Press("t")
	}
}
