package changes

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/internal/golden"
	"aibox/internal/paths"
	"aibox/review"
	"aibox/review/risk"
	"aibox/session"
	"aibox/ui/dialog"
	"aibox/workspace"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
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

// person drives the screen and runs what its commands ask for.
type person struct {
	t      testing.TB
	m      *Model
	now    time.Time
	closed *Closed
}

func newPerson(t testing.TB, sessions Sessions, width, height int) *person {
	p := &person{t: t, m: New(t.Context(), sessions, session.Session{Spec: session.Spec{ID: "0aaaa", Agent: "codex", Prompt: "Fix it"}}), now: noon}
	p.m.now = func() time.Time { return p.now }
	p.m.SetSize(width, height)
	p.run(p.m.Init())
	return p
}

func (p *person) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case Closed:
		p.closed = &msg
	case computed, read, delivered, planned, commented:
		p.run(p.m.Update(msg))
	}
}

func (p *person) press(keys ...string) {
	special := map[string]tea.KeyPressMsg{
		"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "tab": {Code: tea.KeyTab}, "shift+tab": {Code: tea.KeyTab, Mod: tea.ModShift},
		"up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown}, "end": {Code: tea.KeyEnd}, "home": {Code: tea.KeyHome}, "pgdown": {Code: tea.KeyPgDown}, "right": {Code: tea.KeyRight},
		"ctrl+s": {Code: 's', Mod: tea.ModCtrl}, "ctrl+t": {Code: 't', Mod: tea.ModCtrl},
	}
	for _, name := range keys {
		msg, ok := special[name]
		if !ok {
			msg = tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
		}
		p.run(p.m.Update(msg))
	}
}

// wait lets a question be open long enough.
func (p *person) wait() { p.now = p.now.Add(dialog.Grace) }

func (p *person) view() string { return ansi.Strip(p.m.View()) }

func (p *person) sees(want string) {
	p.t.Helper()
	if !strings.Contains(p.view(), want) {
		p.t.Errorf("%q is not to be seen:\n%s", want, p.view())
	}
}

func TestTheReviewLooksAsItDid(t *testing.T) {
	set := worked(t)
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		p := newPerson(t, &recorded{set: set}, size[0], size[1])
		var views strings.Builder
		show := func(what string) {
			view := p.view()
			for i, line := range strings.Split(view, "\n") {
				if ansi.StringWidth(line) > size[0] {
					t.Errorf("%v, %s: row %d is %d columns wide", size, what, i, ansi.StringWidth(line))
				}
			}
			if rows := strings.Count(view, "\n") + 1; rows != size[1] {
				t.Errorf("%v, %s: %d rows", size, what, rows)
			}
			fmt.Fprintf(&views, "== %s\n%s\n", what, trimmed(view))
		}
		show("what is risky first")
		p.press("y")
		show("a risk is asked about")
		p.wait()
		p.press("esc", "}", "}", "s", "y", "n")
		show("in part")
		p.press("tab", "tab")
		show("hostile bytes")
		p.press("A", "enter")
		show("the last question")
		p.press("esc", "A")
		show("the decisions stay")
		golden.Check(t, fmt.Sprintf("%dx%d.golden", size[0], size[1]), views.String())
	}
}

func trimmed(view string) string { return regexp.MustCompile(`(?m) +$`).ReplaceAllString(view, "") }

func TestNothingOfTheAgentsReachesTheTerminalRaw(t *testing.T) {
	p := newPerson(t, &recorded{set: worked(t)}, 120, 40)
	for range len(p.m.files) {
		if view := p.m.View(); strings.Contains(view, "\x1b]") || strings.Contains(view, "\x1b[2J") || strings.ContainsAny(view, "\x07\u202e") {
			t.Errorf("%q", view)
		}
		p.press("tab")
	}
}

func TestWhatIsTakenIsWhatIsAccepted(t *testing.T) {
	sessions := &recorded{set: worked(t)}
	p := newPerson(t, sessions, 120, 40)
	for p.m.file().change.Path != "src/big.txt" {
		p.press("tab")
	}
	f := p.m.file()
	p.press("s") // the first hunk changes two lines
	if len(f.hunks) != 3 {
		t.Fatalf("%d hunks", len(f.hunks))
	}
	p.press("y", "n", "y")
	p.press("A", "enter")
	p.wait()
	p.press("ctrl+t", "ctrl+s")
	if len(sessions.accepts) != 1 || p.closed == nil {
		t.Fatalf("accepted %d times, closed %v", len(sessions.accepts), p.closed)
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
	p.press("A", "home", "Y", "y", "enter") // typed ahead of the question
	if d, _ := p.m.files[0].sum(); d != open {
		t.Fatal("the risky file is taken")
	}
	p.wait()
	p.press("enter") // the choice that does nothing
	if d, _ := p.m.files[0].sum(); d != open || p.m.ask != nil {
		t.Fatal("the risky file is taken")
	}
	p.press("Y")
	p.wait()
	p.press("y")
	p.press("enter")
	p.wait()
	p.press("ctrl+s")
	if got := sessions.accepts[0].Choice; !slices.Equal(got.Risky, []string{"Makefile"}) || !slices.Contains(got.Files, "Makefile") {
		t.Errorf("%+v", got)
	}
}

func TestUndoGoesBackToTheBeginning(t *testing.T) {
	p := newPerson(t, &recorded{set: worked(t)}, 120, 40)
	before := p.m.tally()
	p.press("N", "Y", "y", "n", "tab", "y", "A")
	for range 20 {
		p.press("u")
	}
	if after := p.m.tally(); after != before {
		t.Errorf("%+v, was %+v", after, before)
	}
	p.sees("nothing to undo")
}

func TestACommentIsKeptWithItsHunk(t *testing.T) {
	sessions := &recorded{set: worked(t)}
	p := newPerson(t, sessions, 120, 40)
	p.sees("» line 2: why?")
	p.press("c", "q", "Y", "ctrl+s")
	if len(sessions.comments) != 1 || sessions.comments[0].Hunk != p.m.files[0].hunks[0].ID || sessions.comments[0].Text != "qY" {
		t.Errorf("%+v", sessions.comments)
	}
	if d, _ := p.m.files[0].sum(); d != open {
		t.Error("what was typed decided something")
	}
	p.sees("aibox run --resume 0aaaa")
	p.press("c", "x", "esc", "c", "ctrl+s")
	if len(sessions.comments) != 1 {
		t.Errorf("%+v", sessions.comments)
	}
}

func TestAnAcceptIsVerifiedAsTheSessionAsks(t *testing.T) {
	sessions := &recorded{set: worked(t)}
	p := newPerson(t, sessions, 120, 40)
	p.sees("verified: make test")
	p.press("A", "enter")
	p.wait()
	p.press("ctrl+s")
	if err := sessions.accepts[0].Verify(t.Context(), "tree"); err != nil || len(sessions.verified) != 1 {
		t.Errorf("%v, %v", err, sessions.verified)
	}
}

func TestAFailedAcceptLosesNoDecision(t *testing.T) {
	sessions := &recorded{set: worked(t), fail: errors.New("a conflict")}
	p := newPerson(t, sessions, 120, 40)
	p.press("A")
	before := p.m.tally()
	p.press("enter", "!")
	p.wait()
	p.press("ctrl+s")
	p.sees("a conflict")
	if p.closed != nil || p.m.tally() != before {
		t.Errorf("closed %v, %+v", p.closed, p.m.tally())
	}
	p.press("enter")
	p.sees("Fix it")
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
		p := newPerson(t, sessions, max(1, int(width)), max(1, int(height)))
		for range 80 {
			if random.IntN(12) == 0 {
				p.m.SetSize(1+random.IntN(220), 1+random.IntN(70))
			}
			p.press(names[random.IntN(len(names))])
			_ = p.m.View()
		}
		if len(sessions.accepts) > 0 { // the clock stands still, so no question was open long enough
			t.Error("something was accepted")
		}
	})
}
