package manager

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/review"
	"aibox/review/accept"
	"aibox/session"
	"aibox/session/feedback"
)

func choose(files ...string) accept.Options {
	return accept.Options{Choice: review.Choice{Files: files}}
}

var everything = accept.Options{Choice: review.Choice{All: true}}

// reviewOf returns the review state of the session's work.
func (d *fixture) reviewOf(id session.ID) session.Review {
	d.t.Helper()
	record, err := d.store.Load(id)
	d.must(err)
	return record.State.Review
}

func TestWorkIsDeliveredToOneTargetOrBranchOnly(t *testing.T) {
	one, two := &review.Selection{Taken: []review.Taken{{Path: "one"}}}, &review.Selection{Taken: []review.Taken{{Path: "two"}}}
	d := &Decisions{Taken: one.Union(two), Branch: &accept.Prior{Selection: one, Branch: "aibox/a"}}
	for _, c := range []struct {
		target accept.Target
		branch string
		want   *review.Selection
	}{{accept.ToBranch, "", one}, {accept.ToBranch, "aibox/a", one}, {accept.ToBranch, "mine", nil}, {accept.ToWorktree, "", nil}} {
		if got := d.Delivered(c.target, c.branch); got != c.want {
			t.Errorf("%s, %q: %+v", c.target, c.branch, got)
		}
	}
	d.Worktree = &accept.Prior{Selection: two}
	if got := d.Delivered(accept.ToWorktree, ""); got != two {
		t.Errorf("of the working tree: %+v", got)
	}
}

func TestWorkAcceptedInPartsIsReviewedWhenNoneIsLeft(t *testing.T) {
	d := newFixture(t)
	d.ended("00001-a", "one.txt", "two.txt", "three.txt")
	first, err := d.Accept(t.Context(), "00001-a", choose("one.txt"))
	d.must(err)
	if got := d.reviewOf("00001-a"); got != session.PartlyAccepted {
		t.Errorf("after one file the review is %q", got)
	}
	if f, ok := errors.AsType[*fault.Fault](d.Remove(t.Context(), "00001-a", false)); !ok || f.Kind != fault.Conflict {
		t.Errorf("removing what is partly accepted gives %v", f)
	}
	_, err = d.Accept(t.Context(), "00001-a", choose("one.txt"))
	if f, ok := errors.AsType[*fault.Fault](err); !ok || f.Kind != fault.Usage || !strings.Contains(err.Error(), "already accepted, on branch aibox/00001-a") {
		t.Errorf("accepting the same again gives %v", err)
	}
	second, err := d.Accept(t.Context(), "00001-a", everything)
	d.must(err)
	if got := d.reviewOf("00001-a"); got != session.Accepted {
		t.Errorf("after all files the review is %q", got)
	}
	if d.git("rev-parse", second.Commit+"^") != first.Commit || second.Branch != first.Branch || second.Files != 2 {
		t.Errorf("the second accept is %+v", second)
	}
	if got := d.saved("00001-a"); got != "2 accepted 00001-a, 1 accepted 00001-a" {
		t.Errorf("saved are %s", got)
	}
	decisions, err := d.Decisions("00001-a")
	d.must(err)
	if len(decisions.Taken.Taken) != 3 || decisions.Branch.Commit != second.Commit || decisions.Worktree != nil {
		t.Errorf("the decisions are %+v", decisions)
	}
	d.must(d.Remove(t.Context(), "00001-a", false))
}

func TestAResumedSessionStartsFromAcceptedWork(t *testing.T) {
	d := newFixture(t)
	d.ended("00001-a", "one.txt", "two.txt")
	first, err := d.Accept(t.Context(), "00001-a", choose("one.txt"))
	d.must(err)
	d.resumed("00001-a", "00002-b", "three.txt")
	second, err := d.Accept(t.Context(), "00002-b", choose("three.txt"))
	d.must(err)
	if second.Branch != "aibox/00001-a" || d.git("rev-parse", second.Commit+"^") != first.Commit {
		t.Errorf("the second accept is %+v", second)
	}
	if got := d.git("ls-tree", "--name-only", second.Branch); got != "a.txt\ndir\none.txt\nthree.txt" {
		t.Errorf("the branch has %q", got)
	}
	if got := d.reviewOf("00002-b"); got != session.PartlyAccepted {
		t.Errorf("the review is %q", got)
	}
}

func TestWorkingTreeAndBranchDeliveriesAreRecordedSeparately(t *testing.T) {
	d := newFixture(t)
	d.ended("00001-a", "one.txt", "two.txt")
	opts := choose("one.txt")
	opts.Target = accept.ToWorktree
	accepted, err := d.Accept(t.Context(), "00001-a", opts)
	d.must(err)
	if data, err := os.ReadFile(filepath.Join(d.repo, "one.txt")); err != nil || string(data) != "one.txt\n" || accepted.Branch != "" {
		t.Errorf("one.txt is %q (%v), %+v", data, err, accepted)
	}
	branch, err := d.Accept(t.Context(), "00001-a", choose("two.txt"))
	d.must(err)
	if got := d.git("ls-tree", "--name-only", branch.Branch); got != "a.txt\ndir\ntwo.txt" {
		t.Errorf("the branch has %q", got)
	}
	if got := d.reviewOf("00001-a"); got != session.Accepted {
		t.Errorf("the review is %q", got)
	}
	if _, err := d.Accept(t.Context(), "00001-a", opts); err == nil || !strings.Contains(err.Error(), "already accepted") {
		t.Errorf("accepting the same again gives %v", err)
	}
}

func TestAFailedAcceptRecordsNoDecision(t *testing.T) {
	d := newFixture(t)
	d.ended("00001-a", "one.txt")
	opts := everything
	opts.Verify = func(context.Context, string) error { return fault.New(fault.Internal, "it does not pass") }
	if _, err := d.Accept(t.Context(), "00001-a", opts); err == nil {
		t.Fatal("it was accepted")
	}
	decisions, err := d.Decisions("00001-a")
	d.must(err)
	if got := d.reviewOf("00001-a"); got != session.Unreviewed || !decisions.Taken.Empty() || d.git("branch", "--list", "aibox/*") != "" {
		t.Errorf("the review is %q, the decisions %+v", got, decisions)
	}
	if _, err := d.Accept(t.Context(), "00001-a", accept.Options{}); !errors.Is(err, review.ErrNothing) {
		t.Errorf("choosing nothing gives %v", err)
	}
}

func TestASessionWithoutChangesAfterAcceptedWorkIsReviewed(t *testing.T) {
	d := newFixture(t)
	d.ended("00001-a", "one.txt")
	_, err := d.Accept(t.Context(), "00001-a", everything)
	d.must(err)
	for _, next := range []struct {
		from, id session.ID
		files    []string
		want     session.Review
	}{
		{"00001-a", "00002-b", nil, session.Accepted},
		{"00002-b", "00003-c", []string{"later.txt"}, session.PartlyAccepted},
	} {
		d.resumed(next.from, next.id, next.files...)
		record, err := d.store.Load(next.id)
		d.must(err)
		set, err := d.Changes(t.Context(), next.id)
		d.must(err)
		record.State.Review, err = ReviewOf(d.store, next.id, set)
		d.must(err)
		d.must(d.store.WriteState(next.id, record.State))
		if got := d.reviewOf(next.id); got != next.want {
			t.Errorf("the review of %s is %q, not %q", next.id, got, next.want)
		}
	}
}

func TestAcceptDeliversTheChangeSetNotLaterWorkspaceChanges(t *testing.T) {
	d := newFixture(t)
	ws := d.ended("00001-a", "one.txt")
	d.ended("00002-b", "two.txt")
	set, err := d.Changes(t.Context(), "00001-a")
	d.must(err)
	other, err := d.Changes(t.Context(), "00002-b")
	d.must(err)
	d.write(filepath.Join(ws.Path, "later.txt"), "later\n")
	looks := 0
	d.deps.Looking = func() (func(int), func()) { looks++; return nil, func() {} }
	plan, err := d.PlanWorktree(t.Context(), "00001-a", set, everything.Choice)
	d.must(err)
	if len(plan.Steps) != 1 || plan.Steps[0].Path != "one.txt" {
		t.Errorf("the plan is %+v", plan.Steps)
	}
	if _, err := d.AcceptSet(t.Context(), "00001-a", other, everything); err == nil {
		t.Error("the changes of another session were accepted")
	}
	accepted, err := d.AcceptSet(t.Context(), "00001-a", set, everything)
	d.must(err)
	if got := d.git("ls-tree", "--name-only", accepted.Branch); got != "a.txt\ndir\none.txt" || looks != 0 {
		t.Errorf("the branch has %q after %d looks at the workspace", got, looks)
	}
}

func TestDiscardedWorkIsAcceptedOnlyAfterRecovery(t *testing.T) {
	d := newFixture(t)
	d.ended("00001-a", "one.txt", "two.txt")
	set, err := d.Changes(t.Context(), "00001-a")
	d.must(err)
	saved, err := d.Discard(t.Context(), "00001-a")
	d.must(err)
	_, err = d.AcceptSet(t.Context(), "00001-a", set, choose("one.txt"))
	f, ok := errors.AsType[*fault.Fault](err)
	if !ok || f.Kind != fault.Usage || !strings.Contains(err.Error(), "discarded") || d.reviewOf("00001-a") != session.Discarded {
		t.Errorf("accepting discarded work gives %v, and the review is %q", err, d.reviewOf("00001-a"))
	}
	if _, err := d.PlanWorktree(t.Context(), "00001-a", set, review.Choice{All: true}); err == nil {
		t.Error("a preview of accepting discarded work was returned")
	}
	_, err = d.RestoreWorkspace(t.Context(), "00001-a", *saved)
	d.must(err)
	_, err = d.Accept(t.Context(), "00001-a", choose("one.txt"))
	d.must(err)
}

func TestAnAcceptOfAcceptedWorkNamesTheRest(t *testing.T) {
	d := newFixture(t)
	d.ended("00001-a", "one.txt", "two.txt", "three.txt", "Makefile")
	if _, err := d.Accept(t.Context(), "00001-a", accept.Options{Choice: review.Choice{Files: []string{"two.txt"}}}); err != nil {
		t.Fatal(err)
	}
	_, err := d.Accept(t.Context(), "00001-a", accept.Options{Choice: review.Choice{Files: []string{"two.txt"}}})
	if err == nil || !strings.Contains(err.Error(), "already accepted, on branch aibox/00001-a; still undecided: one.txt, three.txt; left out because of risks: Makefile") {
		t.Errorf("%v", err)
	}
	if _, err := d.Accept(t.Context(), "00001-a", accept.Options{Choice: review.Choice{All: true}}); err != nil {
		t.Fatal(err)
	}
	_, err = d.Accept(t.Context(), "00001-a", accept.Options{Choice: review.Choice{All: true}})
	f, ok := errors.AsType[*fault.Fault](err)
	if !ok || !strings.HasSuffix(err.Error(), "; still left out because of risks: Makefile") || !strings.Contains(strings.Join(f.Hints, "\n"), "--accept-risky FILE") {
		t.Errorf("%v, hints %v", err, f)
	}
}

func TestAnAcceptOfRejectedOrAcceptedWorkNamesTheRest(t *testing.T) {
	d := newFixture(t)
	d.ended("00001-a", "one.txt", "two.txt", "three.txt", "Makefile")
	two := accept.Options{Choice: review.Choice{Files: []string{"two.txt"}}}
	both := accept.Options{Choice: review.Choice{Files: []string{"one.txt", "two.txt"}}}
	_, err := d.Accept(t.Context(), "00001-a", two)
	d.must(err)
	set, err := d.FinalChanges("00001-a")
	d.must(err)
	d.must(set.Files(t.Context(), func(f review.FileDiff) error {
		return d.Reject(t.Context(), "00001-a", []review.HunkID{f.Hunks[0].ID}, "")
	}, "one.txt"))
	var accepted []string
	d.must(set.Files(t.Context(), func(f review.FileDiff) error {
		accepted = append(accepted, string(f.Hunks[0].ID))
		return nil
	}, "two.txt"))

	_, err = d.Accept(t.Context(), "00001-a", both)
	want := "already rejected or accepted, on branch aibox/00001-a; still undecided: three.txt; left out because of risks: Makefile; rejected in part or as a whole: one.txt"
	if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
	hints := strings.Join(fault.Hints(err), "\n")
	for _, hint := range []string{"aibox reject 00001-a HUNK --remove", "--accept-risky FILE", "aibox review 00001-a"} {
		if !strings.Contains(hints, hint) {
			t.Errorf("the hints %q do not have %q", hints, hint)
		}
	}
	for _, opts := range []accept.Options{two, {Choice: review.Choice{Hunks: accepted}}} { // they do not select what is rejected
		_, err := d.Accept(t.Context(), "00001-a", opts)
		if err == nil || !strings.Contains(err.Error(), "already accepted, on branch aibox/00001-a; still undecided: three.txt") || strings.Contains(strings.Join(fault.Hints(err), "\n"), "--remove") {
			t.Errorf("%v, hints %q", err, fault.Hints(err))
		}
	}
}

func TestAChoiceThatNamesHunksLeavesOutOtherRejectedOnes(t *testing.T) {
	lines := func(changed ...int) string { // two hunks: the first one has two parts
		var text strings.Builder
		for n := range 30 {
			if slices.Contains(changed, n) {
				text.WriteString("new ")
			}
			fmt.Fprintln(&text, n)
		}
		return text.String()
	}
	d := newFixture(t)
	d.write(filepath.Join(d.repo, "a.txt"), lines())
	ws := d.prepared("00001-a")
	d.write(filepath.Join(ws.Path, "a.txt"), lines(2, 5, 25))
	d.write(filepath.Join(ws.Path, "b.txt"), "b\n")
	d.end("00001-a", ws)
	set, err := d.Changes(t.Context(), "00001-a")
	d.must(err)
	var a []review.Hunk
	var b string
	d.must(set.Files(t.Context(), func(f review.FileDiff) error {
		if a = append(a, f.Hunks...); f.Change.Path == "b.txt" {
			b = string(f.Hunks[0].ID)
		}
		return nil
	}))
	parts := a[0].Split()
	first, one, two := string(a[0].ID), string(parts[0].ID), string(parts[1].ID)
	for _, c := range []struct {
		rejected, hunks, except []string
	}{
		{[]string{first}, nil, []string{first}},
		{[]string{first}, []string{b}, []string{first}},
		{[]string{first}, []string{b, first[:8]}, nil},
		{[]string{first}, []string{strings.ToUpper(first)}, nil},
		{[]string{first}, []string{one}, []string{two}},
		{[]string{first}, []string{first + ":1-2"}, nil},
		{[]string{one}, []string{b}, []string{one}},
		{[]string{one}, []string{two}, []string{one}},
		{[]string{one, two}, []string{first}, nil},
	} {
		f := feedback.Feedback{}
		for _, hunk := range c.rejected {
			f.Rejected = append(f.Rejected, feedback.Rejection{Hunk: review.HunkID(hunk), Path: "a.txt"})
		}
		d.must(d.store.Write("00001-a", feedbackFile, f))
		choice, err := d.WithoutRejected(t.Context(), "00001-a", set, review.Choice{Files: []string{"a.txt"}, Hunks: c.hunks})
		if err != nil || !slices.Equal(choice.Except, c.except) || !slices.Equal(choice.Hunks, c.hunks) {
			t.Errorf("of the rejected %q, a choice of %q leaves out %q, not %q: %v", c.rejected, c.hunks, choice.Except, c.except, err)
		}
	}
	d.must(d.store.Write("00001-a", feedbackFile, feedback.Feedback{Rejected: []feedback.Rejection{{Hunk: a[0].ID, Path: "a.txt"}}}))
	_, err = d.Accept(t.Context(), "00001-a", accept.Options{Choice: review.Choice{Files: []string{"a.txt"}, Hunks: []string{b[:8]}}, Message: "Work"})
	d.must(err)
	if got := d.git("show", "aibox/00001-a:a.txt"); got != strings.TrimSpace(lines(25)) || d.git("show", "aibox/00001-a:b.txt") != "b" {
		t.Errorf("the branch has %q", got)
	}
}
