package changes

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/review"
	"aibox/session"
	"aibox/ui/page"
	"aibox/ui/syntax"
)

// goTo brings the person to a file.
func (p *person) goTo(path review.Path) {
	p.T.Helper()
	for range p.m.files {
		if p.m.file().change.Path == path {
			return
		}
		p.Press("tab")
	}
	p.T.Fatalf("there is no %s", path)
}

func TestAFolderIsFoldedByKeyAndByMouse(t *testing.T) {
	p := newPerson(t, &recorded{set: worked(t)}, 120, 40)
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
	if h := p.m.hunkAt(); h != 1 {
		t.Errorf("the click went to hunk %d", h)
	}
}

func TestAFolderIsDecidedAtOnceAndUndoneAtOnce(t *testing.T) {
	p := newPerson(t, &recorded{set: worked(t)}, 120, 40)
	p.Press("t", "end", "up", "up", "up", "Y")
	p.Sees("3 files taken")
	if got := p.m.tally; got.taken != 3 || got.open != 2 {
		t.Errorf("%+v", got)
	}
	p.Press("u")
	if got := p.m.tally; got.taken != 0 || got.open != 5 {
		t.Errorf("%+v", got)
	}
}

func TestOldAndNewStandSideBySideWhereThereIsRoom(t *testing.T) {
	p := newPerson(t, &recorded{set: worked(t)}, 120, 40)
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
	if p.m.files[2].of(p.m.files[2].hunks[0].ID) != taken {
		t.Error("the hunk is not taken")
	}
}

func TestChangesOfBlanksNeedNotBeSeen(t *testing.T) {
	set := changed(t, map[string]string{"a.go": "if x {\ny()\n}\nz()\n"}, map[string]string{"a.go": "if x {\n\ty()\n}\n\nz(1)\n"})
	for _, width := range []int{100, 200} {
		p := newPerson(t, &recorded{set: set}, width, 30)
		p.Sees("+    y()")
		p.Press("w")
		p.DoesNotSee("+    y()")
		p.DoesNotSee("-y()")
		p.Sees("     y()")
		p.Sees("+z(1)")
		p.Sees("blanks do not count: 2 lines")
		p.Press("y", "enter")
		p.wait()
		p.Press("ctrl+s")
	}
}

func TestChangedLinesCanBeSeenAloneAndHunksFolded(t *testing.T) {
	p := newPerson(t, &recorded{set: worked(t)}, 120, 40)
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

func TestALongFileThatGoesIsFolded(t *testing.T) {
	set := changed(t, map[string]string{"a": strings.Repeat("line\n", longDeletion+1), "b": "b\n"}, map[string]string{"b": "c\n"})
	p := newPerson(t, &recorded{set: set}, 80, 24)
	p.Sees("⋯ 201 lines folded; z shows them")
	p.Press("z")
	p.Sees("-line")
	p.Press("tab", "shift+tab")
	p.Sees("-line")
}

func TestASearchGoesThroughAFileOrAllOfThem(t *testing.T) {
	p := newPerson(t, &recorded{set: worked(t)}, 120, 40)
	p.goTo("src/big.txt")
	at := p.m.at
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
	p.Sees("evil: 2 of 2 in all files")
	if p.m.at == at {
		t.Error("the hit is in another file")
	}
	p.Press("n")
	p.Sees("evil: 1 of 2")
	if path := p.m.file().change.Path; path != "Makefile" {
		t.Errorf("the first hit is in %s", path)
	}
	p.Press("N", "N", "n")
	p.Sees("evil: 2 of 2")
	if p.m.tally.rejected > 0 {
		t.Error("looking for the next one rejected something")
	}
	if keys := p.m.bound().reject.Keys(); slices.Contains(keys, "n") {
		t.Errorf("the help says that %v reject", keys)
	}
	p.Press("esc", "n")
	if p.m.tally.rejected != 1 || len(p.Asked) > 0 {
		t.Errorf("%+v, %v", p.m.tally, p.Asked)
	}
	p.Press("/", "tab")
	p.Type("nothing says this")
	p.Press("enter")
	p.Sees("nothing says nothing says this in this file")
}

func TestTheRestIsRejectedAndAllIsForgottenByOneKeyEach(t *testing.T) {
	services := &recorded{set: worked(t)}
	p := newPerson(t, services, 120, 40)
	p.goTo("src/blob.bin")
	p.Press("y", "R")
	if got := p.m.tally; got.taken != 1 || got.rejected != 4 {
		t.Errorf("%+v", got)
	}
	p.Press("F")
	if got := p.m.tally; got.open != 5 {
		t.Errorf("%+v", got)
	}
	p.Press("u", "enter")
	p.wait()
	p.Press("ctrl+s")
	if got := services.accepts[0].Choice; !slices.Equal(got.Files, []string{"src/blob.bin"}) || len(got.Hunks) > 0 {
		t.Errorf("%+v", got)
	}
	// Of README.md, Makefile and evil.txt one hunk each, of big.txt two: all of them were
	// rejected, most without a look.
	if len(services.rejected) != 5 {
		t.Errorf("%d hunks are rejected", len(services.rejected))
	}
}

func TestWhatIsOnlyRejectedIsKeptForTheAgent(t *testing.T) {
	services := &recorded{set: worked(t)}
	p := newPerson(t, services, 120, 40)
	p.Press("x", "enter")
	p.Sees("Keep what you rejected?")
	p.wait()
	p.Press("y")
	if len(services.rejected) != 1 || len(services.accepts) > 0 || len(p.Asked) != 1 {
		t.Errorf("rejected %v, asked for %v", services.rejected, p.Asked)
	}
}

func TestARejectionOfAnotherDayCountsBeforeTheFileIsLookedAt(t *testing.T) {
	set := worked(t)
	var hunk review.Hunk
	if err := set.Files(t.Context(), func(d review.FileDiff) error { hunk = d.Hunks[0].Split()[1]; return nil }, "src/big.txt"); err != nil {
		t.Fatal(err)
	}
	services := &recorded{set: set, earlier: []session.Rejection{{Hunk: hunk.ID, Path: "src/big.txt"}, {Hunk: "gone", Path: "gone"}}}
	p := newPerson(t, services, 120, 40)
	p.goTo("src/blob.bin")
	p.Press("A", "enter")
	p.wait()
	p.Press("ctrl+s")
	got := services.accepts[0].Choice
	if slices.Contains(got.Files, "src/big.txt") || slices.Contains(got.Hunks, string(hunk.ID)) {
		t.Errorf("%+v takes %s", got, hunk.ID)
	}
	p.goTo("src/big.txt")
	p.Sees("[✗ rejected]")
}

func TestDecisionsAreNotLostByOneKey(t *testing.T) {
	p := newPerson(t, &recorded{set: worked(t)}, 120, 40)
	p.Press("tab", "y", "esc", "y", "q")
	p.Sees("Leave the review?")
	p.wait()
	p.Press("enter") // stays
	if len(p.Asked) > 0 {
		t.Fatalf("%v", p.Asked)
	}
	p.Press("q")
	p.wait()
	p.Press("y")
	if len(p.Asked) != 1 || p.Asked[0] != (page.Close{}) {
		t.Errorf("%v", p.Asked)
	}
	q := newPerson(t, &recorded{set: worked(t)}, 120, 40)
	if q.Press("q"); len(q.Asked) != 1 {
		t.Error("nothing was decided, and it asks")
	}
}

func TestAVerificationIsWatchedAndCountsForTheTreeItRanOn(t *testing.T) {
	set := worked(t)
	var asked []session.VerifyRequest
	services := &recorded{set: set, verify: func(req session.VerifyRequest) (session.Verification, error) {
		asked = append(asked, req)
		for _, text := range []string{"one\n\x1b[31mtw", "o\x1b]52;c;x\x07\nthree"} {
			if err := req.Show(session.Chunk{Data: []byte(text)}); err != nil {
				return session.Verification{}, err
			}
		}
		if req.Tree == "" {
			return session.Verification{Tree: set.Tree, Command: req.Command, Seconds: 2}, nil
		}
		return session.Verification{Tree: req.Tree, Command: req.Command, ExitCode: 2, Fault: &session.Failure{Message: "it ended with exit code 2"}}, nil
	}}
	p := newPerson(t, services, 120, 40)
	p.Press("v")
	p.Sees("On a copy of all of the work")
	p.Type(" -k")
	p.Press("enter")
	p.Sees("Verify all of the work: make test -k")
	p.Sees("passed in 2.0s")
	p.Sees("\ntwo")
	p.Press("esc")
	p.Sees("✓ verified: make test -k")
	p.Press("tab", "y", "v", "enter")
	p.Sees("Verify what is taken")
	p.Sees("it ended with exit code 2")
	p.Press("q")
	p.Sees("✓ verified: make test -k") // of all of the work it is still so
	if len(asked) != 2 || asked[1].Tree == "" || asked[1].Tree == set.Tree {
		t.Errorf("%+v", asked)
	}
}

func TestTheMessageIsWrittenInTheEditor(t *testing.T) {
	services := &recorded{set: worked(t), edited: "Better: "}
	p := newPerson(t, services, 120, 40)
	p.Press("A", "enter")
	e := &editing{ctx: t.Context(), services: services, text: p.m.deliver.message.Value()}
	if err := e.Run(); err != nil {
		t.Fatal(err)
	}
	p.Send(edited{p.m, e.text, nil})
	p.Sees("Better: Fix it")
	p.Send(edited{p.m, "lost", errors.New("the editor failed")})
	p.Sees("the editor failed")
	p.wait()
	p.Press("ctrl+s")
	if got := services.accepts[0].Message; !strings.HasPrefix(got, "Better: Fix it") {
		t.Errorf("%q", got)
	}
}

func TestAConflictShowsBothSidesAndWaysOn(t *testing.T) {
	steps := []review.WorktreeStep{
		{Path: "README.md", Action: review.Clash, Reason: "you changed it, and the agent deleted it"},
		{Path: "src/big.txt", Action: review.Clash, Reason: "you and the agent changed the same lines", Meetings: []review.Meeting{
			{Line: 5, Yours: []string{"mine\x1b[2J"}, Before: []string{"line 5"}, Theirs: []string{"LINE five", "and more"}},
		}},
	}
	services := &recorded{set: worked(t), plan: &review.WorktreePlan{Steps: append(slices.Clone(steps), review.WorktreeStep{Path: "x", Action: review.CreateFile})}}
	p := newPerson(t, services, 120, 40)
	p.Press("T", "A", "enter")
	p.Sees("1 to create")
	p.Sees("2 files in the way:")
	p.Sees("src/big.txt: you and the agent changed the same lines")
	services.fail = fault.New(fault.Conflict, "%w", &review.WorktreeConflict{Repo: "/home/ann/shop", Clashes: steps})
	p.wait()
	p.Press("ctrl+s")
	p.Sees("Nothing was changed: 2 files in the way in /home/ann/shop")
	p.Sees("enter shows what the agent did there")
	p.ClickOn("src/big.txt")
	p.Sees("line 5 of your file")
	p.Sees(`mine\x1b[2J`)
	p.Sees("│ and more")
	p.Fits("the conflict")
	p.Press("l")
	p.Sees("2 files left out")
	if got := p.m.tally; got.taken != 2 || got.open != 3 {
		t.Errorf("%+v", got)
	}
	p.Press("u", "enter")
	p.wait()
	p.Press("ctrl+s", "b")
	if p.m.target != review.ToBranch || p.m.deliver == nil {
		t.Error("it does not go on to a branch")
	}
}

func TestAFileIsReadAgainWithWhatWasDecidedOfIt(t *testing.T) {
	p := newPerson(t, &recorded{set: worked(t)}, 120, 40)
	p.goTo("src/big.txt")
	p.Press("s", "y", "n")
	f := p.m.file()
	p.Press("tab")
	before := p.m.chosen()
	f.letGo()
	if got := p.m.chosen(); !slices.Equal(got.Hunks, before.Hunks) {
		t.Errorf("%+v, was %+v", got, before)
	}
	p.Press("shift+tab")
	if len(f.hunks) != 3 || f.of(f.hunks[0].ID) != taken || f.of(f.hunks[1].ID) != rejected || f.of(f.hunks[2].ID) != open {
		t.Errorf("%d hunks: %v", len(f.hunks), f.own)
	}
	p.Sees("[✓ taken]")
	p.Press("u", "u", "u")
	if len(f.hunks) != 2 || len(f.own) > 0 {
		t.Errorf("%d hunks, %v", len(f.hunks), f.own)
	}
}

func TestAnAnswerForAnotherScreenIsDropped(t *testing.T) {
	p := newPerson(t, &recorded{set: worked(t)}, 120, 40)
	other := newPerson(t, &recorded{set: worked(t)}, 120, 40)
	before := p.View()
	p.Send(computed{to: other.m, err: errors.New("old")})
	p.Send(read{to: other.m, err: errors.New("old")})
	p.Send(found{to: p.m, serial: 99, hits: []hit{{path: "Makefile"}}})
	p.Send(delivered{to: other.m, err: errors.New("old")})
	if p.View() != before || len(p.Asked) > 0 {
		t.Errorf("%v\n%s", p.Asked, p.View())
	}
}

func TestWhatWasAcceptedBeforeIsNotAskedForAgain(t *testing.T) {
	set := worked(t)
	var first review.Hunk
	if err := set.Files(t.Context(), func(d review.FileDiff) error { first = d.Hunks[0]; return nil }, "src/big.txt"); err != nil {
		t.Fatal(err)
	}
	choice := review.Choice{Files: []string{"README.md"}, Hunks: []string{string(first.ID)}}
	selection, err := set.Select(t.Context(), choice)
	if err != nil {
		t.Fatal(err)
	}
	services := &recorded{set: set, before: session.Decisions{Taken: selection, Branch: &review.Before{Selection: selection}}}
	p := newPerson(t, services, 120, 40)
	p.Sees("1 accepted before · 4 undecided")
	p.Sees("= D README.md")
	p.goTo("src/big.txt")
	p.Sees("[= accepted before] @@ -2")
	p.Sees("[ ] @@ -37")
	p.Press("T") // nothing went to the working tree
	p.Sees("nothing taken yet for your working tree · 5 undecided")
	p.Press("T", "A", "enter")
	p.wait()
	p.Press("ctrl+s")
	if got := services.accepts[0].Choice; slices.Contains(got.Files, "README.md") {
		t.Errorf("%+v", got)
	}
}

func TestSourceIsColoredAndTheTextStaysAsItIs(t *testing.T) {
	set := changed(t, map[string]string{"a.go": "package a\n\nvar x = 1\n"}, map[string]string{"a.go": "package a\n\nfunc f() string { return \"x\" } // f\n"})
	p := newPerson(t, &recorded{set: set}, 120, 40)
	colored, text := p.m.View(), p.View()
	for _, want := range []string{"package", "func", "return"} {
		if !strings.Contains(colored, p.m.inks.classes[syntax.Keyword].paint(want)) {
			t.Errorf("%s is not colored as a keyword", want)
		}
	}
	p.m.file().language = nil
	if p.View() != text || p.m.View() == colored {
		t.Error("colors change the text, or do nothing")
	}
}

func TestWhatDiffersWithinALineIsMarked(t *testing.T) {
	set := changed(t, map[string]string{"a": "one two three\n"}, map[string]string{"a": "one 2 three\n"})
	for _, width := range []int{100, 200} {
		p := newPerson(t, &recorded{set: set}, width, 30)
		view := p.m.View()
		if !strings.Contains(view, p.m.inks.wasDeleted.paint("two")) || !strings.Contains(view, p.m.inks.wasAdded.paint("2")) {
			t.Errorf("%q", view)
		}
	}
}

func TestTheLastQuestionTakesNoAnswerBeforeItCanBeRead(t *testing.T) {
	services := &recorded{set: worked(t)}
	p := newPerson(t, services, 120, 40)
	p.Press("A", "enter", "ctrl+s", "enter", "ctrl+s")
	if len(services.accepts) > 0 {
		t.Fatal("what was typed ahead accepted")
	}
	p.wait()
	p.Press("ctrl+s")
	if len(services.accepts) != 1 {
		t.Errorf("accepted %d times", len(services.accepts))
	}
}
