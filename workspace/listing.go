package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"golang.org/x/sync/errgroup"

	"aibox/internal/amount"
	"aibox/internal/command"
	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/internal/lazyregexp"
	"aibox/internal/termtext"
)

// listing lists the files of the user's repository before they are copied.
type listing struct {
	head    map[string]git.Entry // the tree of the starting commit
	index   map[string]git.Entry // the user's index; same as head when not asIs
	visible []string             // paths to copy, sorted
	hidden  []string             // paths left out by a glob
	absent  map[string]bool      // paths of head that are neither copied nor deleted
	sparse  map[string]bool      // those of absent that a sparse checkout leaves out
	assumed map[string]bool      // marked assume-unchanged: git does not look for changes there
	modules []string             // submodules
	notes   []string
	hide    func(path string) bool
}

// list reads the user's index and untracked files, or the tree of the commit.
func (s *source) list(ctx context.Context, hide *Globs, outside []string) (*listing, error) {
	l := &listing{absent: map[string]bool{}, sparse: map[string]bool{}, assumed: map[string]bool{}, hide: s.hidden(hide)}
	if !s.asIs {
		return l, s.listCommit(ctx, l)
	}
	var index, untracked []string
	var staged bool
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		index, err = s.git.Records(gctx, "ls-files", "-s", "-v", "-z", "--cached")
		return err
	})
	var warnings bytes.Buffer
	g.Go(func() (err error) {
		untracked, err = s.git.Warned(&warnings).Records(gctx, "ls-files", "-z", "--others", "--exclude-standard")
		return err
	})
	g.Go(func() (err error) {
		if s.head == "" { // there is no commit yet, and Files makes none
			return nil
		}
		staged, err = s.differsFromIndex(gctx)
		return err
	})
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("listing the files of the repository: %s", git.Message(err))
	}
	if err := l.addIndex(index); err != nil {
		return nil, err
	}
	l.addUntracked(untracked, s.top, outside)
	l.addUnreadable(warnings.String(), s.prefix)
	l.head = l.index
	if staged {
		head, err := s.readTree(ctx)
		if err != nil {
			return nil, err
		}
		l.head = head
	}
	l.finish()
	return l, nil
}

// differsFromIndex reports whether the index has other files than the starting commit. Git stops at the
// first difference, since a commit can have any number of files in a few trees.
func (s *source) differsFromIndex(ctx context.Context) (bool, error) {
	err := s.git.Run(ctx, nil, nil, "diff-index", "--cached", "--quiet", "--no-renames", "--ignore-submodules=none", s.head)
	if failed, ok := errors.AsType[*command.Error](err); ok && failed.Code == 1 {
		return true, nil
	}
	return false, err
}

// hidden returns a function that matches paths in s with globs that are relative to the
// top of the workspace. The function is not safe for concurrent use.
func (s *source) hidden(hide *Globs) func(path string) bool {
	match := hide.Matcher()
	if s.prefix == "" {
		return match
	}
	return func(path string) bool { return match(s.prefix + path) }
}

// listCommit lists the files of the starting commit.
func (s *source) listCommit(ctx context.Context, l *listing) error {
	head, err := s.readTree(ctx)
	if err != nil {
		return err
	}
	l.head, l.index = head, head
	for path, e := range head {
		l.place(e, path)
	}
	l.finish()
	return nil
}

// The limits of a commit's files. A commit can have any number of them in a few trees.
const (
	maxTreeFiles     = maxThrowawayFiles
	maxTreePathBytes = 128 << 20
)

// readTree reads the files of the starting commit.
func (s *source) readTree(ctx context.Context) (map[string]git.Entry, error) {
	tree, left := map[string]git.Entry{}, maxTreePathBytes
	for e, err := range s.git.Entries(ctx, s.head) {
		if err != nil {
			return nil, fmt.Errorf("reading the commit: %s", git.Message(err))
		}
		if err := checkEntry(e); err != nil {
			return nil, err
		}
		if left -= len(e.Path); left < 0 || len(tree) == maxTreeFiles {
			return nil, fault.New(fault.Limit, "the commit has too many files: at most %d are copied", maxTreeFiles).
				Hint("start from another commit: --branch COMMIT")
		}
		tree[e.Path] = e
	}
	return tree, nil
}

// addIndex takes the records of ls-files -s -v -z: "H 100644 ID STAGE\tPATH". A small letter
// is the mark assume-unchanged.
func (l *listing) addIndex(records []string) error {
	l.index = make(map[string]git.Entry, len(records))
	for _, record := range records {
		meta, path, ok := strings.Cut(record, "\t")
		fields := strings.Fields(meta)
		if !ok || len(fields) != 4 {
			return fmt.Errorf("unexpected line from git ls-files: %q", record)
		}
		e := git.Entry{Mode: git.Mode(fields[1]), ID: fields[2], Path: strings.TrimSuffix(path, "/")} // of a folder outside of a sparse checkout
		if err := checkEntry(e); err != nil {
			return err
		}
		if _, again := l.index[path]; again { // another stage of a conflict
			continue
		}
		e.Path = path
		l.index[path] = e
		if fields[0] == "S" || fields[0] == "s" {
			l.absent[path], l.sparse[path] = true, true
			continue
		}
		if fields[0] == strings.ToLower(fields[0]) {
			l.assumed[path] = true
		}
		l.place(e, path)
	}
	return nil
}

// place sorts a tracked path into visible, hidden or submodule.
func (l *listing) place(e git.Entry, path string) {
	switch {
	case l.hide(path):
		l.hidden = append(l.hidden, path)
		l.absent[path] = true
	case e.Mode == git.Submodule:
		l.modules = append(l.modules, path)
		l.absent[path] = true
	default:
		l.visible = append(l.visible, path)
	}
}

// addUntracked takes untracked files. outside are aibox's own folders, which are never
// copied even if they are in the repository.
func (l *listing) addUntracked(paths []string, top string, outside []string) {
	var own []string
	for _, dir := range outside {
		if rel, err := filepath.Rel(top, dir); err == nil && filepath.IsLocal(rel) {
			own = append(own, strings.TrimPrefix(rel+"/", "./")) // the top has everything
		}
	}
	for _, path := range paths {
		switch {
		case slices.ContainsFunc(own, func(dir string) bool { return strings.HasPrefix(path, dir) }):
		case l.index[path].Path != "":
		case likeDotGit(path):
			l.notes = append(l.notes, termtext.Escape(path)+" is left out: git, or some file system, takes its name for .git")
		case strings.HasSuffix(path, "/"):
			l.notes = append(l.notes, fmt.Sprintf("%s is a repository of its own and is left out", termtext.Escape(path)))
		case l.hide(path):
			l.hidden = append(l.hidden, path)
		default:
			l.visible = append(l.visible, path)
		}
	}
}

// unreadableFolder matches git's warning about a folder that it cannot read.
var unreadableFolder = lazyregexp.New(`(?m)^warning: could not open directory '(.*)': (.*)$`)

// addUnreadable records the folders that git could not search for untracked files.
func (l *listing) addUnreadable(warnings, prefix string) {
	for _, found := range unreadableFolder.FindAllStringSubmatch(warnings, maxUnreadable+1) {
		if len(l.notes) == maxUnreadable {
			l.notes = append(l.notes, "more folders that cannot be read are left out")
			return
		}
		l.notes = append(l.notes, fmt.Sprintf("the folder %s cannot be read (%s), so its files are left out",
			termtext.Escape(prefix+found[1]), strings.ToLower(termtext.Escape(found[2]))))
	}
}

// maxUnreadable is how many unreadable folders a note names.
const maxUnreadable = 20

func (l *listing) finish() {
	sort.Strings(l.visible)
	sort.Strings(l.hidden)
	sort.Strings(l.modules)
	if n := len(l.sparse); n > 0 {
		are := "are"
		if n == 1 {
			are = "is"
		}
		l.notes = append(l.notes, fmt.Sprintf("%s outside your sparse checkout, or marked skip-worktree, %s left out", amount.Of(n, "file"), are))
	}
}
