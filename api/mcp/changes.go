package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/app/agentsession"
	"aibox/internal/fault"
	"aibox/review"
	"aibox/review/printer"
	"aibox/session"
)

var listChangesTool = tool{
	name: "list_changes", title: "List an agent's changes", effect: reads, right: aiboxv1.Right_RIGHT_SESSIONS,
	description: `List the files that an ended session changed, each with its risks: reasons to look at it before it is accepted, such as that the user's tools would run it.
Paths are chosen by the agent. Files with risks are left out of accept_changes; only the user can accept them.`,
}

type listChangesInput struct {
	Session string `json:"session" jsonschema:"id of the session"`
	From    int    `json:"from,omitempty" jsonschema:"number of files to skip; 0 if absent"`
}

// changesFacts describes a change set in answers.
type changesFacts struct {
	Session   session.ID `json:"session"`
	Files     int        `json:"files"`
	Added     int        `json:"added_lines"`
	Deleted   int        `json:"deleted_lines"`
	Risky     int        `json:"files_with_risks"`
	Refused   int        `json:"files_that_cannot_be_accepted,omitempty"`
	Undecided int        `json:"files_not_accepted"`
	Verified  string     `json:"verification,omitempty"` // result of the last command that checked the work
	Next      int        `json:"next,omitempty"`         // pass it as from to list more
}

func factsOfChanges(changes *agentsession.Changes) changesFacts {
	set := changes.Set
	facts := changesFacts{
		Session: changes.Session.ID, Files: set.Count(), Refused: len(set.Refused),
		Undecided: len(changes.Remaining.Undecided) + len(changes.Remaining.Risky) + len(changes.Remaining.Rejected),
	}
	facts.Added, facts.Deleted = set.Totals()
	for i := range set.Changes {
		if set.Changes[i].Risky() {
			facts.Risky++
		}
	}
	if n := len(changes.Verifications); n > 0 {
		facts.Verified = "failed"
		if changes.Verifications[n-1].Passed() {
			facts.Verified = "passed"
		}
	}
	return facts
}

func (t *sessionTools) listChanges(ctx context.Context, _ *call, in listChangesInput) (*answer, error) {
	if in.From < 0 {
		return nil, fault.New(fault.Usage, "from is a number of files, not %d", in.From)
	}
	changes, err := t.sessions.Changes(ctx, session.ID(in.Session))
	if err != nil {
		return nil, err
	}
	facts := factsOfChanges(&changes)
	var list strings.Builder
	if in.From == 0 {
		list.WriteString(describeSet(changes.Set))
	}
	for i := in.From; i < len(changes.Set.Changes); i++ {
		text := describeChange(&changes.Set.Changes[i])
		if list.Len() > 0 && list.Len()+len(text) > maxData {
			facts.Next = i
			break
		}
		list.WriteString(text)
	}
	made := &answer{facts: facts}
	if list.Len() > 0 {
		made.data = []block{{"the list of the agent's changes", list.String()}}
		made.next = "Call read_diff to read the changes of files, hunk by hunk."
	}
	return made, nil
}

// describeSet describes what of a change set is no change, in lines. It leaves room for changes: an
// agent chooses the paths, and could otherwise fill the answer.
func describeSet(set *review.ChangeSet) string {
	var lines []string
	for _, note := range set.Notes {
		lines = append(lines, "note: "+note)
	}
	for _, refused := range set.Refused[:min(len(set.Refused), 20)] {
		lines = append(lines, fmt.Sprintf("cannot be accepted: %s: %s", refused.Path, refused.Reason))
	}
	if len(lines) == 0 {
		return ""
	}
	return bounded(strings.Join(lines, "\n"), maxData/2) + "\n"
}

// describeChange describes a changed file, and each of its risks in a line.
func describeChange(c *review.Change) string {
	text := fmt.Sprintf("%s: %s, +%d -%d", c.Path, c.Describe(), c.Added, c.Deleted)
	switch {
	case c.Folder != nil:
		text = fmt.Sprintf("%s: %s", c.Path, c.Folded())
	case c.Binary:
		text = fmt.Sprintf("%s: %s, binary, %d bytes", c.Path, c.Describe(), c.Size)
	}
	if c.OldPath != "" {
		text += ", from " + c.OldPath.String()
	}
	if c.Risky() {
		text += " [left out of accept_changes]"
	}
	for _, risk := range c.Risks {
		text += "\n    risk: " + risk.String()
	}
	for _, note := range c.Notes {
		text += "\n    note: " + note
	}
	return bounded(text, maxError) + "\n"
}

var readDiffTool = tool{
	name: "read_diff", title: "Read an agent's changes", effect: reads, right: aiboxv1.Right_RIGHT_SESSIONS,
	description: `Read the changes of an ended session, hunk by hunk, as a diff. Each hunk has an id, which accept_changes and send_feedback take.
If the answer is cut, its "next" is the number of hunks to skip in the next call.`,
}

type readDiffInput struct {
	Session string   `json:"session" jsonschema:"id of the session"`
	Paths   []string `json:"paths,omitempty" jsonschema:"files, folders or globs; all changes if absent"`
	From    int      `json:"from,omitempty" jsonschema:"number of hunks to skip; 0 if absent"`
}

// errFull ends a visit once an answer is full.
var errFull = errors.New("the answer is full")

func (t *sessionTools) readDiff(ctx context.Context, _ *call, in readDiffInput) (*answer, error) {
	if in.From < 0 {
		return nil, fault.New(fault.Usage, "from is a number of hunks, not %d", in.From)
	}
	facts := struct {
		Session session.ID `json:"session"`
		Hunks   int        `json:"hunks"`
		Next    int        `json:"next,omitempty"`
	}{Session: session.ID(in.Session)}
	var diff strings.Builder
	number := 0
	err := t.sessions.Files(ctx, facts.Session, in.Paths, func(file review.FileDiff) error {
		head := "=== " + describeChange(file.Change)
		for i := range file.Hunks {
			if number++; number <= in.From {
				continue
			}
			text := head + describeHunk(&file.Hunks[i], file.Change)
			if diff.Len() > 0 && diff.Len()+len(text) > maxData {
				facts.Next = number - 1
				return errFull
			}
			diff.WriteString(text)
			facts.Hunks, head = facts.Hunks+1, ""
		}
		return nil
	})
	if err != nil && !errors.Is(err, errFull) {
		return nil, err
	}
	made := &answer{facts: facts}
	if diff.Len() > 0 {
		made.data = []block{{"the agent's changes", diff.String()}}
	}
	return made, nil
}

// hunkID is how many digits of a hunk's id are shown. A prefix is enough to name it.
const hunkID = 12

// describeHunk renders a hunk: a line with its id, then its lines.
func describeHunk(h *review.Hunk, c *review.Change) string {
	lines := strings.Join(printer.Hunk(*h, false), "\n")
	if lines != "" {
		lines = bounded(lines, maxData/2) + "\n"
	}
	return fmt.Sprintf("--- hunk %.*s: %s\n%s", hunkID, h.ID, h.Describe(c), lines)
}
