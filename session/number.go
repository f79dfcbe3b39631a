package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"aibox/internal/fault"
	"aibox/internal/flock"
	"aibox/internal/paths"
	"aibox/workspace"
)

// lastFile holds the number of the newest session. The file is next to the repositories,
// which keep the work of sessions whose records were removed: no other session gets the
// number of a session that a repository still names.
const lastFile = "last-session"

// numberTimeout is how long to wait for another start to get its number.
const numberTimeout = 10 * time.Second

// epoch is the time of number 0. With minutes in five digits, numbers last until 2140.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// nextNumber returns a number that no session of these folders has had, larger than all
// earlier ones: the current minute, or the number after the last one. If distinct is set,
// it is the next number whose id differs from the ids of all sessions in its first four
// characters. The number is used up even when the session never starts.
func (s Store) nextNumber(ctx context.Context, now time.Time, distinct bool) (int64, error) {
	if err := paths.MakePrivate(s.dirs.Data); err != nil {
		return 0, fault.New(fault.Environment, "the folder for data cannot be used: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, numberTimeout)
	defer cancel()
	path := filepath.Join(s.dirs.Data, lastFile)
	turn, err := flock.Wait(ctx, path, flock.Exclusive)
	if errors.Is(err, context.DeadlineExceeded) {
		return 0, fault.New(fault.Environment, "another process holds %s", path).
			Hint("`fuser %s` names it: a stopped aibox, perhaps", path)
	}
	if err != nil {
		return 0, fmt.Errorf("taking a number for the session: %w", err)
	}
	defer turn.Close()
	text, err := io.ReadAll(io.LimitReader(turn.File(), 64))
	if err != nil {
		return 0, fmt.Errorf("reading the last session's number: %w", err)
	}
	last, ok := parseNumber(strings.TrimSuffix(string(text), "\n"))
	if !ok { // the first session, the first of this version, or a file damaged by a power failure
		last = s.largestNumber(ctx)
	}
	number := max(int64(now.Sub(epoch)/time.Minute), last+1)
	if distinct {
		number = s.skipTakenPrefixes(number)
	}
	// The file always has the same size, so a write does not need free disk space.
	if _, err = turn.File().WriteAt([]byte(digits(number)+"\n"), 0); err == nil {
		err = turn.File().Sync()
	}
	if err != nil {
		return 0, fmt.Errorf("storing the session's number: %w", err)
	}
	return number, nil
}

// prefixSpan is how many numbers share the first four characters of their ids.
const prefixSpan = 36

// maxPrefixes bounds how many taken prefixes are skipped.
const maxPrefixes = 100

// skipTakenPrefixes returns number, or the first later one whose prefix no listed session
// has, so that four characters are enough to type.
func (s Store) skipTakenPrefixes(number int64) int64 {
	ids, _ := s.IDs() // if they cannot be read, longer prefixes have to be typed
	taken := make(map[int64]bool, len(ids))
	for _, id := range ids {
		if !id.Hidden() {
			taken[id.number()/prefixSpan] = true
		}
	}
	for range maxPrefixes {
		if !taken[number/prefixSpan] {
			break
		}
		number = (number/prefixSpan + 1) * prefixSpan
	}
	return number
}

// largestNumber returns the largest number that a record or a repository names, or -1 if
// there is none. Unreadable ones are skipped, since ids also come from the clock.
func (s Store) largestNumber(ctx context.Context) int64 {
	last := int64(-1)
	ids, _ := s.IDs()
	for _, id := range ids {
		last = max(last, id.number())
	}
	for _, name := range workspace.Named(ctx, s.dirs) {
		last = max(last, ID(name).number())
	}
	return last
}

// number returns the number in an id; or -1 if it has none.
func (id ID) number() int64 {
	text := string(id)
	for _, prefix := range []string{verificationPrefix, openedPrefix} {
		text = strings.TrimPrefix(text, prefix)
	}
	first, _, _ := strings.Cut(text, "-")
	if number, ok := parseNumber(first); ok {
		return number
	}
	return -1
}

// digits formats a number as in ids.
func digits(number int64) string {
	text := strconv.FormatInt(number, 36)
	return strings.Repeat("0", max(0, 5-len(text))) + text
}

// parseNumber parses the result of digits.
func parseNumber(text string) (int64, bool) {
	number, err := strconv.ParseInt(text, 36, 64)
	return number, err == nil && number >= 0 && digits(number) == text
}
