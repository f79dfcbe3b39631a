package sessions

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"connectrpc.com/connect"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/budget"
	"aibox/app/agentsession"
	"aibox/internal/boundedbuffer"
	"aibox/internal/fault"
	"aibox/review"
	"aibox/review/printer"
	"aibox/session"
	"aibox/session/feedback"
)

// The limits of a response, in bytes.
const (
	maxDiff  = 24 << 20 // of all hunks, or of a patch
	maxPatch = 64 << 20
)

// Changes lists the changes of a session with their hunks.
func (h *Handler) Changes(ctx context.Context, r *connect.Request[aiboxv1.SessionChangesRequest]) (*connect.Response[aiboxv1.ChangeSet], error) {
	cases, err := h.cases(ctx)
	if err != nil {
		return nil, err
	}
	if err := budget.Reserve(ctx, maxDiff); err != nil {
		return nil, err
	}
	id := session.ID(r.Msg.GetSessionId())
	changes, err := cases.Changes(ctx, id)
	if err != nil {
		return nil, err
	}
	out := &aiboxv1.ChangeSet{Digest: changes.Set.Tree}
	for _, note := range changes.Set.Notes {
		out.Notes = append(out.Notes, utf8(note))
	}
	size := 0
	err = cases.Files(ctx, id, nil, func(file review.FileDiff) error {
		shown := toFileChange(file.Change)
		for i := range file.Hunks {
			hunk := &aiboxv1.Hunk{Number: int32(i) + 1, Diff: hunkText(&file.Hunks[i], file.Change)}
			if size += len(hunk.Diff); size > maxDiff {
				return fault.New(fault.Limit, "the changes of %s have more than %d MiB", id, maxDiff>>20).Hint("read them with Diff, some paths at a time")
			}
			shown.Hunks = append(shown.Hunks, hunk)
		}
		out.Files = append(out.Files, shown)
		return nil
	})
	for _, refused := range changes.Set.Refused {
		out.Files = append(out.Files, &aiboxv1.FileChange{Path: refused.Path.String(), Refusal: utf8(refused.Reason)})
	}
	slices.SortStableFunc(out.Files, func(a, b *aiboxv1.FileChange) int { return min(len(b.Risks), 1) - min(len(a.Risks), 1) })
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(out), nil
}

// hunkText renders a hunk, escaped.
func hunkText(h *review.Hunk, c *review.Change) string {
	lines := append([]string{h.Describe(c)}, printer.Hunk(*h, false)...)
	return strings.Join(lines, "\n") + "\n"
}

// types are the kinds of changes in the schema.
var types = map[review.Kind]aiboxv1.ChangeType{
	review.Added:   aiboxv1.ChangeType_CHANGE_TYPE_ADDED,
	review.Deleted: aiboxv1.ChangeType_CHANGE_TYPE_DELETED,
	review.Renamed: aiboxv1.ChangeType_CHANGE_TYPE_RENAMED,
}

func toFileChange(c *review.Change) *aiboxv1.FileChange {
	out := &aiboxv1.FileChange{
		Path: c.Path.String(), Type: aiboxv1.ChangeType_CHANGE_TYPE_MODIFIED, AddedLines: int32(c.Added), RemovedLines: int32(c.Deleted), Binary: c.Binary,
	}
	if c.OldPath != "" {
		out.OldPath = c.OldPath.String()
	}
	if kind, ok := types[c.Kind]; ok {
		out.Type = kind
	}
	for _, risk := range c.Risks {
		out.Risks = append(out.Risks, &aiboxv1.Risk{Rule: risk.Rule, Message: utf8(risk.String())})
	}
	return out
}

// Diff returns the changes as a patch.
func (h *Handler) Diff(ctx context.Context, r *connect.Request[aiboxv1.SessionDiffRequest]) (*connect.Response[aiboxv1.SessionDiffResponse], error) {
	cases, err := h.cases(ctx)
	if err != nil {
		return nil, err
	}
	if err := budget.Reserve(ctx, maxPatch); err != nil {
		return nil, err
	}
	patch := newPatch()
	digest, err := cases.Patch(ctx, session.ID(r.Msg.GetSessionId()), r.Msg.GetPaths(), patch)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&aiboxv1.SessionDiffResponse{Patch: patch.Bytes(), Digest: digest}), nil
}

// newPatch returns a buffer for a patch.
func newPatch() *boundedbuffer.Buffer {
	return boundedbuffer.New(maxPatch, fault.New(fault.Limit, "the patch has more than %d MiB", maxPatch>>20).Hint("name some of the paths"))
}

// Accept delivers chosen changes.
func (h *Handler) Accept(ctx context.Context, r *connect.Request[aiboxv1.AcceptChangesRequest]) (*connect.Response[aiboxv1.AcceptChangesResponse], error) {
	cases, err := h.cases(ctx)
	if err != nil {
		return nil, err
	}
	id := session.ID(r.Msg.GetSessionId())
	request := agentsession.AcceptRequest{
		Digest: r.Msg.GetDigest(), All: len(r.Msg.GetFiles()) == 0, Branch: r.Msg.GetBranch(), Message: r.Msg.GetMessage(),
		Bundle: r.Msg.GetTarget() != aiboxv1.AcceptTarget_ACCEPT_TARGET_BRANCH,
	}
	if request.Bundle {
		if err := budget.Reserve(ctx, agentsession.MaxBundle, "deliver the changes to a branch"); err != nil {
			return nil, err
		}
	}
	if err := chooseFiles(ctx, cases, id, r.Msg.GetFiles(), &request); err != nil {
		return nil, err
	}
	done, err := cases.Accept(ctx, id, request)
	if err != nil {
		return nil, err
	}
	if done.Files == 0 {
		return nil, fault.New(fault.Refused, "nothing was accepted: everything selected has risks").Hint("name each file that is to be accepted despite its risks")
	}
	out := &aiboxv1.AcceptChangesResponse{Commit: done.Commit, Branch: done.Branch, Bundle: done.Bundle}
	for _, taken := range done.Selection.Taken {
		out.Paths = append(out.Paths, taken.Path.String())
	}
	return connect.NewResponse(out), nil
}

// chooseFiles completes a request with the chosen files and hunks. A file that is named is
// accepted despite its risks.
func chooseFiles(ctx context.Context, cases *agentsession.Service, id session.ID, chosen []*aiboxv1.FileSelection, to *agentsession.AcceptRequest) error {
	if len(chosen) == 0 {
		return nil
	}
	changes, err := cases.Changes(ctx, id)
	if err != nil {
		return err
	}
	names, named := changes.Set.Names(), map[review.Path]bool{}
	for _, file := range chosen {
		change := names.Named(file.GetPath())
		if change == nil {
			return fault.New(fault.Usage, "no changed file is called %q", file.GetPath())
		}
		if named[change.Path] {
			return fault.New(fault.Usage, "files has %q more than once", file.GetPath()).Hint("give all its hunks in one entry")
		}
		named[change.Path] = true
		if change.Risky() {
			to.Risky = append(to.Risky, change.Path.String())
		}
		if len(file.GetHunks()) == 0 {
			to.Files = append(to.Files, change.Path.String())
			continue
		}
		ids, err := hunkIDs(ctx, cases, id, change.Path, file.GetHunks())
		if err != nil {
			return err
		}
		to.Hunks = append(to.Hunks, ids...)
	}
	return nil
}

// hunkIDs returns the ids of the hunks of a file that have these numbers.
func hunkIDs(ctx context.Context, cases *agentsession.Service, id session.ID, path review.Path, numbers []int32) ([]string, error) {
	var all []string
	err := cases.Files(ctx, id, []string{path.String()}, func(file review.FileDiff) error {
		if file.Change.Path == path {
			for _, hunk := range file.Hunks {
				all = append(all, string(hunk.ID))
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, number := range numbers {
		if number < 1 || int(number) > len(all) {
			return nil, fault.New(fault.Usage, "%s has %d hunks, and no hunk %d", path, len(all), number)
		}
		ids = append(ids, all[number-1])
	}
	return ids, nil
}

// Feedback continues a session with feedback.
func (h *Handler) Feedback(ctx context.Context, r *connect.Request[aiboxv1.SessionFeedbackRequest]) (*connect.Response[aiboxv1.Session], error) {
	cases, err := h.cases(ctx)
	if err != nil {
		return nil, err
	}
	id := session.ID(r.Msg.GetSessionId())
	given, err := fromComments(ctx, cases, id, r.Msg.GetComments())
	if err != nil {
		return nil, err
	}
	given.Prompt = r.Msg.GetPrompt()
	started, err := cases.SendFeedback(ctx, id, given, nil)
	return respond(started, err)
}

// fromComments returns the feedback in comments.
func fromComments(ctx context.Context, cases *agentsession.Service, id session.ID, comments []*aiboxv1.Comment) (agentsession.Feedback, error) {
	var given agentsession.Feedback
	var reasons []string
	names := make([]string, len(comments))
	for i, c := range comments {
		names[i] = c.GetPath()
	}
	named, err := agentsession.ChangedPaths(ctx, cases, id, names)
	if err != nil {
		return given, err
	}
	for _, c := range comments {
		path := named(c.GetPath())
		var numbers []int32
		if c.GetHunk() != 0 {
			numbers = []int32{c.GetHunk()}
		}
		if !c.GetReject() {
			comment := feedback.Comment{Path: path, Text: c.GetText()}
			if numbers != nil {
				ids, err := hunkIDs(ctx, cases, id, path, numbers)
				if err != nil {
					return given, err
				}
				comment.Path, comment.Hunk = "", review.HunkID(ids[0])
			}
			given.Comments = append(given.Comments, comment)
			continue
		}
		if path == "" {
			return given, fault.New(fault.Usage, "a rejection names a file").Hint("set path, and hunk for a part of it")
		}
		rejected, err := rejectedHunks(ctx, cases, id, path, numbers)
		if err != nil {
			return given, err
		}
		given.Reject = append(given.Reject, rejected...)
		if c.GetText() != "" {
			reasons = append(reasons, c.GetText())
		}
	}
	given.Reason = strings.Join(reasons, "\n")
	return given, nil
}

// rejectedHunks returns the ids of hunks of a file: those with the numbers, or all.
func rejectedHunks(ctx context.Context, cases *agentsession.Service, id session.ID, path review.Path, numbers []int32) (ids []review.HunkID, err error) {
	if numbers != nil {
		texts, err := hunkIDs(ctx, cases, id, path, numbers)
		for _, text := range texts {
			ids = append(ids, review.HunkID(text))
		}
		return ids, err
	}
	err = cases.Files(ctx, id, []string{path.String()}, func(file review.FileDiff) error {
		for _, hunk := range file.Hunks {
			ids = append(ids, hunk.ID)
		}
		return nil
	})
	if err == nil && len(ids) == 0 {
		err = fmt.Errorf("%s has no hunks", path)
	}
	return ids, err
}
