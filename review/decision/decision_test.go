package decision

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"aibox/review"
	"aibox/review/accept"
	"aibox/review/reviewtest"
	"aibox/review/risk"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// example is a change set of a risky file, one with three hunks of which two can be
// split, a new file and a deleted one.
func example(t testing.TB) *review.ChangeSet {
	t.Helper()
	var lines []string
	for i := range 90 {
		lines = append(lines, fmt.Sprintf("line %d", i+1))
	}
	text := strings.Join(lines, "\n") + "\n"
	edit := strings.NewReplacer("line 5\n", "five\n", "line 8\n", "line 8 and more\n", "line 40\n", "forty\n", "line 70\n", "", "line 74\n", "line 74\nnew\n")
	set := reviewtest.ChangeSet(t, map[string]string{"Makefile": "all:\n", "src/text": text, "gone": "gone\n"},
		map[string]string{"Makefile": "all:\n\tcurl\n", "src/text": edit.Replace(text), "src/new": "new\n"})
	for i := range set.Changes { // by a rule of this test
		set.Changes[i].Risks = nil
		if set.Changes[i].Path == "Makefile" {
			set.Changes[i].Risks = []risk.Risk{{Rule: "make", Title: "a Makefile", Runs: "its recipes", When: "on make", By: "make", Severity: risk.Medium}}
		}
	}
	return set
}

// hunksOf reads the hunks of every file.
func hunksOf(t testing.TB, set *review.ChangeSet) map[review.Path][]review.Hunk {
	t.Helper()
	all := map[review.Path][]review.Hunk{}
	if err := set.Files(t.Context(), func(d review.FileDiff) error { all[d.Change.Path] = d.Hunks; return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

func changesOf(set *review.ChangeSet) []*review.Change {
	var all []*review.Change
	for i := range set.Changes {
		all = append(all, &set.Changes[i])
	}
	return all
}

// view is everything of a draft that a front end can see.
type view struct {
	Choice     review.Choice
	Tally      Tally
	Rejections []Rejection
	Unread     []review.Path
	Hunks      map[review.Path][]review.HunkID
	Decisions  map[review.HunkID]Decision
	Lines      map[review.HunkID][]int
	Consent    map[review.Path]bool
}

func viewOf(d *Draft) view {
	v := view{d.Choice(), d.count(), d.Rejections(), d.RejectedUnread(), map[review.Path][]review.HunkID{}, map[review.HunkID]Decision{}, map[review.HunkID][]int{}, map[review.Path]bool{}}
	for i := range d.Len() {
		f := d.File(i)
		v.Consent[f.Change.Path] = f.NeedsConsent()
		for _, h := range f.Hunks() {
			v.Hunks[f.Change.Path] = append(v.Hunks[f.Change.Path], h.ID)
			v.Decisions[h.ID] = f.Of(h.ID)
			if f.Of(h.ID) == Partial {
				v.Lines[h.ID] = f.lines[h.ID].numbers
			}
		}
	}
	return v
}

// driver makes random decisions.
type driver struct {
	*Draft
	hunks map[review.Path][]review.Hunk
}

// act does one random action, and reports whether Undo can revert it.
func (d driver) act(t *rapid.T) {
	i := rapid.IntRange(0, d.Len()-1).Draw(t, "file")
	to := Decision(rapid.IntRange(0, int(Skipped)).Draw(t, "decision"))
	consent := rapid.Bool().Draw(t, "consent")
	f := d.File(i)
	hunk := -1
	if n := len(f.Hunks()); n > 0 {
		hunk = rapid.IntRange(0, n-1).Draw(t, "hunk")
	}
	action := rapid.IntRange(0, 11).Draw(t, "action")
	needed := f.NeedsConsent()
	var err error
	switch {
	case action == 0:
		err = d.DecideFile(i, to, consent)
	case action == 1:
		d.DecideRest(0, d.Len(), to)
		return
	case action == 2:
		d.Reset()
		return
	case action == 3:
		d.Exclude(f.Change.Path, "src/text")
		return
	case hunk < 0:
		return
	case action == 4:
		err = d.DecideFrom(i, hunk, to, consent)
	case action == 5 && f.Loaded():
		d.Split(i, hunk)
		return
	case action > 9:
		if h := &f.Hunks()[hunk]; f.Loaded() && CanChooseLines(h) {
			numbers := rapid.SliceOfDistinct(rapid.IntRange(1, len(h.Changed())), rapid.ID).Draw(t, "lines")
			if err := d.DecideLines(i, h.ID, numbers, consent); len(numbers) > 0 && needed && !consent != errors.Is(err, ErrRisks) {
				t.Fatalf("lines of %s: %v", f.Change.Path, err)
			}
		}
		return
	case action == 6:
		d.Draft.Reject(i, f.Hunks()[hunk].ID, rapid.SampledFrom([]string{"", "no"}).Draw(t, "note"))
		return
	default:
		err = d.Decide(i, f.Hunks()[hunk].ID, to, consent)
	}
	if refuses := to == Accepted && needed && !consent; refuses != errors.Is(err, ErrRisks) {
		t.Fatalf("%v of %s: %v", to, f.Change.Path, err)
	}
}

// turn loads or unloads a file, which changes no decision.
func (d driver) turn(t *rapid.T) {
	i := rapid.IntRange(0, d.Len()-1).Draw(t, "file")
	if rapid.Bool().Draw(t, "load") {
		d.Load(i, d.hunks[d.File(i).Change.Path])
	} else if d.File(i).Loaded() {
		d.Unload(i)
	}
}

func TestEveryChoiceCanBeSelected(t *testing.T) {
	set := example(t)
	hunks := hunksOf(t, set)
	rapid.Check(t, func(t *rapid.T) {
		d := driver{New(changesOf(set), Options{HunksOnly: rapid.Bool().Draw(t, "hunks only")}), hunks}
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			d.turn(t)
			d.act(t)
		}
		plan, err := NewPlan(t.Context(), set, d.Choice(), nil)
		if err != nil {
			t.Fatalf("%+v: %v", d.Choice(), err)
		}
		if len(plan.Selection.Left) > 0 {
			t.Fatalf("%+v leaves out %+v", d.Choice(), plan.Selection.Left)
		}
		for i := range d.Len() {
			f := d.File(i)
			taken := slices.IndexFunc(plan.Selection.Taken, func(t review.Taken) bool { return t.Path == f.Change.Path })
			switch s := f.Status(d.Target()); {
			case s == StatusAccepted && (taken < 0 || !plan.Selection.Taken[taken].Whole):
				t.Fatalf("%s is accepted, and %+v is selected", f.Change.Path, plan.Selection.Taken)
			case s != StatusAccepted && s != StatusMixed && taken >= 0:
				t.Fatalf("%s is not accepted, and %+v is selected", f.Change.Path, plan.Selection.Taken)
			}
		}
		added, deleted := plan.Part.Totals()
		if lines := d.Tally().Lines; lines != (Size{added, deleted}) {
			t.Fatalf("%+v lines are counted, %d and %d selected", lines, added, deleted)
		}
	})
}

func TestUndoRevertsEveryStep(t *testing.T) {
	set := example(t)
	hunks := hunksOf(t, set)
	rapid.Check(t, func(t *rapid.T) {
		d := driver{New(changesOf(set), Options{}), hunks}
		for i := range d.Len() {
			d.Load(i, hunks[d.File(i).Change.Path])
		}
		views := []view{viewOf(d.Draft)}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			steps := d.Steps()
			d.act(t)
			switch d.Steps() - steps {
			case 0:
				if diff := cmp.Diff(views[len(views)-1], viewOf(d.Draft)); diff != "" {
					t.Fatalf("no step was recorded, yet:\n%s", diff)
				}
			case 1:
				views = append(views, viewOf(d.Draft))
			default:
				t.Fatalf("one call recorded %d steps", d.Steps()-steps)
			}
		}
		for i := len(views) - 2; i >= 0; i-- {
			for range rapid.IntRange(0, 2).Draw(t, "turns") {
				d.turn(t)
			}
			if !d.Undo() {
				t.Fatal("there is nothing to undo")
			}
			if diff := cmp.Diff(views[i], viewOf(d.Draft)); diff != "" {
				t.Fatalf("after undo (-want +got):\n%s", diff)
			}
		}
		if d.Undo() {
			t.Error("there is more to undo than was done")
		}
	})
}

func TestRiskyFilesComeFirstAndAreNotAcceptedWithTheRest(t *testing.T) {
	d := New(changesOf(example(t)), Options{})
	if d.File(0).Change.Path != "Makefile" {
		t.Fatalf("%s comes first", d.File(0).Change.Path)
	}
	if decided, risky := d.DecideRest(0, d.Len(), Accepted); decided != 3 || risky != 1 {
		t.Errorf("%d decided, %d risky", decided, risky)
	}
	if d.NextUndecided(0) != 0 || d.Choice().Risky != nil {
		t.Errorf("%+v", d.Choice())
	}
	if err := d.DecideFile(0, Accepted, true); err != nil || !slices.Equal(d.Choice().Risky, []string{"Makefile"}) {
		t.Errorf("%v, %+v", err, d.Choice())
	}
	if d.NextUndecided(0) != -1 {
		t.Error("something is undecided")
	}
}

func TestAcceptingAPreviouslyRejectedHunkIsReported(t *testing.T) {
	set := example(t)
	hunks := hunksOf(t, set)
	part := hunks["src/text"][0].Split()[1].ID
	d := New(changesOf(set), Options{Rejected: func(id review.HunkID) bool { return id == part }})
	i := d.Find("src/text")
	d.Load(i, hunks["src/text"])
	d.RestoreRejections(i)
	if got := d.File(i).Of(part); got != Rejected || len(d.Rejections()) != 1 || len(d.Unrejected()) > 0 {
		t.Fatalf("%v, %+v", got, d.Rejections())
	}
	if err := d.DecideFile(i, Accepted, false); err != nil {
		t.Fatal(err)
	}
	c := d.Choice()
	if len(c.Files) > 0 || !slices.Contains(c.Hunks, string(part)) || !slices.Equal(d.Unrejected(), []review.HunkID{part}) {
		t.Errorf("%+v, unrejected %v", c, d.Unrejected())
	}
	plan, err := NewPlan(t.Context(), set, c, nil)
	if err != nil || len(plan.Selection.Taken) != 1 || !plan.Selection.Taken[0].Whole {
		t.Errorf("%+v, %v", plan, err)
	}
}

// An accept leaves out hunks that are stored as rejected, unless the choice names hunks.
func TestAcceptedFilesWithStoredRejectionsNameTheirHunks(t *testing.T) {
	set := example(t)
	hunks := hunksOf(t, set)
	for _, split := range []bool{false, true} {
		d := New(changesOf(set), Options{})
		i := d.Find("src/text")
		d.Load(i, hunks["src/text"])
		d.Stored(hunks["src/text"][0].ID)
		if split && d.File(i).splitHunk(0) < 2 {
			t.Fatal("the hunk has no parts")
		}
		if err := d.DecideFile(i, Accepted, false); err != nil {
			t.Fatal(err)
		}
		if c := d.Choice(); len(c.Files) > 0 || len(c.Hunks) < 2 {
			t.Errorf("split %v: %+v", split, c)
		}
	}
}

func TestEarlierDeliveriesAreRecognized(t *testing.T) {
	set := example(t)
	hunks := hunksOf(t, set)
	text := hunks["src/text"]
	parts := text[0].Split()
	selection, err := set.Select(t.Context(), review.Choice{Files: []string{"gone"}, Hunks: []string{string(parts[0].ID), string(text[1].ID)}})
	if err != nil {
		t.Fatal(err)
	}
	d := New(changesOf(set), Options{Earlier: map[accept.Target]*review.Selection{accept.ToBranch: selection}})
	f := d.File(d.Find("src/text"))
	if d.Tally().Delivered != 1 || f.Status(accept.ToBranch) != StatusPartlyDelivered || f.Status(accept.ToWorktree) != StatusUndecided {
		t.Errorf("%+v, %v", d.Tally(), f.Status(accept.ToBranch))
	}
	var left []review.HunkID
	for _, h := range text {
		for _, part := range f.Remaining(h, accept.ToBranch) {
			left = append(left, part.ID)
		}
	}
	if want := []review.HunkID{parts[1].ID, text[2].ID}; !slices.Equal(left, want) {
		t.Errorf("%v remain, not %v", left, want)
	}
	if f.HunkDelivered(&text[0], accept.ToBranch) || !f.HunkDelivered(&text[1], accept.ToBranch) {
		t.Error("the wrong hunk counts as delivered")
	}
	d.SetTarget(accept.ToWorktree)
	if d.Tally().Delivered != 0 {
		t.Errorf("%+v", d.Tally())
	}
}

func TestSearchWrapsAround(t *testing.T) {
	set := example(t)
	d := New(changesOf(set), Options{})
	i := d.Find("src/text")
	d.Load(i, hunksOf(t, set)["src/text"])
	f := d.File(i)
	match := func(text string) func([]byte) bool {
		return func(line []byte) bool { return strings.Contains(string(line), text) }
	}
	for _, c := range []struct {
		at   int
		text string
		want int
	}{{0, "forty", 1}, {1, "forty", 1}, {2, "forty", 1}, {0, "line", 1}, {2, "line", 0}, {0, "nowhere", -1}} {
		if got := f.NextMatch(c.at, match(c.text)); got != c.want {
			t.Errorf("%q after %d is in hunk %d, not %d", c.text, c.at, got, c.want)
		}
	}
}

func TestAScopeHoldsTheNamedPaths(t *testing.T) {
	set := example(t)
	for name, c := range map[string]struct {
		paths []string
		want  []string
	}{
		"everything": {nil, []string{"Makefile", "gone", "src/new", "src/text"}},
		"a folder":   {[]string{"src"}, []string{"src/new", "src/text"}},
		"a glob":     {[]string{"**/t*"}, []string{"src/text"}},
		"risky":      {[]string{"Makefile"}, []string{"Makefile"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := NewScope(t.Context(), set, c.paths, nil)
			if err != nil {
				t.Fatal(err)
			}
			visited := map[string]bool{}
			if err := s.Files(t.Context(), func(d review.FileDiff) error { visited[d.Change.Path.Raw()] = true; return nil }); err != nil {
				t.Fatal(err)
			}
			alone, err := s.Standalone(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := slices.Sorted(maps.Keys(visited)); !slices.Equal(got, c.want) || len(s.Set().Changes) != len(c.want) || len(alone.Changes) != len(c.want) {
				t.Errorf("%v, not %v", got, c.want)
			}
		})
	}
	if _, err := NewScope(t.Context(), set, []string{"nowhere"}, nil); err == nil {
		t.Error("a path that nothing has is in scope")
	}
}

func TestAcceptingRisksOfAnUnselectedFileIsAnError(t *testing.T) {
	_, err := NewPlan(t.Context(), example(t), review.Choice{Files: []string{"src/new"}, Risky: []string{"Makefile"}}, nil)
	if err == nil || !strings.Contains(err.Error(), "Makefile") {
		t.Errorf("%v", err)
	}
}

func TestDecisionsAreCounted(t *testing.T) {
	set := example(t)
	hunks := hunksOf(t, set)["src/text"]
	rapid.Check(t, func(t *rapid.T) {
		d := New(changesOf(set), Options{})
		i := d.Find("src/text")
		d.Load(i, hunks)
		f := d.File(i)
		want := make([]Decision, len(hunks))
		for range 30 {
			to := Decision(rapid.IntRange(0, int(Skipped)).Draw(t, "decision"))
			if j := rapid.IntRange(0, len(hunks)).Draw(t, "hunk"); j < len(hunks) {
				want[j] = to
				_ = d.Decide(i, hunks[j].ID, to, false)
			} else {
				for j := range want {
					want[j] = to
				}
				_ = d.DecideFile(i, to, false)
			}
			var lines Size
			same := true
			for j, decision := range want {
				if got := f.Of(hunks[j].ID); got != decision {
					t.Fatalf("hunk %d is %v, not %v", j, got, decision)
				}
				if decision == Accepted {
					lines = lines.plus(f.sizes[j])
				}
				same = same && decision == want[0]
			}
			if got := d.Tally().Lines; got != lines {
				t.Fatalf("%+v lines are accepted, not %+v", got, lines)
			}
			if whole, mixed := f.Sum(); mixed == same || same && whole != want[0] {
				t.Fatalf("%v: %v, mixed %v", want, whole, mixed)
			}
			if got := f.HasUndecided(); got != slices.Contains(want, Undecided) {
				t.Fatalf("%v: has undecided %v", want, got)
			}
		}
	})
}

func TestARiskyFileIsAcceptedByEachOfItsNames(t *testing.T) {
	set := example(t)
	for _, name := range []string{"Makefile", "./Makefile"} {
		plan, err := NewPlan(t.Context(), set, review.Choice{All: true, Risky: []string{name}}, nil)
		if err != nil || plan.Selection.At("Makefile") == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := NewPlan(t.Context(), set, review.Choice{Files: []string{"gone"}, Risky: []string{"Makefile"}}, nil); err == nil {
		t.Error("the risks of a file that is not taken are accepted")
	}
}
