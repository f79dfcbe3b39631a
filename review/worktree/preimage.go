package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/diskerr"
	"aibox/internal/eol"
	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/review/recovery"
	"aibox/workspace"
)

// savePreimage saves the files that the delivery will change, so that they can be
// restored. The saved state is the tree before with these files in it.
func (p *transaction) savePreimage(ctx context.Context) (*recovery.Point, error) {
	ws := p.job.Workspace
	commit := git.Commit{
		Ref: review.RefPrefix(ws.Session) + string(BeforeWorktree), Parent: ws.BaseCommit(), Tree: p.job.Before,
		Who: review.Signature(time.Now()), Message: "before\n",
	}
	im := p.start()
	err := p.putPreimages(im, &commit)
	if err == nil {
		err = im.Commit(commit)
	}
	if err = im.End(err); err != nil {
		return nil, p.asConflict(err, p.storeError("saving your files as they are", err))
	}
	tree, err := p.repo.Line(ctx, "rev-parse", "--verify", commit.Ref+"^{tree}")
	if err != nil {
		return nil, fmt.Errorf("saving your files as they are: %s", git.Message(err))
	}
	cs := &review.ChangeSet{GitDir: ws.GitDir, BaseTree: ws.BaseTree, Tree: tree}
	if err := cs.Describe(ctx); err != nil {
		return nil, fmt.Errorf("saving your files as they are: %w", err)
	}
	saved, err := recovery.Save(ctx, ws, cs, BeforeWorktree)
	if err != nil {
		return nil, p.storeError("saving your files as they are", err)
	}
	return saved, p.repo.Run(ctx, nil, nil, "update-ref", "--no-deref", "-d", commit.Ref)
}

// smallFile is the maximum size in bytes of a file that is read into memory.
const smallFile = 1 << 20

// putPreimages stores each file that is replaced or removed.
func (p *transaction) putPreimages(im *git.Import, commit *git.Commit) error {
	keep := func(path string, was stamp) error {
		entry, err := p.preimage(im, path, was)
		if why, ok := errors.AsType[reason](err); ok {
			return &pathError{review.Path(path), why}
		}
		commit.Put = append(commit.Put, entry)
		return err
	}
	for _, put := range p.puts {
		if put.was != nil {
			if err := keep(put.path, *put.was); err != nil {
				return err
			}
		}
	}
	for _, removal := range p.removals {
		if err := keep(removal.path, removal.was); err != nil {
			return err
		}
	}
	return nil
}

// preimage stores one file: as git would if only line endings are converted, so that only
// real changes show, and otherwise byte for byte.
func (p *transaction) preimage(im *git.Import, path string, was stamp) (git.Entry, error) {
	s := fileState{kind: was.Mode & unix.S_IFMT, stamp: was}
	entry := git.Entry{Path: path, Mode: s.mode()}
	if s.kind == unix.S_IFLNK || was.Size <= smallFile {
		data, err := p.tree.content(path, s)
		if err != nil {
			return entry, err
		}
		if s.kind == unix.S_IFREG && !p.user.Transforms(path) && p.user.LineEndings(path).Converts && eol.StyleOf(data) == eol.CRLF && !eol.IsBinary(data) {
			data = workspace.UnixLines(data)
		}
		entry.ID = p.format.BlobID(data)
		return entry, im.Blob(int64(len(data)), bytes.NewReader(data))
	}
	file, err := p.tree.open(path)
	if err != nil {
		return entry, reasonFor(err)
	}
	defer file.Close()
	h := p.format.Blob(was.Size)
	if err := im.Blob(was.Size, io.TeeReader(file, h)); err != nil {
		return entry, err
	}
	entry.ID = hexSum(h)
	return entry, unchangedSince(file, was, was.Size)
}

// pathError is a path with the reason why it cannot be changed.
type pathError struct {
	path review.Path
	why  reason
}

func (e *pathError) Error() string { return e.path.String() + ": " + string(e.why) }

// asConflict returns the conflict fault for a path error, or else other.
func (p *transaction) asConflict(err, other error) error {
	if at, ok := errors.AsType[*pathError](err); ok {
		return p.conflictError(Step{Path: at.path, Action: ActionConflict, Reason: string(at.why)})
	}
	return other
}

// storeError describes a failure with aibox's own files, and whether their disk is the
// cause. Git reports that only as text.
func (p *transaction) storeError(doing string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	said := git.Message(err)
	if diskerr.KindOf(said) == fault.Environment || strings.Contains(said, "Out of diskspace") {
		return fault.New(fault.Environment, "%s: the disk of %s does not take it, so nothing was changed: %s", doing, termtext.Escape(p.job.Workspace.GitDir), said).
			Hint("see how much room there is: df -h %s", termtext.Escape(p.job.Workspace.GitDir))
	}
	return fmt.Errorf("%s: %s", doing, said)
}
