package feedback

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"aibox/review"
)

// Addition is feedback that is added as a whole, or not at all.
type Addition struct {
	Comments []Comment // with Path, Line, Hunk and Text
	Reject   []review.HunkID
	Reason   string // reason for the rejections
}

// Empty reports whether there is nothing to add.
func (a Addition) Empty() bool { return len(a.Comments)+len(a.Reject) == 0 }

// AddAll adds comments and rejections as Add and Reject do. It omits comments that are there and
// unsent. After an error, f may have a part of them.
func (f *Feedback) AddAll(ctx context.Context, of string, set *review.ChangeSet, a Addition) error {
	open := f.Open().Comments
	for _, c := range a.Comments {
		if err := c.Normalize(); err != nil {
			return err
		}
		if slices.ContainsFunc(open, c.isStoredAs) {
			continue
		}
		if _, err := f.Add(ctx, of, set, c); err != nil {
			return err
		}
	}
	if len(a.Reject) == 0 {
		return nil
	}
	return f.Reject(ctx, of, set, a.Reject, a.Reason)
}

// isStoredAs reports whether a stored comment is this one, which is not stored.
func (c Comment) isStoredAs(stored Comment) bool {
	if stored.Text != c.Text {
		return false
	}
	if c.Hunk != "" {
		return strings.HasPrefix(string(stored.Hunk), strings.ToLower(string(c.Hunk)))
	}
	return stored.Hunk == "" && stored.Path == c.Path && stored.Line == c.Line
}

// Clone returns a copy that shares nothing with f.
func (f Feedback) Clone() Feedback {
	return Feedback{Comments: slices.Clone(f.Comments), Rejected: slices.Clone(f.Rejected)}
}

// Equal reports whether both are the same after they were stored and read, which makes text that is
// not UTF-8 valid.
func (f Feedback) Equal(other Feedback) bool {
	a, errA := f.reread()
	b, errB := other.reread()
	return errA == nil && errB == nil && reflect.DeepEqual(a, b)
}

// reread returns the feedback that a reader gets after f was stored.
func (f Feedback) reread() (read Feedback, err error) {
	data, err := json.Marshal(f)
	if err != nil {
		return read, err
	}
	return read, json.Unmarshal(data, &read)
}
