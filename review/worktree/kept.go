package worktree

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"

	"aibox/review"
	"aibox/workspace"
)

// Converted files are those that the user's git does not store byte for byte: it encrypts
// them, keeps them in Git LFS, or in another encoding. In the working tree they are plain,
// as the agent had them, so a delivery writes the agent's bytes there, and the user's git
// converts them when the user adds them. For unchanged files the trees hold git's stored
// form, which cannot be compared with the user's bytes.

// mergeFiltered decides the content of a converted file at path. It is not merged.
func (d *planner) mergeFiltered(ctx context.Context, path string, now fileState, c review.Change) (string, error) {
	if now.id == c.NewBlob {
		return now.id, nil
	}
	same, err := d.unmodified(ctx, path, now, c.OldBlob)
	if err != nil {
		return "", err
	}
	if !same {
		d.filtered = true
		return "", reason(fmt.Sprintf("you changed it as well, and git stores it in another form (%s), so it cannot be merged", d.user.TransformedBy(path)))
	}
	if c.NewBlob != c.OldBlob {
		return c.NewBlob, nil
	}
	// Only the name or mode is new: the blob is git's stored form.
	if now.stamp.Size > maxMerge {
		return "", reason("it is too large to be moved, and git stores it in another form")
	}
	data, err := d.tree.content(path, now)
	if err != nil {
		return "", err
	}
	return d.storeBlob(data)
}

// unmodified reports whether git would store the file at path as blob: because an earlier
// delivery wrote it, because it is unchanged since the agent began, or because it was
// checked out.
func (d *planner) unmodified(ctx context.Context, path string, now fileState, blob string) (bool, error) {
	if now.id == blob {
		return true, nil
	}
	if d.baseline == nil {
		if err := d.readBaseline(); err != nil {
			return false, err
		}
	}
	if was, ok := d.baseline[path]; ok && hex.EncodeToString([]byte(was.Stored)) == blob && hex.EncodeToString([]byte(was.Raw)) == now.id {
		return true, nil
	}
	if d.index == nil {
		if err := d.readUnmodified(ctx); err != nil {
			return false, err
		}
	}
	return d.index[path] == blob, nil
}

// readBaseline reads the files that the agent got. They may be gone.
func (p *transaction) readBaseline() error {
	p.baseline = map[string]workspace.File{}
	baseline, err := workspace.LoadBaseline(p.job.Workspace.Baseline)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, f := range baseline.Files {
		if p.user.Transforms(f.Path) {
			p.baseline[f.Path] = f
		}
	}
	return nil
}

// readUnmodified asks the user's git for the files that match its index.
func (p *transaction) readUnmodified(ctx context.Context) error {
	index := map[string]string{}
	if err := p.user.ReadUnmodified(ctx, "", index); err != nil {
		return err
	}
	for _, in := range p.user.Inner {
		if err := in.ReadUnmodified(ctx, in.Path+"/", index); err != nil {
			return err
		}
	}
	p.index = index
	return nil
}
