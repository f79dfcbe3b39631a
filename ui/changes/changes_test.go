package changes

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/netguard"
	"aibox/review"
	"aibox/review/accept"
	"aibox/review/decision"
	"aibox/review/worktree"
	"aibox/session"
	"aibox/session/manager"
	"aibox/session/output"
	"aibox/ui/uitest"
)

func TestTheReviewMatchesItsGoldenViews(t *testing.T) {
	set := worked(t)
	for _, size := range uitest.Sizes {
		p := newUser(t, &recorded{set: set}, size[0], size[1])
		p.Show("what is risky first")
		p.Press("y")
		p.Show("a risk is asked about")
		p.wait()
		p.Press("esc", "}", "}", "s", "y", "n")
		p.Show("in part")
		p.Press("tab", "tab")
		p.Show("hostile bytes")
		p.Press("A", "enter")
		p.Show("the last question")
		p.Press("esc", "A")
		p.Show("the decisions stay")
		p.Golden("")
	}
}

func TestNothingOfTheAgentsReachesTheTerminalRaw(t *testing.T) {
	p := newUser(t, &recorded{set: worked(t)}, 120, 40)
	for range len(p.m.diff.Files) {
		if view := p.m.View(); strings.Contains(view, "\x1b]") || strings.Contains(view, "\x1b[2J") || strings.ContainsAny(view, "\x07\u202e") {
			t.Errorf("%q", view)
		}
		p.Press("tab")
	}
}

func TestTheReviewReportsOpenServerSideTools(t *testing.T) {
	set := worked(t)
	newUser(t, &recorded{set: set}, 120, 40).DoesNotSee("way out")
	newUser(t, &recorded{set: set, open: []string{netguard.WebFetch.String()}}, 80, 24).Sees("way out was open: web-fetch")
}

func TestAcceptDeliversExactlyTheDecisions(t *testing.T) {
	sessions := &recorded{set: worked(t)}
	p := newUser(t, sessions, 120, 40)
	for p.m.diff.File().Change.Path != "src/big.txt" {
		p.Press("tab")
	}
	f := p.m.diff.File()
	p.Press("s") // the first hunk changes two lines
	if len(f.Hunks()) != 3 {
		t.Fatalf("%d hunks", len(f.Hunks()))
	}
	p.Press("y", "n", "y")
	p.Press("A", "enter")
	p.wait()
	p.Press("ctrl+t", "ctrl+s")
	if len(sessions.accepts) != 1 || len(p.Asked) != 1 {
		t.Fatalf("accepted %d times, asked for %v", len(sessions.accepts), p.Asked)
	}
	got := sessions.accepts[0]
	want := []string{string(f.Hunks()[0].ID), string(f.Hunks()[2].ID)}
	if got.Target != accept.ToWorktree || !slices.Equal(got.Choice.Hunks, want) || len(got.Choice.Risky) > 0 || slices.Contains(got.Choice.Files, "Makefile") {
		t.Errorf("%+v", got)
	}
	if !slices.Equal(sessions.rejected, []review.HunkID{f.Hunks()[1].ID}) {
		t.Errorf("rejected %v", sessions.rejected)
	}
	selected, err := sessions.set.Select(t.Context(), got.Choice)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sessions.set.TreeOf(t.Context(), selected); err != nil {
		t.Error(err)
	}
}

func TestARiskyFileIsAcceptedOnlyAfterConsent(t *testing.T) {
	sessions := &recorded{set: worked(t)}
	p := newUser(t, sessions, 120, 40)
	p.Press("A", "home", "Y", "y", "enter") // typed before the question appeared
	if d, _ := p.m.diff.Files[0].Sum(); d != decision.Undecided {
		t.Fatal("the risky file is taken")
	}
	p.wait()
	p.Press("enter") // the choice that does nothing
	if d, _ := p.m.diff.Files[0].Sum(); d != decision.Undecided || p.m.ask != nil {
		t.Fatal("the risky file is taken")
	}
	p.Press("Y")
	p.wait()
	p.Press("y")
	p.Press("enter")
	p.wait()
	p.Press("ctrl+s")
	if got := sessions.accepts[0].Choice; !slices.Equal(got.Risky, []string{"Makefile"}) || !slices.Contains(got.Files, "Makefile") {
		t.Errorf("%+v", got)
	}
}

func TestUndoGoesBackToTheBeginning(t *testing.T) {
	p := newUser(t, &recorded{set: worked(t)}, 120, 40)
	before := p.m.draft.Tally()
	p.Press("N", "Y", "y", "n", "tab", "y", "A")
	for range 20 {
		p.Press("u")
	}
	if after := p.m.draft.Tally(); after != before {
		t.Errorf("%+v, was %+v", after, before)
	}
	p.Sees("nothing to undo")
}

// A command takes no feedback, so that no key sends any.
func TestACommentOnTheWorkOfACommandDoesNotOfferToSendIt(t *testing.T) {
	sessions := &recorded{set: worked(t), agent: "shell"}
	p := newUser(t, sessions, 120, 40)
	p.Press("c", "Y", "ctrl+s")
	p.Sees("kept")
	p.DoesNotSee("S sends")
	if len(sessions.comments) != 1 {
		t.Errorf("%+v", sessions.comments)
	}
	p.Press("x", "enter")
	p.Sees("Keep your rejections?")
	p.DoesNotSee("sends your rejections")
}

func TestACommentIsStoredWithItsHunk(t *testing.T) {
	sessions := &recorded{set: worked(t)}
	p := newUser(t, sessions, 120, 40)
	p.Sees("» why?")
	p.Press("c", "q", "Y", "ctrl+s")
	if len(sessions.comments) != 1 || sessions.comments[0].Hunk != p.m.diff.Files[0].Hunks()[0].ID || sessions.comments[0].Text != "qY" {
		t.Errorf("%+v", sessions.comments)
	}
	if d, _ := p.m.diff.Files[0].Sum(); d != decision.Undecided {
		t.Error("what was typed decided something")
	}
	p.Sees("S sends it to the agent")
	p.Press("c", "x", "esc", "c", "backspace", "ctrl+s", "esc")
	if len(sessions.comments) != 1 {
		t.Errorf("%+v", sessions.comments)
	}
	p.Press("end", "up", "c")
	p.Sees("Comment on line 2 of Makefile")
	p.Press("z", "ctrl+s")
	if got := sessions.comments[1]; got.Line != 2 || got.Path != "Makefile" || got.Hunk != "" {
		t.Errorf("%+v", got)
	}
	p.Sees("» z")
	sessions.fail = errors.New("the disk is full")
	p.Press("c", "k", "ctrl+s")
	p.Sees("the disk is full")
	p.Sees("Comment on line 2 of Makefile once more")
	p.Press("esc")
	if len(sessions.comments) != 3 {
		t.Errorf("%+v", sessions.comments)
	}
}

func TestAnAcceptIsVerifiedAsTheSessionAsks(t *testing.T) {
	sessions := &recorded{set: worked(t)}
	p := newUser(t, sessions, 120, 40)
	p.Sees("verified: make test")
	p.Press("A", "enter")
	p.wait()
	p.Press("ctrl+s")
	if err := sessions.accepts[0].Verify(t.Context(), "tree"); err != nil || len(sessions.verified) != 1 {
		t.Errorf("%v, %v", err, sessions.verified)
	}
}

func TestDiscardedWorkIsShownButNotAccepted(t *testing.T) {
	p := newUser(t, &recorded{set: worked(t), review: session.Discarded}, 120, 40)
	p.Press("A", "enter")
	p.Sees("the work of 0aaaa is discarded → `aibox recover 0aaaa --to-workspace` brings it back")
	p.DoesNotSee("Accept into")
}

func TestAFailedAcceptLosesNoDecision(t *testing.T) {
	sessions := &recorded{set: worked(t), fail: errors.New("a conflict")}
	p := newUser(t, sessions, 120, 40)
	p.Press("A")
	before := p.m.draft.Tally()
	p.Press("enter", "!")
	p.wait()
	p.Press("ctrl+s")
	p.Sees("a conflict")
	if len(p.Asked) > 0 || p.m.draft.Tally() != before {
		t.Errorf("asked for %v, %+v", p.Asked, p.m.draft.Tally())
	}
	p.Press("enter")
	p.Sees("Fix it")
}

// FuzzKeys presses any keys at any size: nothing panics, and nothing is accepted
// without the last question having been open.
func FuzzKeys(f *testing.F) {
	f.Add(uint64(1), uint8(80), uint8(24))
	f.Add(uint64(2), uint8(30), uint8(5))
	set := worked(f)
	names := []string{"enter", "esc", "tab", "shift+tab", "up", "down", "left", "end", "home", "pgdown", "right", "ctrl+s", "ctrl+t", "y", "n", "Y", "N", "x", "X", "A", "R", "F", "T", "L", "u", "s", "z", "Z", "e", "E", "w", "W", "o", "|", "t", "v", "/", "l", "space", "backspace", "c", "]", "[", "{", "}", ".", "q", "é"}
	f.Fuzz(func(t *testing.T, seed uint64, width, height uint8) {
		random := rand.New(rand.NewPCG(seed, 7))
		sessions := &recorded{set: set, verify: func(manager.VerifyRequest) (session.Verification, error) {
			return session.Verification{Tree: set.Tree}, nil
		}}
		p := newUser(t, sessions, max(40, int(width)), max(12, int(height)))
		p.ActRandomly(random, 80, names)
		if len(sessions.accepts) > 0 || sessions.rejected != nil { // the time does not change, so no question was open long enough
			t.Error("something was accepted or rejected")
		}
	})
}

func TestDialogsOfTheReviewMatchTheirGoldenViews(t *testing.T) {
	set := worked(t)
	steps := []worktree.Step{
		{Path: "README.md", Action: worktree.ActionConflict, Reason: "you changed it, and the agent deleted it"},
		{Path: "src/big.txt", Action: worktree.ActionConflict, Reason: "you and the agent changed the same lines", Lines: []worktree.Conflict{
			{Line: 5, Yours: []string{"my line 5"}, Base: []string{"line 5"}, Theirs: []string{"LINE five"}},
			{Line: 40, Base: []string{"line 40"}, Theirs: []string{"line forty"}},
		}},
	}
	for _, size := range uitest.Sizes {
		services := &recorded{set: set, plan: &worktree.Plan{Steps: steps}, verify: func(req manager.VerifyRequest) (session.Verification, error) {
			return session.Verification{ExitCode: 1, Fault: &session.Failure{Message: "the verification failed"}}, req.Show(output.Chunk{Data: []byte("one\ntwo\n")})
		}}
		p := newUser(t, services, size[0], size[1])
		p.goTo("src/big.txt")
		p.Press("|", "c")
		p.Show("a comment, and the other layout")
		p.Press("esc", "/")
		p.Type("five")
		p.Show("what to search for")
		p.Press("enter")
		p.Show("what was found")
		p.Press("esc", "t", "left", "left")
		p.Show("a folded folder")
		p.Press("esc", "v")
		p.Show("which command")
		p.Press("enter")
		p.Show("a failed verification")
		p.Press("q", "A", "T", "enter")
		p.Show("the conflicting files")
		services.fail = fault.New(fault.Conflict, "%w", &worktree.ConflictError{Repo: "/home/ann/shop", Conflicts: steps})
		p.wait()
		p.Press("ctrl+s", "down")
		p.Show("a conflict")
		p.Golden("ways-")
	}
}
