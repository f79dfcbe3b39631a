package changes

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"aibox/review"
	"aibox/review/accept"
	"aibox/review/decision"
	"aibox/session"
	"aibox/session/feedback"
	"aibox/session/manager"
	"aibox/ui/page"
)

func TestAFolderIsDecidedAndUndoneAsOneStep(t *testing.T) {
	p, _ := open(t)
	p.Press("t", "end", "up", "up", "up", "Y")
	p.Sees("3 files taken")
	if got := p.m.draft.Tally(); got.Accepted != 3 || got.Undecided != 2 {
		t.Errorf("%+v", got)
	}
	p.Press("u")
	if got := p.m.draft.Tally(); got.Accepted != 0 || got.Undecided != 5 {
		t.Errorf("%+v", got)
	}
}

func TestOneKeyRejectsTheRestAndOneResetsEverything(t *testing.T) {
	p, services := open(t)
	p.goTo("src/blob.bin")
	p.Press("y", "R")
	if got := p.m.draft.Tally(); got.Accepted != 1 || got.Rejected != 4 {
		t.Errorf("%+v", got)
	}
	p.Press("F")
	if got := p.m.draft.Tally(); got.Undecided != 5 {
		t.Errorf("%+v", got)
	}
	p.Press("u", "enter")
	p.accept()
	if got := services.accepts[0].Choice; !slices.Equal(got.Files, []string{"src/blob.bin"}) || len(got.Hunks) > 0 {
		t.Errorf("%+v", got)
	}
	// One hunk each of README.md, Makefile and evil.txt, and two of big.txt: all of them were
	// rejected, most unseen.
	if len(services.rejected) != 5 {
		t.Errorf("%d hunks are rejected", len(services.rejected))
	}
}

func TestRejectionsWithoutAnAcceptAreKeptForTheAgent(t *testing.T) {
	p, services := open(t)
	p.Press("x", "enter")
	p.Sees("Keep your rejections?")
	p.wait()
	p.Press("y")
	if len(services.rejected) != 1 || len(services.accepts) > 0 || len(p.Asked) != 1 {
		t.Errorf("rejected %v, asked for %v", services.rejected, p.Asked)
	}
}

func TestWorkIsSentBackWithTheRejectionsAsFeedback(t *testing.T) {
	p, services := open(t)
	p.Press("x", "S")
	if len(services.rejected) != 1 || len(p.Asked) != 1 || p.Asked[0] != (page.SendBack{ID: p.m.session.ID}) {
		t.Errorf("rejected %v, asked for %#v", services.rejected, p.Asked)
	}
	if p.m.draft.Tally().Rejected != 1 {
		t.Error("the draft is lost, although the user can still cancel")
	}
	p = newUser(t, &recorded{set: worked(t), review: session.Discarded}, 120, 40)
	if p.Press("S"); len(p.Asked) > 0 {
		t.Errorf("discarded work is sent back: %v", p.Asked)
	}
}

func TestTheReviewOfContinuedWorkIsLeft(t *testing.T) {
	p, services := open(t)
	p.Press("S")
	p.Send(page.Returned{Err: errors.New("nothing was sent back")})
	p.Sees("nothing was sent back")
	if len(p.Asked) != 1 {
		t.Fatalf("asked for %v", p.Asked)
	}
	services.continuedBy = "0bbbb-codex"
	p.Send(page.Returned{})
	if want := (page.Close{Text: string(p.m.session.ID) + " was continued by 0bbbb-codex, which has its work"}); len(p.Asked) != 2 || p.Asked[1] != want {
		t.Errorf("asked for %#v", p.Asked)
	}
}

func TestAnEarlierRejectionCountsBeforeTheFileIsRead(t *testing.T) {
	set := worked(t)
	var hunk review.Hunk
	if err := set.Files(t.Context(), func(d review.FileDiff) error { hunk = d.Hunks[0].Split()[1]; return nil }, "src/big.txt"); err != nil {
		t.Fatal(err)
	}
	services := &recorded{set: set, earlier: []feedback.Rejection{{Hunk: hunk.ID, Path: "src/big.txt"}, {Hunk: "gone", Path: "gone"}}}
	p := newUser(t, services, 120, 40)
	p.goTo("src/blob.bin")
	p.Press("A", "enter")
	p.accept()
	got := services.accepts[0].Choice
	if slices.Contains(got.Files, "src/big.txt") || slices.Contains(got.Hunks, string(hunk.ID)) {
		t.Errorf("%+v takes %s", got, hunk.ID)
	}
	p.goTo("src/big.txt")
	p.Sees("[✗ rejected]")
}

func TestAHunkThatWasRejectedEarlierCanBeTaken(t *testing.T) {
	set := worked(t)
	var hunks []review.Hunk
	if err := set.Files(t.Context(), func(d review.FileDiff) error { hunks = d.Hunks; return nil }, "src/big.txt"); err != nil {
		t.Fatal(err)
	}
	services := &recorded{set: set, earlier: []feedback.Rejection{{Hunk: hunks[0].ID, Path: "src/big.txt"}}}
	p := newUser(t, services, 120, 40)
	p.goTo("src/big.txt")
	p.Press("y", "y", "enter")
	p.accept()
	// An accept of the whole file would leave the hunk out, as it is still rejected.
	got := services.accepts[0].Choice
	if want := []string{string(hunks[0].ID), string(hunks[1].ID)}; !slices.Equal(got.Hunks, want) || len(got.Files) > 0 {
		t.Errorf("%+v", got)
	}
	if want := []review.HunkID{hunks[0].ID}; !slices.Equal(services.restored, want) || len(services.rejected) > 0 {
		t.Errorf("restored %v, rejected %v", services.restored, services.rejected)
	}
}

// bigHunks returns the hunks of src/big.txt.
func bigHunks(t testing.TB, set *review.ChangeSet) (hunks []review.Hunk) {
	t.Helper()
	if err := set.Files(t.Context(), func(d review.FileDiff) error { hunks = d.Hunks; return nil }, "src/big.txt"); err != nil {
		t.Fatal(err)
	}
	return hunks
}

func TestWhatIsSentBackHasNoWithdrawnRejections(t *testing.T) {
	set := worked(t)
	hunks := bigHunks(t, set)
	services := &recorded{set: set, earlier: []feedback.Rejection{{Hunk: hunks[0].ID, Path: "src/big.txt"}, {Hunk: "ffff", Path: "gone.txt"}}}
	p := newUser(t, services, 120, 40)
	p.goTo("src/big.txt")
	p.Press("y", "x", "S")
	if want := []review.HunkID{hunks[0].ID}; !slices.Equal(services.restored, want) {
		t.Errorf("restored %v", services.restored)
	}
	if want := []review.HunkID{hunks[1].ID}; !slices.Equal(services.rejected, want) {
		t.Errorf("rejected %v", services.rejected)
	}
}

func TestARejectionThatWasStoredToSendItBackCanBeWithdrawn(t *testing.T) {
	set := worked(t)
	hunks := bigHunks(t, set)
	services := &recorded{set: set}
	p := newUser(t, services, 120, 40)
	p.goTo("src/big.txt")
	p.Press("x", "S")
	services.earlier = []feedback.Rejection{{Hunk: hunks[0].ID, Path: "src/big.txt"}}
	p.Send(page.Returned{}) // nothing was sent
	p.goTo("src/big.txt")
	p.Press("g", "Y", "enter")
	p.accept()
	if len(services.accepts) != 1 {
		t.Fatalf("accepted %v:\n%s", services.accepts, p.View())
	}
	// An accept of the whole file would leave the hunk out.
	if got := services.accepts[0].Choice; !slices.Contains(got.Hunks, string(hunks[0].ID)) {
		t.Errorf("accepts %+v", got)
	}
	if want := []review.HunkID{hunks[0].ID}; !slices.Equal(services.restored, want) {
		t.Errorf("restored %v", services.restored)
	}
}

func TestKeptRejectionsAreThoseOfTheReview(t *testing.T) {
	set := worked(t)
	hunks := bigHunks(t, set)
	services := &recorded{set: set, earlier: []feedback.Rejection{{Hunk: hunks[0].ID, Path: "src/big.txt"}}}
	p := newUser(t, services, 120, 40)
	p.goTo("src/big.txt")
	p.Press("backspace", "]", "x", "enter")
	p.Sees("Keep your rejections?")
	p.wait()
	p.Press("y")
	if want := []review.HunkID{hunks[0].ID}; !slices.Equal(services.restored, want) {
		t.Errorf("restored %v, rejected %v", services.restored, services.rejected)
	}
	if want := []review.HunkID{hunks[1].ID}; !slices.Equal(services.rejected, want) {
		t.Errorf("rejected %v", services.rejected)
	}
}

func TestLeavingAsksBeforeDecisionsAreLost(t *testing.T) {
	p, _ := open(t)
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
	if said, ok := p.Asked[0].(page.Close); len(p.Asked) != 1 || !ok || said.Err != nil || !strings.Contains(said.Text, "nothing of 0aaaa is accepted yet") {
		t.Errorf("%v", p.Asked)
	}
	q, _ := open(t)
	if q.Press("q"); len(q.Asked) != 1 {
		t.Error("nothing was decided, and it asks")
	}
}

func TestAFileThatIsReadAgainKeepsItsDecisions(t *testing.T) {
	p, _ := open(t)
	p.goTo("src/big.txt")
	p.Press("s", "y", "n")
	f := p.m.diff.File()
	p.Press("tab")
	before := p.m.draft.Choice()
	p.m.loader.Unload(p.m.draft.Find("src/big.txt"))
	if got := p.m.draft.Choice(); !slices.Equal(got.Hunks, before.Hunks) {
		t.Errorf("%+v, was %+v", got, before)
	}
	p.Press("shift+tab")
	if len(f.Hunks()) != 3 || f.Of(f.Hunks()[0].ID) != decision.Accepted || f.Of(f.Hunks()[1].ID) != decision.Rejected || f.Of(f.Hunks()[2].ID) != decision.Undecided {
		t.Errorf("%d hunks: %+v", len(f.Hunks()), f.File)
	}
	p.Sees("[✓ taken]")
	p.Press("u", "u", "u")
	if _, mixed := f.Sum(); len(f.Hunks()) != 2 || mixed {
		t.Errorf("%d hunks, %+v", len(f.Hunks()), f.File)
	}
}

func TestDeliveredHunksAreNotDecidedAgain(t *testing.T) {
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
	services := &recorded{set: set, before: manager.Decisions{Taken: selection, Branch: &accept.Prior{Selection: selection}}}
	p := newUser(t, services, 120, 40)
	p.Sees("4 undecided · 1 accepted before")
	p.Sees("= D README.md")
	p.goTo("src/big.txt")
	p.Sees("[= accepted before] @@ -2")
	p.Sees("[ ] @@ -37")
	p.Press("T") // nothing went to the working tree
	p.Sees("nothing selected for your working tree · 5 undecided")
	p.Press("T", "A", "enter")
	p.accept()
	if got := services.accepts[0].Choice; slices.Contains(got.Files, "README.md") {
		t.Errorf("%+v", got)
	}
}

func TestTheListShowsWhatWasPartlyDelivered(t *testing.T) {
	set := worked(t)
	var first review.Hunk
	if err := set.Files(t.Context(), func(d review.FileDiff) error { first = d.Hunks[0]; return nil }, "src/big.txt"); err != nil {
		t.Fatal(err)
	}
	selection, err := set.Select(t.Context(), review.Choice{Files: []string{"src/blob.bin"}, Hunks: []string{string(first.ID)}})
	if err != nil {
		t.Fatal(err)
	}
	p := newUser(t, &recorded{set: set, before: manager.Decisions{Taken: selection, Branch: &accept.Prior{Selection: selection}}}, 120, 40)
	p.Sees("≈ src/")
	p.Sees("≈  M big.txt")
	p.Sees("=  A blob.bin")
	p.Press("T") // nothing went to the working tree
	p.DoesNotSee("≈")
	p.Press("T")
	p.goTo("src/big.txt")
	p.Press("y")
	p.Sees("~ src/") // decisions come first
	p.Sees("~  M big.txt")
	p.Press("u", "t", "end", "up", "up", "up", "Y")
	p.Sees("~ src/") // what was accepted before is not accepted again
	p.Sees("✓  M big.txt")
	p.Sees("✓  A evil")
}
