package compare

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/internal/fault"
	"aibox/review"
	"aibox/review/recovery"
	"aibox/session"
	"aibox/session/manager"
	"aibox/ui/page"
	"aibox/ui/uitest"

	tea "charm.land/bubbletea/v2"
)

// scene is a batch of sessions with their results.
type scene struct {
	members   []session.Session
	sets      map[session.ID]*review.ChangeSet
	verified  map[session.ID]int // exit codes
	decisions map[session.ID]*manager.Decisions
	discarded []session.ID
	err       error
}

func (s *scene) Batch(text string) (session.BatchID, []session.Session, error) {
	return session.BatchID(text), slices.Clone(s.members), s.err
}

func (s *scene) Find(text string) (session.Session, error) {
	for _, member := range s.members {
		if string(member.ID) == text {
			return member, s.err
		}
	}
	return session.Session{}, errors.New("there is none")
}

func (s *scene) FinalChanges(id session.ID) (*review.ChangeSet, error) {
	if set := s.sets[id]; set != nil {
		return set, nil
	}
	return nil, errors.New("there is none")
}

func (s *scene) Verifications(id session.ID) ([]session.Verification, error) {
	code, ok := s.verified[id]
	if !ok {
		return nil, nil
	}
	return []session.Verification{{ExitCode: code}}, nil
}

func (s *scene) Changed(ctx context.Context) (<-chan struct{}, error) {
	changed := make(chan struct{})
	close(changed)
	return changed, nil
}

func (s *scene) Decisions(id session.ID) (*manager.Decisions, error) {
	if d := s.decisions[id]; d != nil {
		return d, s.err
	}
	return &manager.Decisions{Taken: &review.Selection{}}, s.err
}

// accept accepts files of a session.
func (s *scene) accept(id session.ID, as session.Review, files ...review.Path) {
	taken := &review.Selection{}
	for _, file := range files {
		taken.Taken = append(taken.Taken, review.Taken{Path: file, Whole: true})
	}
	s.decisions = map[session.ID]*manager.Decisions{id: {Taken: taken}}
	for i := range s.members {
		if s.members[i].ID == id {
			s.members[i].State.Review = as
		}
	}
}

func (s *scene) Discard(_ context.Context, id session.ID) (*recovery.Point, error) {
	s.discarded = append(s.discarded, id)
	return nil, nil
}

// add adds a session that has ended with changes, each a path, added and deleted lines.
func (s *scene) add(id session.ID, model string, changes ...review.Change) {
	one := session.Session{Spec: session.Spec{ID: id, Agent: id.Agent(), Batch: "b-0dq4f", Prompt: "fix the \x1b[31mfailing test"}}
	one.Model = model
	one.State.Phase = session.Ended
	one.State.Result = &session.Result{Changed: len(changes) > 0, Seconds: 93, Tokens: session.Tokens{Requests: 4, Input: 12000, Output: 345, Cost: 0.42}}
	one.State.Result.Changes.Files = len(changes)
	s.members = append(s.members, one)
	s.sets[id] = &review.ChangeSet{GitDir: "g", Tree: fmt.Sprint(changes), Changes: changes}
}

func changed(path, blob string, added, deleted int) review.Change {
	return review.Change{Path: review.Path(path), Kind: review.Modified, NewBlob: blob, Added: added, Deleted: deleted}
}

func batch() *scene {
	s := &scene{sets: map[session.ID]*review.ChangeSet{}, verified: map[session.ID]int{"0dq4g-codex": 0, "0dq4h-claude": 1}}
	s.add("0dq4g-codex", "gpt-oss", changed("cart.go", "x", 12, 3), changed("cart_test.go", "t", 30, 0))
	s.add("0dq4h-claude", "qwen3-coder:30b", changed("cart.go", "y", 4, 4), changed("cart_test.go", "t", 30, 0), changed("docs/a/rather/long/way/down/to/the/\x1b[2Jfile.md", "d", 1, 1))
	s.add("0dq4i-qwen", "qwen3", changed("cart.go", "x", 12, 3), changed("cart_test.go", "t", 30, 0))
	s.members[1].State.Result.Fault = session.FailureOf(fault.New(fault.AgentFailed, "the agent exited with code 3"))
	s.members[1].State.Result.ExitCode = 3
	running := session.Session{Spec: session.Spec{ID: "0dq4j-aider", Agent: "aider", Batch: "b-0dq4f"}}
	running.State.Phase = session.Running
	s.members = append(s.members, running)
	return s
}

func newUser(t testing.TB, s *scene, width, height int) *uitest.User {
	m := New(t.Context(), s, page.Compare{Batch: "b-0dq4f"})
	m.debounce = 0
	passed := time.Now()
	m.now = func() time.Time { passed = passed.Add(time.Second); return passed }
	p := uitest.New(t, m, width, height)
	p.Run(m.Init())
	return p
}

func TestResultsAreShownSideBySide(t *testing.T) {
	for _, size := range uitest.Sizes {
		p := newUser(t, batch(), size[0], size[1])
		p.Show("opened")
		p.Press("down", "tab", "down", "down")
		p.Show("files")
		p.Press("tab", "A")
		p.Show("accepting one")
		p.Golden("")
	}
}

// A narrow window hides columns of the list, but none of the values of the selected session.
func TestTheFootShowsWhatNoColumnShows(t *testing.T) {
	for width := 40; width <= 200; width++ {
		p := newUser(t, batch(), width, 24)
		p.Press("down")
		p.Fits("the foot")
		for _, want := range []string{"qwen3-coder", "$0.42", "12k", "1m33s", "failed", "exited with code 3"} {
			if width >= 80 && !strings.Contains(p.View(), want) {
				t.Errorf("%q is missing in %d columns:\n%s", want, width, p.View())
			}
		}
	}
}

func TestManySessionsHaveAColumnForTheSelectedOne(t *testing.T) {
	s := &scene{sets: map[session.ID]*review.ChangeSet{}}
	for i := range 20 {
		s.add(session.ID(fmt.Sprintf("0dq%c0-shell", 'a'+i)), "", changed("a.go", fmt.Sprint(i), i, 0))
	}
	p := newUser(t, s, 80, 24)
	p.Sees("more sessions")
	p.Press("G")
	p.Sees("▸ 0dqt0-shell")
	p.Sees("M +19 -0")
	p.Show("many")
	p.Golden("many")
}

func TestAChangeOfOnlyTheModeIsNamed(t *testing.T) {
	s := &scene{sets: map[session.ID]*review.ChangeSet{}}
	s.add("0dq4g-codex", "", review.Change{Path: "run.sh", Kind: review.ModeChanged, OldMode: "100644", NewMode: "100755", NewBlob: "r"})
	s.add("0dq4h-claude", "", review.Change{Path: "run.sh", Kind: review.ModeChanged, OldMode: "100755", NewMode: "100644", NewBlob: "r"})
	p := newUser(t, s, 80, 24)
	p.Sees("M mode +x   M mode -x   run.sh")
}

func TestAChangedBinaryFileIsShownWithItsSize(t *testing.T) {
	s := &scene{sets: map[session.ID]*review.ChangeSet{}}
	s.add("0dq4g-codex", "", changed("a.go", "x", 1, 2), review.Change{Path: "logo.png", Kind: review.Modified, NewBlob: "r", Size: 3000, Binary: true})
	s.add("0dq4h-claude", "", review.Change{Path: "logo.png", Kind: review.Deleted, Binary: true})
	p := newUser(t, s, 80, 24)
	p.Sees("0dq4g            0dq4h            FILE")
	p.Sees("M binary 2.9 KiB D binary         logo.png")
	p.Sees("M +1 -2          ·                a.go")
}

func TestARunningSessionIsNotReportedToHaveChangedNoFile(t *testing.T) {
	s := &scene{sets: map[session.ID]*review.ChangeSet{}}
	s.add("0dq4g-codex", "gpt-oss")
	s.members = append(s.members, batch().members[3])
	newUser(t, s, 80, 24).Sees("no changes yet; those of a running session show once it has ended")
	s.members = s.members[:1]
	s.add("0dq4h-claude", "qwen3")
	newUser(t, s, 80, 24).Sees("no session has changed a file")
}

func TestKeysReviewCompareAndAcceptASession(t *testing.T) {
	p := newUser(t, batch(), 120, 40)
	p.Press("enter", "down", "d", "l")
	want := []page.Request{
		page.Review{ID: "0dq4g-codex"}, page.Session{ID: "0dq4h-claude"},
	}
	if len(p.Asked) != 3 || p.Asked[0] != want[0] || p.Asked[2] != want[1] {
		t.Fatalf("asks for %v", p.Asked)
	}
	if c, ok := p.Asked[1].(page.Command); !ok || !slices.Equal(c.Args, []string{"compare", "--diff", "0dq4g-codex", "0dq4h-claude"}) {
		t.Errorf("asks for %v", p.Asked[1])
	}
	p.Press("space", "up", "d")
	if c, ok := p.Asked[3].(page.Command); !ok || !slices.Equal(c.Args[2:], []string{"0dq4h-claude", "0dq4g-codex"}) {
		t.Errorf("asks for %v", p.Asked[3])
	}
	p.Press("esc")
	if p.Asked[4] != (page.Close{}) {
		t.Errorf("asks for %v", p.Asked[4])
	}
}

func TestTheOthersAreDiscardedOnlyAfterTheAcceptance(t *testing.T) {
	s := batch()
	p := newUser(t, s, 120, 40)
	p.Press("A", "n")
	p.Send(page.Returned{})
	p.Press("A", "y")
	if c, ok := p.Asked[0].(page.Command); !ok || !slices.Equal(c.Args, []string{"accept", "0dq4g-codex"}) || len(s.discarded) > 0 {
		t.Fatalf("asks for %v, discarded %v", p.Asked, s.discarded)
	}
	p.Send(page.Returned{}) // it was not accepted, whatever happened
	p.Sees("nothing of 0dq4g-codex was accepted now, so nothing was discarded")
	p.Press("A", "y")
	p.Send(page.Returned{Err: errors.New("no disk")})
	if len(s.discarded) > 0 {
		t.Fatalf("discarded %v", s.discarded)
	}
	p.Press("A", "y")
	s.accept("0dq4g-codex", session.Accepted, "cart.go", "cart_test.go")
	p.Send(page.Returned{})
	if !slices.Equal(s.discarded, []session.ID{"0dq4h-claude", "0dq4i-qwen"}) {
		t.Errorf("discarded %v", s.discarded)
	}
	p.Sees("2 other sessions discarded")
	p.Send(page.Returned{})
	if len(s.discarded) != 2 {
		t.Errorf("discarded %v", s.discarded)
	}
}

func TestAChoiceThatAnotherScreenOvertakesDiscardsNothing(t *testing.T) {
	s := batch()
	p := newUser(t, s, 120, 40)
	p.Withhold = func(msg tea.Msg) bool { _, is := msg.(chosen); return is }
	p.Press("A", "y")
	p.Send(page.Covered{})
	p.Withhold = nil
	p.Send(p.Withheld[0])
	s.accept("0dq4g-codex", session.PartlyAccepted, "cart.go") // in the review that covers it
	p.Send(page.Returned{})
	if len(p.Asked) > 0 || len(s.discarded) > 0 {
		t.Fatalf("asks for %v, discarded %v", p.Asked, s.discarded)
	}
	p.Sees("nothing of 0dq4g-codex was accepted, as another screen was opened; choose it again")
}

// The command reports its own failure, so the screen learns nothing of it.
func TestAFailedAcceptanceAfterAnEarlierOneDiscardsNothing(t *testing.T) {
	s := batch()
	s.accept("0dq4g-codex", session.PartlyAccepted, "cart.go")
	p := newUser(t, s, 120, 40)
	p.Press("A", "y")
	p.Send(page.Returned{})
	if len(s.discarded) > 0 {
		t.Fatalf("discarded %v", s.discarded)
	}
	p.Sees("nothing of 0dq4g-codex was accepted now, so nothing was discarded")
	p.Press("A", "y")
	s.accept("0dq4g-codex", session.Accepted, "cart.go", "cart_test.go")
	p.Send(page.Returned{})
	if len(s.discarded) != 2 {
		t.Errorf("discarded %v", s.discarded)
	}
}

func TestNothingIsAcceptedIfEarlierDecisionsCannotBeRead(t *testing.T) {
	s := batch()
	p := newUser(t, s, 120, 40)
	s.err = errors.New("no disk")
	p.Press("A", "y")
	p.Sees("no disk")
	if len(p.Asked) > 0 {
		t.Errorf("asks for %v", p.Asked)
	}
}

func TestAFailureToLoadIsShown(t *testing.T) {
	s := batch()
	s.err = errors.New("no disk\x1b[2J")
	p := newUser(t, s, 80, 24)
	p.Sees("no disk")
	p.Press("enter", "d", "A", "x", "down", "tab")
	if len(p.Asked) > 0 {
		t.Errorf("asks for %v", p.Asked)
	}
}

func TestRandomKeysLeaveTheViewWhole(t *testing.T) {
	p := newUser(t, batch(), 80, 24)
	p.ActRandomly(rand.New(rand.NewPCG(1, 2)), 400, []string{"up", "down", "tab", "enter", "a", "A", "x", "y", "n", "d", "space", "esc", "l", "G", "g", "pgdown"})
}

func TestOnlyTheListWithTheFocusHasTheCursor(t *testing.T) {
	p := newUser(t, batch(), 80, 24)
	cursors := func(where string) {
		t.Helper()
		if n := strings.Count(p.View(), "▸"); n != 1 {
			t.Errorf("%s, there are %d cursors:\n%s", where, n, p.View())
		}
	}
	cursors("in the sessions")
	p.DoesNotSee("▹")
	p.Press("tab")
	cursors("in the files")
	p.Sees("▹ ") // the session that the keys are about
}

func TestALongPathIsCutAtItsStartOnly(t *testing.T) {
	path := strings.Repeat("folder/", 12) + "name.go"
	for width := 40; width < 130; width++ {
		s := &scene{sets: map[session.ID]*review.ChangeSet{}}
		s.add("0dqt0-shell", "", changed(path, "a", 1, 0))
		s.add("0dqu0-shell", "", changed(path, "b", 2, 0))
		p := newUser(t, s, width, 24)
		p.Fits("a long path")
		p.Sees("/name.go")
	}
}

func TestACanceledQuestionDiscardsNothingLater(t *testing.T) {
	s := batch()
	p := newUser(t, s, 120, 40)
	p.Press("A", "n", "enter") // the review
	s.accept("0dq4g-codex", session.PartlyAccepted, "cart.go")
	p.Send(page.Returned{})
	if len(s.discarded) > 0 {
		t.Errorf("discarded %v", s.discarded)
	}
}

func TestAKeyThatDecidesNothingSaysWhy(t *testing.T) {
	s := batch()
	s.members[0].State.Review = session.Discarded
	p := newUser(t, s, 120, 40)
	for _, key := range []string{"a", "A", "x"} {
		p.Press(key)
		p.Sees(key + " does nothing: 0dq4g-codex has no work that waits for a decision")
	}
	s.members[1].State.Review = session.Accepted
	p = newUser(t, s, 120, 40)
	p.Press("down", "down", "A")
	p.Sees("A does nothing: no other session has work that waits for a decision")
	p.Press("up")
	p.DoesNotSee("does nothing")
}
