package changes

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/review"
	"aibox/review/accept"
	"aibox/review/reviewtest"
	"aibox/review/risk"
	"aibox/review/worktree"
	"aibox/session"
	"aibox/session/manager"
	"aibox/session/output"
	"aibox/ui/page"
)

func TestAVerificationShowsOutputAndCountsForItsTree(t *testing.T) {
	set := worked(t)
	var asked []manager.VerifyRequest
	services := &recorded{set: set, verify: func(req manager.VerifyRequest) (session.Verification, error) {
		asked = append(asked, req)
		for _, text := range []string{"one\n\x1b[31mtw", "o\x1b]52;c;x\x07\nthree"} {
			if err := req.Show(output.Chunk{Data: []byte(text)}); err != nil {
				return session.Verification{}, err
			}
		}
		if req.Tree == "" {
			return session.Verification{Tree: set.Tree, Command: req.Command, Seconds: 2}, nil
		}
		return session.Verification{Tree: req.Tree, Command: req.Command, ExitCode: 2, Fault: &session.Failure{Message: "it ended with exit code 2"}}, nil
	}}
	p := newUser(t, services, 120, 40)
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
	p.Sees("Verify the selected part")
	p.Sees("it ended with exit code 2")
	p.Press("q")
	p.Sees("✓ verified: make test -k") // of all of the work it is still so
	if len(asked) != 2 || asked[1].Tree == "" || asked[1].Tree == set.Tree {
		t.Errorf("%+v", asked)
	}
}

func TestTheMessageCanBeEdited(t *testing.T) {
	services := &recorded{set: worked(t), edited: "Better: "}
	p := newUser(t, services, 120, 40)
	p.Press("A", "enter")
	p.Press("ctrl+e")
	p.Sees("Better: Fix it")
	p.Send(edited{"lost", errors.New("the editor failed")})
	p.Sees("the editor failed")
	p.accept()
	if got := services.accepts[0].Message; !strings.HasPrefix(got, "Better: Fix it") {
		t.Errorf("%q", got)
	}
}

func TestAnotherSelectionHasAnotherMessage(t *testing.T) {
	for _, prompt := range []string{"one\n\ttwo", "one"} { // the field does not hold tabs
		services := &recorded{set: worked(t), prompt: prompt, fail: errors.New("the branch moved")}
		p := newUser(t, services, 120, 40)
		p.goTo("README.md")
		p.Press("Y", "enter")
		first := p.m.delivery.question.message.Value()
		p.accept() // fails
		p.goTo("src/big.txt")
		p.Press("Y", "enter")
		second := p.m.delivery.question.message.Value()
		if second == first || !strings.Contains(second, "src: 1 file") {
			t.Errorf("%q: the message for another selection is %q", prompt, second)
		}
		p.Press("esc", "u", "enter")
		if got := p.m.delivery.question.message.Value(); got != first {
			t.Errorf("%q: the message for the first selection became %q", prompt, got)
		}
		p.Type("My own: ")
		p.Press("esc")
		p.goTo("src/big.txt")
		p.Press("Y", "enter")
		if got := p.m.delivery.question.message.Value(); got != "My own: "+first {
			t.Errorf("%q: the user's message became %q", prompt, got)
		}
	}
}

func TestTheMessageIsShownFromItsSubjectAtEverySize(t *testing.T) {
	services := &recorded{set: worked(t), edited: "Subject\n"}
	p := newUser(t, services, 80, 24)
	p.Press("A", "enter", "ctrl+e")
	p.Sees("│  Subject")
	p.Type("My ")
	p.Sees("│  My Subject")
	for range 20 {
		p.Press("down")
	}
	p.DoesNotSee("│  My Subject")
	for _, size := range [][2]int{{40, 12}, {80, 40}} {
		p.Resize(size[0], size[1])
		p.Fits("the last question")
		p.Sees("ctrl+s accept")
		p.Sees("Branch  aibox/0aaaa")
	}
	p.Sees("│  My Subject")
	p.Sees("│  Made by codex")
}

func TestTheLastQuestionCountsARenamedFileAsRenamed(t *testing.T) {
	services := &recorded{set: worked(t), plan: &worktree.Plan{Steps: []worktree.Step{
		{Path: "README.md", Action: worktree.ActionReplace},
		{Path: "new.txt", From: "old.txt", Action: worktree.ActionReplace},
	}}}
	p := newUser(t, services, 120, 40)
	p.Press("T", "A", "enter")
	p.Sees("1 to replace · 1 to rename")
}

func TestAConflictShowsBothSidesAndOffersWaysOut(t *testing.T) {
	steps := []worktree.Step{
		{Path: "README.md", Action: worktree.ActionConflict, Reason: "you changed it, and the agent deleted it"},
		{Path: "src/big.txt", Action: worktree.ActionConflict, Reason: "you and the agent changed the same lines", Lines: []worktree.Conflict{
			{Line: 5, Yours: []string{"mine\x1b[2J"}, Base: []string{"line 5"}, Theirs: []string{"LINE five", "and more"}},
		}},
	}
	services := &recorded{set: worked(t), plan: &worktree.Plan{Steps: append(slices.Clone(steps), worktree.Step{Path: "x", Action: worktree.ActionCreate})}}
	p := newUser(t, services, 120, 40)
	p.Press("T", "A", "enter")
	p.Sees("1 to create")
	p.Sees("2 conflicting files:")
	p.Sees("src/big.txt: you and the agent changed the same lines")
	services.fail = fault.New(fault.Conflict, "%w", &worktree.ConflictError{Repo: "/home/ann/shop", Conflicts: steps})
	p.accept()
	p.Sees("Nothing was changed: 2 conflicting files in /home/ann/shop")
	p.Sees("enter shows what the agent did there")
	p.ClickOn("src/big.txt")
	p.Sees("line 5 of your file")
	p.Sees(`mine\x1b[2J`)
	p.Sees("│ and more")
	p.Fits("the conflict")
	p.Press("l")
	p.Sees("2 files left out")
	if got := p.m.draft.Tally(); got.Accepted != 2 || got.Undecided != 3 {
		t.Errorf("%+v", got)
	}
	p.Press("u", "enter")
	p.wait()
	p.Press("ctrl+s", "b")
	if p.m.draft.Target() != accept.ToBranch || !p.m.delivery.asks() {
		t.Error("it does not go on to a branch")
	}
}

func TestAConflictAsksNothingAgainAboutUnfinishedComments(t *testing.T) {
	p, services := open(t)
	p.Press("c")
	p.Type("why?")
	p.Press("esc", "T", "A", "enter")
	p.Sees("Go on without 1 unfinished comment?")
	p.wait()
	p.Press("y")
	services.fail = fault.New(fault.Conflict, "%w", &worktree.ConflictError{Repo: "/r", Conflicts: []worktree.Step{{Path: "README.md", Action: worktree.ActionConflict, Reason: "r"}}})
	p.accept()
	p.Sees("Nothing was changed")
	p.Press("b")
	if p.m.ask != nil || p.m.draft.Target() != accept.ToBranch || !p.m.delivery.asks() {
		t.Errorf("it does not go on to a branch: %s", p.View())
	}
}

func TestTheLastQuestionIgnoresKeysTypedAhead(t *testing.T) {
	p, services := open(t)
	p.User.Press("A", "enter", "ctrl+s", "enter", "ctrl+s")
	if len(services.accepts) > 0 {
		t.Fatal("what was typed ahead accepted")
	}
	p.accept()
	if len(services.accepts) != 1 {
		t.Errorf("accepted %d times", len(services.accepts))
	}
}

func TestTheReasonForARefusalIsShownInFull(t *testing.T) {
	why := fault.New(fault.Usage, "what you chose of 0aaaa is accepted already, on branch aibox/0aaaa-opencode").
		Hint("`aibox accept 0aaaa --branch NAME` puts it on another one")
	for _, size := range [][2]int{{80, 24}, {60, 16}} {
		p := newUser(t, &recorded{set: worked(t), fail: why}, size[0], size[1])
		p.Press("A", "enter")
		p.accept()
		p.Fits("refused")
		said := strings.Join(strings.Fields(p.View()), " ")
		for _, want := range []string{"is accepted already, on branch aibox/0aaaa-opencode → `aibox accept", "puts it on another one", "4 of 5 selected"} {
			if !strings.Contains(said, want) {
				t.Errorf("%v: %q is not to be seen:\n%s", size, want, p.View())
			}
		}
	}
}

func TestAfterAPartialAcceptTheRestIsNamed(t *testing.T) {
	p, _ := open(t)
	p.goTo("src/blob.bin")
	p.Press("Y", "enter")
	p.accept()
	if said, ok := p.Asked[0].(page.Close); !ok || !strings.Contains(said.Text, `undecided: README.md, src/big.txt, src/evil\x1b[2J.txt; with risks: Makefile`) {
		t.Errorf("it says %+v", p.Asked)
	}
	set := worked(t)
	one := &review.Selection{}
	for _, c := range set.Changes {
		if c.Path == "README.md" {
			one.Taken = append(one.Taken, review.Taken{Path: c.Path, Whole: true, Blob: c.NewBlob, Mode: c.NewMode})
		}
	}
	again := newUser(t, &recorded{set: set, before: manager.Decisions{Taken: one, Branch: &accept.Prior{Selection: one}}}, 120, 40)
	again.Press("enter")
	again.Sees(`nothing more is selected; undecided: src/big.txt, src/blob.bin, src/evil\x1b[2J.txt; with risks: Makefile`)
}

// TestAPartWithARiskOfItsOwnIsShownAndTakenOnlyWithConsent takes away a line above a modeline, but not
// what the agent adds there.
func TestAPartWithARiskOfItsOwnIsShownAndTakenOnlyWithConsent(t *testing.T) {
	rest := "# vim: foldexpr=x\n" + strings.Repeat("b\n", 30)
	set := reviewtest.ChangeSet(t, map[string]string{"long.txt": "1\n2\n3\n4\n5\n" + rest}, map[string]string{"long.txt": "2\n3\n4\n5\n6\n7\n" + rest})
	set.Rules, set.Changes[0].Risks = risk.RulesVersion, nil // the whole file has none
	services := &recorded{set: set, left: []review.LeftOut{{Path: "long.txt", Hunks: []string{"x"}}}}
	p := newUser(t, services, 120, 40)
	p.goTo("long.txt")
	p.Press("s", "y", "enter")
	p.Sees("! left out because of risks: long.txt")
	p.Sees("a modeline with an expression")
	p.accept()
	p.Sees("nothing was accepted; left out because of risks: long.txt")
	if len(services.accepts[0].Choice.Risky) != 0 || p.m.draft.Choice().Empty() {
		t.Errorf("accepted with %+v; the draft has %+v", services.accepts[0].Choice, p.m.draft.Choice())
	}
	services.left = nil
	p.Press("enter")
	p.wait()
	p.Press("ctrl+r")
	p.Sees("Accept into")
	p.DoesNotSee("left out because of risks")
	p.accept()
	if got := services.accepts[1].Choice; !slices.Equal(got.RiskyParts, []string{"long.txt"}) || len(got.Risky) > 0 {
		t.Errorf("accepted with %+v", got)
	}
}

// TestTheLastQuestionPlansWithWhatTheTargetHas takes two lines above a modeline, one of which the branch
// has already.
func TestTheLastQuestionPlansWithWhatTheTargetHas(t *testing.T) {
	rest := "# vim: foldexpr=x\n" + strings.Repeat("b\n", 40)
	set := reviewtest.ChangeSet(t, map[string]string{"long.txt": "1\n2\n3\n4\n5\n6\n" + rest}, map[string]string{"long.txt": "2\n3\n5\n6\n7\n8\n9\n" + rest})
	set.Rules, set.Changes[0].Risks = risk.RulesVersion, nil // the whole file has none
	var parts []review.Hunk
	reviewtest.Must(t, set.Files(t.Context(), func(f review.FileDiff) error { parts = f.Hunks[0].Split(); return nil }))
	one, err := set.Select(t.Context(), review.Choice{Hunks: []string{string(parts[0].ID)}})
	reviewtest.Must(t, err)
	services := &recorded{set: set, before: manager.Decisions{Taken: one, Branch: &accept.Prior{Selection: one, Branch: "aibox/0aaaa"}}}
	p := newUser(t, services, 120, 40)
	p.goTo("long.txt")
	p.Press("s", "]", "y", "enter")
	p.Sees("! left out because of risks: long.txt")
	p.Press("ctrl+t")
	p.Sees("Accept into your working tree")
	p.DoesNotSee("left out because of risks")
	p.wait()
	p.Press("ctrl+t")
	p.Sees("! left out because of risks: long.txt")
	p.wait()
	p.Press("ctrl+r")
	p.wait()
	p.Press("tab")
	p.DoesNotSee("left out because of risks")
	p.Type("-2")
	p.accept() // on another branch, the part goes without the other one
	if got := services.accepts[0]; got.Branch != "aibox/0aaaa-2" || len(got.Choice.RiskyParts) > 0 {
		t.Errorf("accepted with %+v", got)
	}
}

func TestOnlyAPartThatIsShownInFullIsOffered(t *testing.T) {
	long := review.Path(strings.Repeat("deep/", 60) + "end.txt")
	part := func(path review.Path, risks int) review.LeftOut {
		left := review.LeftOut{Path: path, Hunks: []string{"x"}}
		for i := range risks {
			left.Risks = append(left.Risks, risk.Risk{Rule: "r", Title: fmt.Sprintf("risk %d", i), Found: strings.Repeat("word ", 20) + "end"})
		}
		return left
	}
	for name, c := range map[string]struct {
		left   []review.LeftOut
		height int
		offers bool
	}{
		"one":                {[]review.LeftOut{part("a.txt", 2)}, 40, true},
		"beside whole files": {[]review.LeftOut{{Path: "Makefile", Risks: []risk.Risk{{Title: "a Makefile"}}}, part("a.txt", 1)}, 40, true},
		"a long path":        {[]review.LeftOut{part(long, 1)}, 40, true},
		"no room for risks":  {[]review.LeftOut{part("a.txt", 20)}, 40, false},
		"no room for a path": {[]review.LeftOut{part(long, 1)}, 16, false},
		"two":                {[]review.LeftOut{part("a.txt", 1), part("b.txt", 1)}, 40, false},
	} {
		p := newUser(t, &recorded{set: worked(t)}, 120, c.height)
		p.Press("A", "enter")
		p.m.delivery.question.left = c.left
		p.Fits(name)
		if c.offers {
			p.Sees("ctrl+r take this part anyway")
			last := c.left[len(c.left)-1]
			p.Sees(string(last.Path[max(0, len(last.Path)-7):]))
			for i := range last.Risks {
				p.Sees(fmt.Sprintf("risk %d", i))
			}
		} else {
			p.DoesNotSee("ctrl+r")
			p.Sees("aibox accept 0aaaa --hunks … --accept-risky FILE")
		}
		p.wait()
		p.Press("ctrl+r")
		if got := len(p.m.delivery.agreed) > 0; got != c.offers {
			t.Errorf("%s: agreed to %q", name, p.m.delivery.agreed)
		}
	}
}
