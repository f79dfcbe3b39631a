package review

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"aibox/internal/git"
	"aibox/internal/spool"
)

// An agent that unpacks eighty thousand files changes so much that a list of it is too long to
// read and to keep in memory. What was changed of the files that were there is
// listed first, then new folders with few files in them. The others are folded: each
// stands for all below it, as a whole. Their files are in the tree as all others are.

// everythingElse is the path of what is folded and lies in no folder that is.
const everythingElse = "./"

// Limits on how the folders are found.
const (
	maxFolds  = 500     // folders that are folded
	maxGroups = 4096    // folders that are looked at
	maxLarge  = 4       // folders in a folder that have to hold most of it, so that it is looked into
	maxRounds = 8       // how many levels of folders are looked into
	maxKeys   = 1 << 20 // bytes of names of folders
)

// folding finds what is listed and what is folded.
type folding struct {
	most  int // files that are listed
	found spool.Spool

	split  map[string]bool // folders that are looked into
	whole  map[string]bool // folders that are not
	own    ListSize        // changes of files that were there
	groups map[string]*group
	keys   int // bytes of the groups' names
}

// group are the new files of one new folder and below, or of one folder that was there
// and not below.
type group struct {
	ListSize
	key  string // of a folder that was there with a slash behind it
	in   string // the folder that has it
	fold string // the path of the change that stands for it; empty: it is listed
}

// FoldChanges divides the difference between the base and the tree, lists one part and sums
// up the other.
func (cs *ChangeSet) FoldChanges(ctx context.Context, repo *git.Repo, most int, ref ...string) error {
	f := &folding{
		most: most, found: spool.Spool{Dir: filepath.Join(cs.GitDir, "aibox")},
		split: map[string]bool{}, whole: map[string]bool{},
	}
	defer f.found.Close()
	if err := f.gather(ctx, repo, cs); err != nil {
		return err
	}
	if err := f.plan(); err != nil {
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

// found is one difference as a record keeps it.
type found struct {
	op    byte // A, M or D
	known int
	entry git.Entry
}

// gather notes the differences.
func (f *folding) gather(ctx context.Context, repo *git.Repo, cs *ChangeSet) error {
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
		if err := f.found.Add(record); err != nil {
			return err
		}
	}
	return nil
}

// visit goes through the differences, in the order of the paths.
func (f *folding) visit(each func(found) error) error {
	return f.found.Each(func(record []byte) error {
		known, n := binary.Uvarint(record[1:])
		mode, rest, _ := strings.Cut(string(record[1+n:]), " ")
		id, path, _ := strings.Cut(rest, " ")
		return each(found{record[0], int(known), git.Entry{Mode: git.Mode(mode), ID: id, Path: path}})
	})
}

// plan looks into folders that are too large to be listed, as long as a few folders in
// them make them so: the files beside those may need a review of their own.
func (f *folding) plan() error {
	for range maxRounds {
		if err := f.count(); err != nil {
			return err
		}
		into := f.choose()
		if len(into) == 0 {
			return nil
		}
		total := map[string]int{}
		for _, key := range into {
			total[key] = f.groups[key].Files
			f.split[key] = true
		}
		if err := f.count(); err != nil {
			return err
		}
		for key, files := range total {
			if f.largest(key) < files*4/5 {
				delete(f.split, key)
				f.whole[key] = true
			}
		}
	}
	if err := f.count(); err != nil {
		return err
	}
	f.choose()
	return nil
}

// largest is how many files the largest folders in a folder have.
func (f *folding) largest(in string) (files int) {
	var sizes []int
	for _, g := range f.groups {
		if g.in == in && !strings.HasSuffix(g.key, "/") {
			sizes = append(sizes, g.Files)
		}
	}
	slices.SortFunc(sizes, func(a, b int) int { return b - a })
	for _, n := range sizes[:min(len(sizes), maxLarge)] {
		files += n
	}
	return files
}

// count sums up the groups.
func (f *folding) count() error {
	f.own, f.groups, f.keys = ListSize{}, map[string]*group{}, 0
	return f.visit(func(d found) error {
		if d.op != 'A' {
			f.own.Add(d.entry.Path)
			return nil
		}
		f.group(d).Add(d.entry.Path)
		return nil
	})
}

// group is the group of a new file, which is made unless there are too many.
func (f *folding) group(d found) *group {
	key, in := f.keyOf(d)
	g := f.groups[key]
	if g != nil {
		return g
	}
	if key != "/" && (len(f.groups) >= maxGroups || f.keys+len(key) > maxKeys) {
		return f.group(found{entry: git.Entry{Path: "x"}})
	}
	g = &group{key: strings.Clone(key)}
	g.in = g.key[:len(in)]
	f.groups[g.key] = g
	f.keys += len(key)
	return g
}

// keyOf names the group of a new file, and the folder that is looked into and has it.
func (f *folding) keyOf(d found) (key, in string) {
	path := d.entry.Path
	in = path[:d.known]
	for {
		begin := 0
		if in != "" {
			begin = len(in) + 1
		}
		end := strings.IndexByte(path[begin:], '/')
		if end < 0 {
			return in + "/", in
		}
		dir := path[:begin+end]
		if !f.split[dir] {
			return dir, in
		}
		in = dir
	}
}

// choose lists the smallest groups as far as there is room, folds the others, and tells
// into which folders it may be worth to look.
func (f *folding) choose() (into []string) {
	all := make([]*group, 0, len(f.groups))
	for _, g := range f.groups {
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b *group) int { return cmp.Or(a.Files-b.Files, strings.Compare(a.key, b.key)) })
	sum, folds := f.own, []*group{}
	for _, g := range all {
		next := ListSize{sum.Files + g.Files, sum.weight + g.weight}
		if next.Within(f.most) {
			sum = next
			continue
		}
		g.fold = everythingElse
		if !strings.HasSuffix(g.key, "/") {
			folds = append(folds, g)
		}
	}
	for i, g := range slices.Backward(folds) {
		if len(folds)-i > maxFolds {
			break
		}
		g.fold = g.key + "/"
		if !f.whole[g.key] {
			into = append(into, g.key)
		}
	}
	return into
}

// each visits the differences with the path of the change that stands for them, which is
// empty when they are listed themselves.
func (f *folding) each(visit func(d found, fold string) error) error {
	var own ListSize
	return f.visit(func(d found) error {
		if d.op == 'A' {
			return visit(d, f.group(d).fold)
		}
		if own.Add(d.entry.Path); own.Within(f.most) {
			return visit(d, "")
		}
		return visit(d, everythingElse)
	})
}

// commit stores the tree with what is listed.
func (f *folding) commit(ctx context.Context, repo *git.Repo, cs *ChangeSet, ref string) error {
	im := repo.Import(ctx)
	im.Begin(git.Commit{
		Ref: RefPrefix(cs.Session) + ref, Tree: cs.BaseTree, Message: "What is listed of the changes\n",
		Who: Signature(time.Now()),
	})
	err := f.each(func(d found, fold string) error {
		if d.op == 'D' && fold == "" {
			im.Remove(d.entry.Path)
		}
		return nil
	})
	if err == nil {
		err = f.each(func(d found, fold string) error {
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

// sum makes the changes that stand for what is folded.
func (f *folding) sum(ctx context.Context, repo *git.Repo) ([]Change, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ids, ask := io.Pipe()
	answers, answer := io.Pipe()
	asked, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(asked)
		out := bufio.NewWriter(ask)
		err := f.each(func(d found, fold string) error {
			if fold == "" || d.op == 'D' {
				return nil
			}
			_, err := out.WriteString(d.entry.ID + "\n")
			return err
		})
		ask.CloseWithError(errors.Join(err, out.Flush()))
	}()
	go func() {
		defer close(ended)
		err := repo.Run(ctx, ids, answer, "cat-file", "--batch-check=%(objectsize)")
		answer.CloseWithError(err)
		ids.CloseWithError(io.ErrClosedPipe)
	}()
	changes, err := f.sums(bufio.NewReader(answers))
	cancel()
	answers.CloseWithError(io.ErrClosedPipe)
	<-ended
	<-asked
	return changes, err
}

// sums is sum with the sizes of the contents, a line each.
func (f *folding) sums(sizes *bufio.Reader) ([]Change, error) {
	folds, digests := map[string]*Change{}, map[string]hash.Hash{}
	err := f.each(func(d found, fold string) error {
		if fold == "" {
			return nil
		}
		c := folds[fold]
		if c == nil {
			c = &Change{Path: Path(fold), Kind: Folded, Folder: &Folder{}}
			folds[fold], digests[fold] = c, sha256.New()
		}
		c.Folder.Files++
		fmt.Fprintf(digests[fold], "%c %s %s %s\x00", d.op, d.entry.Mode, d.entry.ID, d.entry.Path)
		if d.op == 'D' {
			c.Folder.Deleted++
			return nil
		}
		line, err := sizes.ReadString('\n')
		if err != nil {
			return fmt.Errorf("reading the sizes of files: %w", err)
		}
		size, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		if err != nil {
			return fmt.Errorf("the content of %q is missing", d.entry.Path)
		}
		c.Size += size
		return nil
	})
	if err != nil {
		return nil, err
	}
	changes := make([]Change, 0, len(folds))
	for path, c := range folds {
		c.Folder.Digest = hex.EncodeToString(digests[path].Sum(nil))
		changes = append(changes, *c)
	}
	slices.SortFunc(changes, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	return changes, nil
}
