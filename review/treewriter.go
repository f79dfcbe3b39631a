package review

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"aibox/internal/diskerr"
	"aibox/internal/git"
	"aibox/workspace"
)

// treeWriter stores the tree of an edit in the repository that aibox owns.
type treeWriter struct {
	*treeEdit
	repo *git.Repo
	im   *git.Import
}

// write stores the tree of the edit, kept by the ref refs/aibox/<session>/chosen until
// the next selection. listed is the tree without folded files, empty without any.
func (e *treeEdit) write(ctx context.Context) (tree, listed string, err error) {
	if err := e.checkPaths(); err != nil {
		return "", "", err
	}
	cs := e.set
	release, err := workspace.Hold(ctx, cs.GitDir)
	if err != nil {
		return "", "", fmt.Errorf("writing the selection: %w", err)
	}
	defer release()
	repo := git.Owned(cs.GitDir)
	w := treeWriter{e, repo, repo.Import(ctx)}
	own := RefPrefix(cs.Session) + "tree-" + rand.Text()
	change := git.Commit{
		Ref: own, Tree: cs.BaseTree, Message: "A selection\n",
		Who: Signature(time.Now()),
	}
	err = w.patch(ctx)
	if err == nil && len(e.folds) > 0 {
		change.Remove, change.Put = e.remove, e.put
		err = w.im.Commit(change)
		if err == nil {
			_, listed, err = w.im.Made()
		}
	}
	commit := ""
	if err == nil {
		commit, tree, err = w.commit(ctx, change)
	}
	if err := w.im.End(err); err != nil {
		return "", "", diskerr.Explain(fmt.Errorf("writing the selection: %w", git.Brief(err)), cs.GitDir)
	}
	refs := fmt.Sprintf("update %schosen %s\ndelete %s %s\n", RefPrefix(cs.Session), commit, own, commit)
	if err := repo.Run(ctx, strings.NewReader(refs), nil, "update-ref", "--stdin"); err != nil {
		return "", "", diskerr.Explain(fmt.Errorf("writing the selection: %w", git.Brief(err)), cs.GitDir)
	}
	return tree, listed, nil
}

// commit writes a commit with the whole edit.
func (w *treeWriter) commit(ctx context.Context, change git.Commit) (commit, tree string, err error) {
	im := w.im
	change.Remove, change.Put = w.remove, nil
	im.Begin(change)
	each := func(visit func(git.Difference)) error {
		if len(w.folds) == 0 {
			return nil
		}
		return w.set.EachFolded(ctx, w.repo, func(fold *Change, d git.Difference) error {
			if w.folds[fold.Path] {
				visit(d)
			}
			return nil
		})
	}
	err = each(func(d git.Difference) {
		if d.Now.Path == "" {
			im.Remove(d.Path)
		}
	})
	if err != nil {
		return "", "", err
	}
	for _, entry := range w.put {
		im.Put(entry)
	}
	err = each(func(d git.Difference) {
		if d.Now.Path != "" {
			im.Put(d.Now)
		}
	})
	if err == nil {
		err = im.Finish()
	}
	if err != nil {
		return "", "", err
	}
	return im.Made()
}

// patch writes the files to which text hunks are applied.
func (w *treeWriter) patch(ctx context.Context) (err error) {
	if len(w.text) == 0 {
		return nil
	}
	format := git.FormatOf(w.set.BaseTree)
	blobs := w.repo.Blobs(ctx)
	defer func() { err = errors.Join(err, blobs.Close()) }()
	for _, p := range w.text {
		baseline, err := blobs.Read(p.blob)
		if err != nil {
			return err
		}
		content, err := applyBlocks(baseline, p.blocks)
		if err != nil {
			return fmt.Errorf("%s: %w", Path(w.put[p.put].Path), err)
		}
		if err := w.im.Blob(int64(len(content)), bytes.NewReader(content)); err != nil {
			return err
		}
		w.put[p.put].ID = format.BlobID(content)
	}
	return nil
}
