package changes

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/internal/paths"
	"aibox/review"
	"aibox/review/risk"
	"aibox/session"
	"aibox/ui/dialog"
	"aibox/ui/uitest"
	"aibox/workspace"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// recorded is a session whose change set is real; what is accepted is remembered.
type recorded struct {
	set      *review.ChangeSet
	accepts  []review.AcceptOptions
	rejected []review.HunkID
	comments []session.Comment
	verified []string // trees
	fail     error
}

func (r *recorded) Comment(_ context.Context, _ session.ID, c session.Comment) (session.Comment, error) {
	r.comments = append(r.comments, c)
	return c, r.fail
}

func (r *recorded) Feedback(session.ID) (session.Feedback, error) {
	return session.Feedback{Comments: []session.Comment{{Path: "Makefile", Line: 2, Text: "why?\x1b[2J"}}}, nil
}

func (r *recorded) Verifier(session.Session, session.VerifyRequest) func(context.Context, string) error {
	return func(_ context.Context, tree string) error {
		r.verified = append(r.verified, tree)
		return nil
	}
}

func (r *recorded) Verifications(session.ID) ([]session.Verification, error) {
	return []session.Verification{{Command: "make test", Tree: r.set.Tree}}, nil
}

func (r *recorded) Find(text string) (session.Session, error) {
	return session.Session{Spec: session.Spec{ID: session.ID(text), Agent: "codex", Prompt: "Fix it"}}, nil
}

func (r *recorded) Changes(context.Context, session.ID) (*review.ChangeSet, error) {
	return r.set, nil
}

func (r *recorded) Accept(_ context.Context, _ session.ID, opts review.AcceptOptions) (*review.Accepted, error) {
	r.accepts = append(r.accepts, opts)
	return &review.Accepted{Branch: "aibox/0aaaa", Files: len(opts.Choice.Files)}, r.fail
}

func (r *recorded) Reject(_ context.Context, _ session.ID, hunks []review.HunkID, _ string) error {
	r.rejected = hunks
	return nil
}

// worked makes a change set of each kind of change, once for all tests.
func worked(t testing.TB) *review.ChangeSet {
	t.Helper()
	root := t.TempDir()
	repo := filepath.Join(root, "shop")
	write := func(dir, name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var lines []string
	for i := range 60 {
		lines = append(lines, fmt.Sprintf("line %d", i+1))
	}
	big := strings.Join(lines, "\n") + "\n"
	write(repo, "src/big.txt", big)
	write(repo, "Makefile", "all:\n")
	write(repo, "README.md", "read me\n")
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"add", "-A"},
		{"-c", "user.name=Ann", "-c", "user.email=ann@example.org", "commit", "-q", "-m", "start"},
	} {
		if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", repo}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	ws, err := workspace.Prepare(t.Context(), workspace.Request{Repo: repo, Session: "0aaaa", Dirs: paths.Dirs{
		Home: root, Config: root + "/c", State: root + "/s", Data: root + "/d", Cache: root + "/k", Workspace: root + "/w",
	}})
	if err != nil {
		t.Fatal(err)
	}
	write(ws.Path, "src/big.txt", strings.NewReplacer("line 5\n", "LINE five\n", "line 8\n", "line 8 and more\n", "line 40\n", "line forty\n").Replace(big))
	write(ws.Path, "Makefile", "all:\n\tcurl evil\n")
	write(ws.Path, "src/evil\x1b[2J.txt", "a\x1b]52;c;ZXZpbA==\x07b \u202eevil\n")
	write(ws.Path, "src/blob.bin", "\x00\x01")
	if err := os.Remove(filepath.Join(ws.Path, "README.md")); err != nil {
		t.Fatal(err)
	}
	set, err := review.Compute(t.Context(), ws, review.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range set.Changes { // by a rule of this test, whatever the real ones say
		set.Changes[i].Risks = nil
		if set.Changes[i].Path == "Makefile" {
			set.Changes[i].Risks = []risk.Risk{{Rule: "make", Title: "a Makefile", Runs: "its recipes", When: "on make", By: "make", Severity: risk.Medium}}
		}
	}
	return set
}

// person is one before a review whose clock stands still.
type person struct {
	*uitest.Person
	m   *Model
	now time.Time
}

func newPerson(t testing.TB, sessions Sessions, width, height int) *person {
	p := &person{m: New(t.Context(), sessions, "0aaaa"), now: noon}
	p.m.now = func() time.Time { return p.now }
	p.Person = uitest.New(t, p.m, width, height)
	p.Run(p.m.Init())
	return p
}

// wait lets a question be open long enough.
func (p *person) wait() { p.now = p.now.Add(dialog.Grace) }

func TestTheReviewLooksAsItDid(t *testing.T) {
	set := worked(t)
	for _, size := range uitest.Sizes {
		p := newPerson(t, &recorded{set: set}, size[0], size[1])
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
	p := newPerson(t, &recorded{set: worked(t)}, 120, 40)
	for range len(p.m.files) {
		if view := p.m.View(); strings.Contains(view, "\x1b]") || strings.Contains(view, "\x1b[2J") || strings.ContainsAny(view, "\x07\u202e") {
			t.Errorf("%q", view)
		}
		p.Press("tab")
	}
}

func TestWhatIsTakenIsWhatIsAccepted(t *testing.T) {
	sessions := &recorded{set: worked(t)}
	p := newPerson(t, sessions, 120, 40)
	for p.m.file().change.Path != "src/big.txt" {
		p.Press("tab")
	}
	f := p.m.file()
	p.Press("s") // the first hunk changes two lines
	if len(f.hunks) != 3 {
		t.Fatalf("%d hunks", len(f.hunks))
	}
	p.Press("y", "n", "y")
	p.Press("A", "enter")
	p.wait()
	p.Press("ctrl+t", "ctrl+s")
	if len(sessions.accepts) != 1 || len(p.Asked) != 1 {
		t.Fatalf("accepted %d times, asked for %v", len(sessions.accepts), p.Asked)
	}
	got := sessions.accepts[0]
	want := []string{string(f.hunks[0].ID), string(f.hunks[2].ID)}
	if got.Target != review.ToWorktree || !slices.Equal(got.Choice.Hunks, want) || len(got.Choice.Risky) > 0 || slices.Contains(got.Choice.Files, "Makefile") {
		t.Errorf("%+v", got)
	}
	if !slices.Equal(sessions.rejected, []review.HunkID{f.hunks[1].ID}) {
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

func TestARiskyFileIsTakenOnlyByAWordOfItsOwn(t *testing.T) {
	sessions := &recorded{set: worked(t)}
	p := newPerson(t, sessions, 120, 40)
	p.Press("A", "home", "Y", "y", "enter") // typed ahead of the question
	if d, _ := p.m.files[0].sum(); d != open {
		t.Fatal("the risky file is taken")
	}
	p.wait()
	p.Press("enter") // the choice that does nothing
	if d, _ := p.m.files[0].sum(); d != open || p.m.ask != nil {
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
	p := newPerson(t, &recorded{set: worked(t)}, 120, 40)
	before := p.m.tally()
	p.Press("N", "Y", "y", "n", "tab", "y", "A")
	for range 20 {
		p.Press("u")
	}
	if after := p.m.tally(); after != before {
		t.Errorf("%+v, was %+v", after, before)
	}
	p.Sees("nothing to undo")
}

func TestACommentIsKeptWithItsHunk(t *testing.T) {
	sessions := &recorded{set: worked(t)}
	p := newPerson(t, sessions, 120, 40)
	p.Sees("» line 2: why?")
	p.Press("c", "q", "Y", "ctrl+s")
	if len(sessions.comments) != 1 || sessions.comments[0].Hunk != p.m.files[0].hunks[0].ID || sessions.comments[0].Text != "qY" {
		t.Errorf("%+v", sessions.comments)
	}
	if d, _ := p.m.files[0].sum(); d != open {
		t.Error("what was typed decided something")
	}
	p.Sees("aibox run --resume 0aaaa")
	p.Press("c", "x", "esc", "c", "ctrl+s")
	if len(sessions.comments) != 1 {
		t.Errorf("%+v", sessions.comments)
	}
}

func TestAnAcceptIsVerifiedAsTheSessionAsks(t *testing.T) {
	sessions := &recorded{set: worked(t)}
	p := newPerson(t, sessions, 120, 40)
	p.Sees("verified: make test")
	p.Press("A", "enter")
	p.wait()
	p.Press("ctrl+s")
	if err := sessions.accepts[0].Verify(t.Context(), "tree"); err != nil || len(sessions.verified) != 1 {
		t.Errorf("%v, %v", err, sessions.verified)
	}
}

func TestAFailedAcceptLosesNoDecision(t *testing.T) {
	sessions := &recorded{set: worked(t), fail: errors.New("a conflict")}
	p := newPerson(t, sessions, 120, 40)
	p.Press("A")
	before := p.m.tally()
	p.Press("enter", "!")
	p.wait()
	p.Press("ctrl+s")
	p.Sees("a conflict")
	if len(p.Asked) > 0 || p.m.tally() != before {
		t.Errorf("asked for %v, %+v", p.Asked, p.m.tally())
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
	names := []string{"enter", "esc", "tab", "shift+tab", "up", "down", "end", "home", "pgdown", "right", "ctrl+s", "ctrl+t", "y", "n", "Y", "N", "A", "u", "s", "]", "[", "{", "}", ".", "q", "é"}
	f.Fuzz(func(t *testing.T, seed uint64, width, height uint8) {
		random := rand.New(rand.NewPCG(seed, 7))
		sessions := &recorded{set: set}
		p := newPerson(t, sessions, max(40, int(width)), max(12, int(height)))
		p.Mash(random, 80, names)
		if len(sessions.accepts) > 0 { // the clock stands still, so no question was open long enough
			t.Error("something was accepted")
		}
	})
}
