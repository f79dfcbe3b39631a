package mcp

import (
	"context"
	"slices"
	"strings"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/app/agentsession"
	"aibox/internal/fault"
	"aibox/review"
	"aibox/session"
	"aibox/session/feedback"
)

var acceptChangesTool = tool{
	name: "accept_changes", title: "Accept an agent's changes", effect: adds, right: aiboxv1.Right_RIGHT_ACCEPT,
	description: `Deliver changes of an ended session as a commit on a branch of the repository: all of them, or the named files and hunks. Read them with read_diff first.
The branch is new, or it is the one that earlier accepts of the session made. The working tree, the index and the current branch do not change.
Files with risks are left out; only the user can accept them.`,
}

type acceptChangesInput struct {
	Session string   `json:"session" jsonschema:"id of the session"`
	All     bool     `json:"all,omitempty" jsonschema:"accept everything except rejected hunks and files with risks"`
	Files   []string `json:"files,omitempty" jsonschema:"files, folders or globs to accept"`
	Hunks   []string `json:"hunks,omitempty" jsonschema:"ids of hunks to accept; ID:3-5 accepts some of its changed lines"`
	Branch  string   `json:"branch,omitempty" jsonschema:"name of the new branch; aibox/SESSION if absent"`
	Message string   `json:"message,omitempty" jsonschema:"commit message; a summary of the work if absent"`
}

// acceptedFacts describes the result of an accept in answers.
type acceptedFacts struct {
	Session   session.ID `json:"session"`
	Files     int        `json:"accepted_files"`
	Branch    string     `json:"branch,omitempty"`
	Commit    string     `json:"commit,omitempty"`
	Left      int        `json:"files_left_out_because_of_risks,omitempty"`
	Undecided int        `json:"files_not_accepted"`
}

func (t *sessionTools) acceptChanges(ctx context.Context, _ *call, in acceptChangesInput) (*answer, error) {
	id := session.ID(in.Session)
	done, err := t.sessions.Accept(ctx, id, agentsession.AcceptRequest{
		All: in.All, Files: in.Files, Hunks: in.Hunks, Branch: in.Branch, Message: in.Message,
	})
	if err != nil {
		return nil, err
	}
	left := done.Remaining
	made := &answer{facts: acceptedFacts{
		Session: id, Files: done.Files, Branch: done.Branch, Commit: done.Commit, Left: len(done.Left),
		Undecided: len(left.Undecided) + len(left.Risky) + len(left.Rejected),
	}}
	if lines := left.Lines(); len(lines) > 0 {
		made.data = []block{{"the names of the agent's files that are not accepted", strings.Join(lines, "\n")}}
	}
	if len(done.Left) > 0 {
		made.next = "Files were left out because of risks. The user can accept them: aibox accept " + in.Session + " --accept-risky FILE"
		if slices.ContainsFunc(done.Left, func(l review.LeftOut) bool { return len(l.Hunks) > 0 }) {
			made.next += ", with --hunks for a part of a file"
		}
	}
	return made, nil
}

var sendFeedbackTool = tool{
	name: "send_feedback", title: "Send feedback to an agent", effect: adds, right: aiboxv1.Right_RIGHT_SESSIONS, open: true,
	description: `Continue an ended session with feedback: comments on its work, rejected hunks, or a further task. The agent continues its work and its conversation in a new session, whose id is returned. The old session cannot be accepted any more; its work is part of the new one.`,
}

type commentInput struct {
	Text string `json:"text" jsonschema:"the comment"`
	Path string `json:"path,omitempty" jsonschema:"file that it is about; absent for the work as a whole"`
	Line int    `json:"line,omitempty" jsonschema:"line of the agent's version of the file, from 1"`
	Hunk string `json:"hunk,omitempty" jsonschema:"id of the hunk that it is about, in place of path and line"`
}

type sendFeedbackInput struct {
	Session  string         `json:"session" jsonschema:"id of the session"`
	Comments []commentInput `json:"comments,omitempty" jsonschema:"comments on the work"`
	Reject   []string       `json:"reject,omitempty" jsonschema:"ids of hunks that the agent must change or take back"`
	Reason   string         `json:"reason,omitempty" jsonschema:"why they are rejected"`
	Prompt   string         `json:"prompt,omitempty" jsonschema:"a further task"`
}

func (t *sessionTools) sendFeedback(ctx context.Context, c *call, in sendFeedbackInput) (*answer, error) {
	id := session.ID(in.Session)
	names := make([]string, len(in.Comments))
	for i, comment := range in.Comments {
		names[i] = comment.Path
	}
	named, err := agentsession.ChangedPaths(ctx, t.sessions, id, names)
	if err != nil {
		return nil, err
	}
	given := agentsession.Feedback{Addition: feedback.Addition{Reason: in.Reason}, Prompt: in.Prompt}
	for _, comment := range in.Comments {
		if comment.Hunk != "" && (comment.Path != "" || comment.Line != 0) {
			return nil, fault.New(fault.Usage, "a comment is about a hunk, or about a path and a line, not both").Hint("leave out path and line")
		}
		given.Comments = append(given.Comments, feedback.Comment{
			Text: comment.Text, Path: named(comment.Path), Line: comment.Line, Hunk: review.HunkID(comment.Hunk),
		})
	}
	for _, hunk := range in.Reject {
		given.Reject = append(given.Reject, review.HunkID(hunk))
	}
	started, err := t.sessions.SendFeedback(ctx, id, given, reportSteps(ctx, c))
	if err != nil {
		return nil, err
	}
	return answerAbout(&started), nil
}
