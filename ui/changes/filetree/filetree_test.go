package filetree

import (
	"slices"
	"testing"

	"aibox/review"
	"aibox/review/decision"
	"aibox/review/risk"

	"pgregory.net/rapid"
)

func TestEveryFileHasALineInTheList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		paths := rapid.SliceOfNDistinct(rapid.StringMatching(`([a-c]/){0,3}[a-e]x`), 1, 25, rapid.ID).Draw(t, "paths")
		set := &review.ChangeSet{}
		for _, path := range paths {
			set.Changes = append(set.Changes, review.Change{Path: review.Path(path)})
		}
		for i := range rapid.IntRange(0, len(paths)).Draw(t, "risky") {
			set.Changes[i].Risks = []risk.Risk{{Severity: risk.Medium}}
		}
		d := decision.New(InOrder(set), decision.Options{})
		var files []*decision.File
		for i := range d.Len() {
			files = append(files, d.File(i))
		}
		l := Tree{height: 20}
		l.SetFiles(files)
		for i, f := range files {
			if at := l.lineOf(i); at < 0 || l.entries[at].From != i {
				t.Fatalf("%s has no line among %+v", f.Change.Path, l.entries)
			}
		}
		for _, e := range l.entries {
			if e.folder != "" && rapid.Bool().Draw(t, "fold") {
				l.folded[e.folder] = true
			}
		}
		l.rebuild()
		for i, f := range files {
			l.Reveal(i)
			if e, _ := l.Entry(); !e.File || e.From != i {
				t.Fatalf("%s is not shown: %+v", f.Change.Path, e)
			}
		}
	})
}

func TestAFolderHasTheStatusThatAllOfItsFilesHave(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		statuses := rapid.Map(rapid.IntRange(0, int(decision.NumStatuses)-1), func(i int) decision.Status { return decision.Status(i) })
		of := rapid.SliceOfN(statuses, 1, 6).Draw(t, "statuses")
		counts := make(statusCounts, len(of)+1)
		for i, s := range of {
			counts[i+1] = counts[i]
			counts[i+1][s]++
		}
		from := rapid.IntRange(0, len(of)-1).Draw(t, "from")
		part := of[from : from+rapid.IntRange(1, len(of)-from).Draw(t, "n")]
		got := counts.of(from, from+len(part))
		if same := !slices.ContainsFunc(part, func(s decision.Status) bool { return s != part[0] }); same && got != part[0] ||
			!same && got != decision.StatusMixed && got != decision.StatusPartlyDelivered {
			t.Fatalf("%v: %v", part, got)
		}
		decided := slices.ContainsFunc(part, func(s decision.Status) bool {
			return s != decision.StatusUndecided && s != decision.StatusDelivered && s != decision.StatusPartlyDelivered
		})
		if got == decision.StatusMixed && !decided || got == decision.StatusPartlyDelivered && decided {
			t.Fatalf("%v: %v", part, got)
		}
	})
}
