package manager

import (
	"fmt"
	"strings"

	"aibox/internal/fault"
	"aibox/review"
	"aibox/review/accept"
	"aibox/session"
)

// Remaining lists the files of a change set that were not or only partly delivered. Each
// file is in one list.
type Remaining struct {
	Undecided []review.Path
	Risky     []review.Path // with risks, which a plain accept leaves out
	Rejected  []review.Path // with rejected hunks
}

// remaining returns the part of a change set that earlier accepts did not deliver. rejected
// holds the files with rejected hunks.
func (d *Decisions) remaining(set *review.ChangeSet, rejected map[review.Path]bool) Remaining {
	var r Remaining
	for i := range set.Changes {
		c := &set.Changes[i]
		switch t := d.Taken.At(c.Path); {
		case t != nil && t.Whole && t.Fits(c):
		case c.Risky():
			r.Risky = append(r.Risky, c.Path)
		case rejected[c.Path]:
			r.Rejected = append(r.Rejected, c.Path)
		default:
			r.Undecided = append(r.Undecided, c.Path)
		}
	}
	return r
}

// Remaining returns the part of a session's change set that earlier accepts did not
// deliver.
func (s *workReader) Remaining(id session.ID, set *review.ChangeSet) (Remaining, error) {
	decisions, err := s.Decisions(id)
	if err != nil {
		return Remaining{}, err
	}
	f, err := s.Feedback(id)
	if err != nil {
		return Remaining{}, err
	}
	rejected := map[review.Path]bool{}
	for _, r := range f.Open().Rejected {
		rejected[r.Path] = true
	}
	return decisions.remaining(set, rejected), nil
}

// Lines describes the remaining files, a line for each kind.
func (r Remaining) Lines() []string {
	var lines []string
	for _, kind := range []struct {
		name  string
		paths []review.Path
	}{{"undecided", r.Undecided}, {"left out because of risks", r.Risky}, {"rejected in part or as a whole", r.Rejected}} {
		if len(kind.paths) > 0 {
			lines = append(lines, kind.name+": "+review.NamePaths(kind.paths))
		}
	}
	return lines
}

// alreadyDecided is the error for a choice whose changes were all delivered before, or, if
// rejected is set, left out because they are rejected. It lists the remaining changes.
func alreadyDecided(record *session.Session, target accept.Target, rejected bool, left Remaining) error {
	where := ""
	if target == accept.ToBranch && record.State.Branch != "" {
		where = ", on branch " + record.State.Branch
	}
	how := "accepted"
	if rejected {
		how = "rejected or accepted"
	}
	text := fmt.Sprintf("what you chose of %s is already %s%s", record.ID, how, where)
	if lines := left.Lines(); len(lines) > 0 {
		text += "; still " + strings.Join(lines, "; ")
	}
	f := fault.New(fault.Usage, "%s", text)
	if rejected {
		_ = f.Hint("`aibox comment %s` lists the rejected hunks; `aibox reject %s HUNK --remove` takes that back", record.ID, record.ID)
	}
	if len(left.Undecided)+len(left.Rejected) > 0 {
		_ = f.Hint("`aibox review %s` decides about the rest", record.ID)
	}
	if len(left.Risky) > 0 {
		_ = f.Hint("`aibox accept %s --accept-risky FILE` accepts a file despite its risks", record.ID)
	}
	if where != "" {
		return f.Hint("`aibox accept %s --branch NAME` puts the accepted work on another branch", record.ID)
	}
	return f.Hint("`aibox diff %s` shows what it changed", record.ID)
}
