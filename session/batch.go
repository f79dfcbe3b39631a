package session

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"aibox/internal/fault"
	"aibox/internal/sorting"
)

// BatchID is the id of a batch, such as "b-0dq4f". A batch is a group of sessions that were
// started together on the same task. No session's id begins with its prefix.
type BatchID string

// batchPrefix begins the id of a batch. It is a letter and a dash, while the id of a session
// begins with five digits or a longer word.
const batchPrefix = "b-"

// IsBatch reports whether text can only name a batch, or a prefix of one.
func IsBatch(text string) bool { return strings.HasPrefix(text, batchPrefix) }

// ChooseBatchID returns the id of a batch that is about to be created. It is never used
// again.
func (s Store) ChooseBatchID(ctx context.Context, now time.Time) (BatchID, error) {
	number, err := s.nextNumber(ctx, now, true)
	if err != nil {
		return "", err
	}
	return BatchID(batchPrefix + digits(number)), nil
}

// Batch returns the sessions of the batch with the id text, which can be a unique prefix,
// oldest first.
func (s *Reader) Batch(text string) (BatchID, []Session, error) {
	if !IsID(text) || !IsBatch(text) {
		return "", nil, fault.New(fault.Usage, "%q is not the id of a batch", text).
			Hint("ids of batches look like b-0dq4f; `aibox ls` shows them")
	}
	all, damaged := s.List()
	var found []BatchID
	for i := range all {
		if id := all[i].Batch; strings.HasPrefix(string(id), text) && !slices.Contains(found, id) {
			found = append(found, id)
		}
	}
	if slices.Contains(found, BatchID(text)) {
		found = []BatchID{BatchID(text)}
	}
	switch {
	case len(found) == 0 && damaged != nil:
		return "", nil, damaged
	case len(found) == 0:
		return "", nil, fault.New(fault.Usage, "no batch %q", text).Hint("`aibox ls` lists the sessions with their batches")
	case len(found) > 1:
		slices.Sort(found)
		return "", nil, fault.New(fault.Usage, "%q could be the batches %s and %s", text, found[0], found[1]).Hint("type more of the id")
	}
	members := slices.DeleteFunc(all, func(s Session) bool { return s.Batch != found[0] })
	sorting.Func(members, func(a, b *Session) int { return cmp.Compare(a.ID, b.ID) })
	return found[0], members, nil
}
