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
	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/internal/slashpath"
	"aibox/workspace"
)

// TreeOf is the baseline with a selection, as a tree in GitDir. It is a function of
// the set alone: nothing depends on the order in which things were selected. A set
// that cannot be a tree, and one that was chosen from other changes, is a Conflict.
func (cs *ChangeSet) TreeOf(ctx context.Context, s *Selection) (string, error) {
	tree, _, err := cs.treesOf(ctx, s)
	return tree, err
}

// treesOf is TreeOf with the tree that lacks what is folded; empty when nothing is.
func (cs *ChangeSet) treesOf(ctx context.Context, s *Selection) (tree, listed string, err error) {
	switch {
	case s.Empty():
		return cs.BaseTree, "", nil
	case s.Complete(cs):
		return cs.Tree, cs.Listed, nil
	}
	edit, err := cs.edit(ctx, s)
	if err != nil {
		return "", "", err
	}
	if err := cs.checkPaths(edit); err != nil {
		return "", "", err
	}
	return cs.write(ctx, edit)
}

// treeEdit is what a selection does to the baseline's tree.
type treeEdit struct {
	remove []string
	put    []git.Entry
	text   []patched
	folds  map[Path]bool // taken as a whole
}

// patched is a file to which some text hunks are applied.
type patched struct {
	put    int    // index of its entry, whose id is not known yet
	blob   string // of the baseline
	blocks []block
}

// edit turns a selection into what it does to the tree.
func (cs *ChangeSet) edit(ctx context.Context, s *Selection) (*treeEdit, error) {
	e := &treeEdit{}
	partly := map[Path]*Taken{}
	var paths []Path
	here := 0
	for i := range cs.Changes {
		c := &cs.Changes[i]
		t := s.At(c.Path)
		if t == nil {
			continue
		}
		here++
		switch {
		case !t.Whole:
			partly[c.Path] = t
			paths = append(paths, c.Path)
		case !t.Fits(c):
			return nil, staleSelection(c.Path)
		default:
			e.whole(c)
		}
	}
	if here < len(s.Taken) {
		for _, t := range s.Taken {
			if cs.Named(t.Path.Raw()) == nil {
				return nil, staleSelection(t.Path)
			}
		}
	}
	if len(paths) == 0 {
		return e, nil
	}
	return e, cs.Files(ctx, func(f FileDiff) error { return e.part(f, partly[f.Change.Path]) }, paths...)
}

// staleSelection says that a selection does not belong to the change set.
func staleSelection(path Path) error {
	return fault.New(fault.Conflict, "%s is not what it was when it was chosen", path).
		Hint("look at the diff again, and choose again")
}

// whole takes all of a change.
func (e *treeEdit) whole(c *Change) {
	switch c.Kind {
	case Folded:
		if e.folds == nil {
			e.folds = map[Path]bool{}
		}
		e.folds[c.Path] = true
		return
	case Deleted:
		e.remove = append(e.remove, c.Path.Raw())
		return
	case Renamed:
		e.remove = append(e.remove, c.OldPath.Raw())
	}
	e.put = append(e.put, git.Entry{Mode: git.Mode(c.NewMode), ID: c.NewBlob, Path: c.Path.Raw()})
}

// part takes some blocks of a change.
func (e *treeEdit) part(f FileDiff, t *Taken) error {
	c := f.Change
	wanted := make(map[HunkID]bool, len(t.Blocks))
	for _, id := range t.Blocks {
		wanted[id] = true
	}
	entry := git.Entry{Mode: git.Mode(c.OldMode), ID: c.OldBlob, Path: c.Path.Raw()}
	if c.Kind == Renamed {
		entry.Path = c.OldPath.Raw()
	}
	var text []block
	for _, h := range f.Hunks {
		for _, part := range h.Split() {
			if !wanted[part.ID] {
				continue
			}
			delete(wanted, part.ID)
			switch part.Kind {
			case HunkText:
				text = append(text, part.blocks()...)
			case HunkMode:
				entry.Mode = git.Mode(c.NewMode)
			case HunkContent:
				entry.ID = c.NewBlob
			case HunkRenamed:
				e.remove = append(e.remove, c.OldPath.Raw())
				entry.Path = c.Path.Raw()
			default:
				e.whole(c)
				return nil
			}
		}
	}
	if len(wanted) > 0 {
		return staleSelection(c.Path)
	}
	e.put = append(e.put, entry)
	if len(text) > 0 {
		e.text = append(e.text, patched{put: len(e.put) - 1, blob: c.OldBlob, blocks: text})
	}
	return nil
}

// checkPaths refuses sets in which a path would be a file and a folder at once. The
// baseline and the agent's tree are both possible, so what conflicts is always a path
// that comes with one that ought to go.
func (cs *ChangeSet) checkPaths(e *treeEdit) error {
	goes := make(map[string]bool, len(e.remove))
	for _, path := range e.remove {
		goes[path] = true
	}
	stays := map[string]bool{} // old paths that go in the agent's tree and stay in this one
	for i := range cs.Changes {
		switch c := &cs.Changes[i]; {
		case c.Kind == Deleted && !goes[c.Path.Raw()]:
			stays[c.Path.Raw()] = true
		case c.Kind == Renamed && !goes[c.OldPath.Raw()]:
			stays[c.OldPath.Raw()] = true
		}
	}
	comes := make(map[string]bool, len(e.put))
	for _, entry := range e.put {
		comes[entry.Path] = true
	}
	for _, entry := range e.put {
		for dir := slashpath.Parent(entry.Path); dir != ""; dir = slashpath.Parent(dir) {
			if stays[dir] || comes[dir] {
				return cs.pathConflict(entry.Path, dir)
			}
		}
	}
	for path := range stays {
		for dir := slashpath.Parent(path); dir != ""; dir = slashpath.Parent(dir) {
			if comes[dir] {
				return cs.pathConflict(dir, path)
			}
		}
	}
	return nil
}

// pathConflict says that what comes cannot be taken while another path stays.
func (cs *ChangeSet) pathConflict(comes, stays string) error {
	goes := "the deletion of " + Path(stays).String()
	for _, c := range cs.Changes {
		if c.Kind == Renamed && c.OldPath.Raw() == stays {
			goes = "the move of " + Path(stays).String() + " to " + c.Path.String()
		}
	}
	return fault.New(fault.Conflict, "%s can be taken only together with %s: one path cannot be a file and a folder at once", Path(comes), goes).
		Hint("choose both, or neither")
}

// write stores the tree in the repository that aibox owns, kept by the ref
// refs/aibox/<session>/chosen until the next selection.
func (cs *ChangeSet) write(ctx context.Context, e *treeEdit) (tree, listed string, err error) {
	release, err := workspace.Hold(ctx, cs.GitDir)
	if err != nil {
		return "", "", fmt.Errorf("writing the selection: %w", err)
	}
	defer release()
	repo := git.Owned(cs.GitDir)
	im := repo.Import(ctx)
	own := RefPrefix(cs.Session) + "tree-" + rand.Text()
	change := git.Commit{
		Ref: own, Tree: cs.BaseTree, Message: "A selection\n",
		Who: Signature(time.Now()),
	}
	err = cs.patch(ctx, repo, im, e)
	if err == nil && len(e.folds) > 0 {
		change.Remove, change.Put = e.remove, e.put
		err = im.Commit(change)
		if err == nil {
			_, listed, err = im.Made()
		}
	}
	commit := ""
	if err == nil {
		commit, tree, err = cs.writeAll(ctx, repo, im, change, e)
	}
	if err := im.End(err); err != nil {
		return "", "", diskerr.Explain(fmt.Errorf("writing the selection: %w", git.Brief(err)), cs.GitDir)
	}
	refs := fmt.Sprintf("update %schosen %s\ndelete %s %s\n", RefPrefix(cs.Session), commit, own, commit)
	if err := repo.Run(ctx, strings.NewReader(refs), nil, "update-ref", "--stdin"); err != nil {
		return "", "", diskerr.Explain(fmt.Errorf("writing the selection: %w", git.Brief(err)), cs.GitDir)
	}
	return tree, listed, nil
}

// writeAll adds the commit with all of an edit.
func (cs *ChangeSet) writeAll(ctx context.Context, repo *git.Repo, im *git.Import, change git.Commit, e *treeEdit) (commit, tree string, err error) {
	change.Remove, change.Put = e.remove, nil
	im.Begin(change)
	each := func(visit func(git.Difference)) error {
		if len(e.folds) == 0 {
			return nil
		}
		return cs.EachFolded(ctx, repo, func(fold *Change, d git.Difference) error {
			if e.folds[fold.Path] {
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
	for _, entry := range e.put {
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
func (cs *ChangeSet) patch(ctx context.Context, repo *git.Repo, im *git.Import, e *treeEdit) (err error) {
	if len(e.text) == 0 {
		return nil
	}
	format := git.FormatOf(cs.BaseTree)
	blobs := repo.Blobs(ctx)
	defer func() { err = errors.Join(err, blobs.Close()) }()
	for _, p := range e.text {
		baseline, err := blobs.Read(p.blob)
		if err != nil {
			return err
		}
		content, err := applyBlocks(baseline, p.blocks)
		if err != nil {
			return fmt.Errorf("%s: %w", Path(e.put[p.put].Path), err)
		}
		if err := im.Blob(int64(len(content)), bytes.NewReader(content)); err != nil {
			return err
		}
		e.put[p.put].ID = format.BlobID(content)
	}
	return nil
}

// applyBlocks replaces lines of a baseline's content. The blocks are in order and
// must say what is there.
func applyBlocks(baseline []byte, blocks []block) ([]byte, error) {
	size := len(baseline)
	for _, b := range blocks {
		for _, line := range b.lines {
			size += len(line.Text) + 1
		}
	}
	content := make([]byte, 0, size)
	at, rest := 0, baseline
	next := func() (line []byte) {
		end := bytes.IndexByte(rest, '\n') + 1
		if end == 0 {
			end = len(rest)
		}
		line, rest = rest[:end], rest[end:]
		at++
		return line
	}
	for _, b := range blocks {
		if b.at < at {
			return nil, errors.New("two hunks change the same lines")
		}
		for at < b.at {
			if len(rest) == 0 {
				return nil, errors.New("a hunk lies behind the end")
			}
			content = append(content, next()...)
		}
		for _, line := range b.lines {
			if n := len(content); line.Op == '+' && n > 0 && content[n-1] != '\n' {
				return nil, errors.New("a hunk adds lines behind one without a newline")
			}
			text := line.Text
			switch end := !line.NoNewline; {
			case line.Op == '+':
				content = append(content, text...)
				if end {
					content = append(content, '\n')
				}
			case len(rest) == 0:
				return nil, errors.New("a hunk lies behind the end")
			default:
				was := next()
				if whole, ok := bytes.CutSuffix(was, []byte("\n")); ok != end || !bytes.Equal(whole, text) {
					return nil, errors.New("a hunk takes out lines that are not there")
				}
			}
		}
	}
	if n := len(content); n > 0 && content[n-1] != '\n' && len(rest) > 0 {
		return nil, errors.New("a hunk ends without a newline before the end")
	}
	return append(content, rest...), nil
}
