package main

import (
	"regexp"
	"time"
)

// mask replaces what differs between two recordings: the home, the session's id, the date and
// the time of day. Replacements have the same width.
type mask struct {
	world *world
	start time.Time // the first time of day; zero until it is seen
}

func newMask(w *world) *mask { return &mask{world: w} }

var (
	sessionID = regexp.MustCompile(`[0-9a-z]{5}-codex`)
	clock     = regexp.MustCompile(`\d\d:\d\d:\d\d`)
	uuid      = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	date      = regexp.MustCompile(`\d{4}-\d\d-\d\d`)
)

// line masks one line of a screen. Times of day keep their distance from the first one.
func (m *mask) line(line string) string {
	line = m.world.named(line)
	line = sessionID.ReplaceAllString(line, "0dq4f-codex")
	line = uuid.ReplaceAllString(line, "0192f0a1-7c3e-7d52-9b64-3f8e5a1d2c70")
	line = date.ReplaceAllString(line, "2026-01-05")
	return clock.ReplaceAllStringFunc(line, func(found string) string {
		at, err := time.Parse(time.TimeOnly, found)
		if err != nil {
			return found
		}
		if m.start.IsZero() {
			m.start = at
		}
		return time.Date(0, 1, 1, 10, 0, 0, 0, time.UTC).Add(at.Sub(m.start)).Format(time.TimeOnly)
	})
}
