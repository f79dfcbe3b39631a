package review

import (
	"cmp"
	"context"
	"encoding/binary"
	"path/filepath"
	"strings"
	"time"

	"aibox/internal/git"
	"aibox/internal/spool"
)

// An agent that unpacks eighty thousand files makes more changes than a list in memory can
// hold or anyone would read. Changes of existing files are listed first, then new folders
// with few files. All others are folded: one change represents all files below a folder, as
// a whole. The tree holds folded files like any others.

// everythingElse is the path of the change for folded files in no folded folder.
const everythingElse = "./"

// folding divides the differences between two trees into listed and folded ones.
type folding struct {
	found differences
	plan  foldPlan
}

// FoldChanges divides the differences between the base and the tree: it lists at most most
// of them, and folds the others.
func (cs *ChangeSet) FoldChanges(ctx context.Context, repo *git.Repo, most int, ref ...string) error {
	f := &folding{
		found: differences{spool.Spool{Dir: filepath.Join(cs.GitDir, "aibox")}},
		plan:  foldPlan{most: most, split: map[string]bool{}, whole: map[string]bool{}},
	}
	defer f.found.Close()
	if err := f.found.gather(ctx, repo, cs); err != nil {
		return err
	}
	if err := f.plan.make(&f.found); err != nil {
		return err
	}
	if err := f.commit(ctx, repo, cs, cmp.Or(strings.Join(ref, ""), "listed")); err != nil {
		return err
	}
	if err := cs.ListChanges(ctx, repo, nil); err != nil {
		return err
	}
	folds, err := f.sum(ctx, repo)
	cs.Changes = append(cs.Changes, folds...)
	return err
}

// differences are the differences between two trees, spooled to disk.
type differences struct{ spool.Spool }

// difference is one of them.
type difference struct {
	op    byte // A, M or D
	known int
	entry git.Entry
}

// gather records the differences of a change set.
func (f *differences) gather(ctx context.Context, repo *git.Repo, cs *ChangeSet) error {
	var record []byte
	for d, err := range git.Differences(ctx, repo, cs.BaseTree, cs.Tree) {
		if err != nil {
			return err
		}
		op := byte('M')
		switch {
		case d.Now.Path == "":
			op = 'D'
		case d.Old.Path == "":
			op = 'A'
		}
		record = binary.AppendUvarint(append(record[:0], op), uint64(d.Known))
		record = append(record, string(d.Now.Mode)+" "+d.Now.ID+" "+d.Path...)
		if err := f.Add(record); err != nil {
			return err
		}
	}
	return nil
}

// visit visits the differences in the order of their paths.
func (f *differences) visit(each func(difference) error) error {
	return f.Each(func(record []byte) error {
		known, n := binary.Uvarint(record[1:])
		mode, rest, _ := strings.Cut(string(record[1+n:]), " ")
		id, path, _ := strings.Cut(rest, " ")
		return each(difference{record[0], int(known), git.Entry{Mode: git.Mode(mode), ID: id, Path: path}})
	})
}

// each visits the differences with the path of the folded change that represents them;
// empty for those that are listed.
func (f *folding) each(visit func(d difference, fold string) error) error {
	var own ListSize
	return f.found.visit(func(d difference) error {
		if d.op == 'A' {
			return visit(d, f.plan.group(d).fold)
		}
		if own.Add(d.entry.Path); own.Within(f.plan.most) {
			return visit(d, "")
		}
		return visit(d, everythingElse)
	})
}

// commit stores the tree with the listed changes.
func (f *folding) commit(ctx context.Context, repo *git.Repo, cs *ChangeSet, ref string) error {
	im := repo.Import(ctx)
	im.Begin(git.Commit{
		Ref: RefPrefix(cs.Session) + ref, Tree: cs.BaseTree, Message: "What is listed of the changes\n",
		Who: Signature(time.Now()),
	})
	err := f.each(func(d difference, fold string) error {
		if d.op == 'D' && fold == "" {
			im.Remove(d.entry.Path)
		}
		return nil
	})
	if err == nil {
		err = f.each(func(d difference, fold string) error {
			if d.op != 'D' && fold == "" {
				im.Put(d.entry)
			}
			return nil
		})
	}
	if err == nil {
		err = im.Finish()
	}
	if err == nil {
		_, cs.Listed, err = im.Made()
	}
	if err := im.End(err); err != nil {
		return git.Brief(err)
	}
	return nil
}
