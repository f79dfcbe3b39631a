package changes

import (
	"fmt"
	"strings"

	"aibox/internal/amount"
	"aibox/ui/widget/frame"

	"github.com/charmbracelet/x/ansi"

	"aibox/review/accept"
	"aibox/review/worktree"
)

// deliverView is the framed question.
func (m *Model) deliverView() string {
	d := m.deliver
	width := d.message.Width()
	into, where := "branch", "A commit on a new branch; your working tree, index and HEAD stay as they are."
	if m.target == accept.ToWorktree {
		into, where = "your working tree", "The files of your working tree, all or nothing; index and HEAD stay as they are."
	}
	lines := []string{m.theme.Title.Render("Accept into " + into), ""}
	lines = append(lines, frame.Wrap(where, width)...)
	lines = append(lines, "")
	lines = append(lines, frame.Wrap(m.summary(), width)...)
	lines = append(lines, "")
	keys := []string{"ctrl+s", "accept", "ctrl+t", "branch or working tree", "esc", "back"}
	if m.target == accept.ToWorktree {
		lines = append(lines, m.steps(width, d.message.Height())...)
	} else {
		lines = append(lines, strings.Split(d.message.View(), "\n")...)
		keys = append(keys[:4:4], "ctrl+e", "editor", "esc", "back")
	}
	if text := m.note.Text(); text != "" {
		lines = append(append(lines, ""), m.note.Lines(m.theme, width, noteRows)...)
	}
	var foot []string
	for i := 0; i < len(keys); i += 2 {
		foot = append(foot, m.theme.Key.Render(keys[i])+" "+keys[i+1])
	}
	lines = append(append(lines, ""), frame.Wrap(strings.Join(foot, " · "), width)...)
	return m.theme.Dialog.Render(strings.Join(lines, "\n"))
}

// steps are the lines that say what would become of the files of the working tree.
func (m *Model) steps(width, height int) []string {
	plan := m.deliver.plan
	if plan == nil {
		return []string{m.theme.Faint.Render(ansi.Truncate("What becomes of your files is not known yet.", width, "…"))}
	}
	count := map[worktree.Action]int{}
	for _, step := range plan.Steps {
		count[step.Action]++
	}
	var parts []string
	for _, action := range []worktree.Action{worktree.ActionCreate, worktree.ActionReplace, worktree.ActionMerge, worktree.ActionDelete, worktree.ActionKeep} {
		if n := count[action]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d to %s", n, action))
		}
	}
	var lines []string
	if len(parts) > 0 {
		lines = []string{ansi.Truncate(strings.Join(parts, " · "), width, "…")}
	}
	clashes := plan.Conflicts()
	if len(clashes) == 0 {
		return lines
	}
	lines = append(lines, m.theme.Bad.Render(ansi.Truncate(amount.Of(len(clashes), "file")+" in the way:", width, "…")))
	for i, step := range clashes {
		if room := height - len(lines); room == 1 && i < len(clashes)-1 {
			lines = append(lines, fmt.Sprintf("… and %d more", len(clashes)-i))
			break
		}
		lines = append(lines, ansi.Truncate("  "+step.Path.String()+": "+step.Reason, width, "…"))
	}
	return lines
}

// summary is what accepting would do now.
func (m *Model) summary() string {
	t := m.tally
	where := "a new branch"
	if m.target == accept.ToWorktree {
		where = "your working tree"
	}
	parts := []string{m.theme.Plain.Render("nothing taken yet")}
	if t.takesAny() {
		parts = []string{fmt.Sprintf("accepts %s of %s %s %s to %s", m.theme.Good.Render(fmt.Sprint(t.taken+t.partly)), amount.Of(t.files, "file"),
			m.theme.Good.Render(fmt.Sprintf("+%d", t.lines.added)), m.theme.Bad.Render(fmt.Sprintf("-%d", t.lines.deleted)), where)}
	} else {
		parts[0] += " for " + where
	}
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(t.rejected, "rejected")
	add(t.done, "accepted before")
	add(t.open, "undecided")
	if t.risky > 0 {
		parts = append(parts, m.theme.Warn.Render(fmt.Sprintf("%d risky left out", t.risky)))
	}
	add(t.partly, "in part") // the tree says it as well, and a narrow screen cuts the end
	return strings.Join(parts, " · ")
}
