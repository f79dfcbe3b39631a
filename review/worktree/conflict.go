package worktree

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"aibox/review"
)

// Conflict holds lines that the user and the agent changed in different ways. They are
// raw: escape them before printing. Very long ones are cut.
type Conflict struct {
	Line   int      // where they begin in the user's file, from 1
	Yours  []string // the user's version
	Base   []string // the version at the agent's start
	Theirs []string // the agent's version
}

// Limits of the conflicts of one file.
const (
	maxMeetings     = 50
	maxMeetingLines = 200 // of each side
)

// markerSize is the length of git's conflict markers, so long that no text has them. A text
// that has them nevertheless is only displayed wrongly.
const markerSize = 97

// mergeArgs make git write conflicts with all three versions.
var mergeArgs = []string{"merge-file", "-p", "-q", "--diff3", "--marker-size=" + strconv.Itoa(markerSize)}

// parseConflicts returns the conflicts in the output of git merge-file.
func parseConflicts(merged []byte) []Conflict {
	marker := func(sign string) string { return strings.Repeat(sign, markerSize) }
	var all []Conflict
	var now *Conflict
	var into *[]string
	line := 1
	for raw := range bytes.Lines(merged) {
		text := strings.TrimSuffix(string(raw[:min(len(raw), review.MaxLine)]), "\n")
		switch sign := text[:min(len(text), markerSize)]; {
		case now == nil && sign == marker("<"):
			now = &Conflict{Line: line}
			into = &now.Yours
		case now != nil && sign == marker("|"):
			into = &now.Base
		case now != nil && sign == marker("="):
			into = &now.Theirs
		case now != nil && sign == marker(">"):
			if all = append(all, *now); len(all) == maxMeetings {
				return all
			}
			now = nil
		case now == nil:
			line++
		default:
			if into == &now.Yours {
				line++
			}
			if len(*into) < maxMeetingLines {
				*into = append(*into, text)
			}
		}
	}
	return slices.Clip(all)
}
