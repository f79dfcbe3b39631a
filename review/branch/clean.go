package branch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"
	"time"

	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/internal/slashpath"
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/review/userrepo"
)

// Cleaner converts accepted files to what `git add` would store in the user's repository:
// with line endings, encoding and filters from the user's settings and the attributes in
// the accepted tree. The agent's files are plain, even where the repository stores them
// encrypted or in Git LFS. The user's git converts them in the user's repository, since
// filters keep keys and contents there, but in a folder of aibox that holds only these
// files and attributes.
type Cleaner struct {
	GitDir      string // that aibox owns: it has the trees
	Session     string
	Owner       string // the session's id for hints; empty when nothing is accepted
	Repo        string // top of the user's repository
	prefix      string // of a submodule: its folder in the agent's tree and a slash
	Base        string // the tree that the agent started from, stored as the user's git stores it
	Folded      bool   // the trees may differ in very many files
	AsStored    bool   // the agent got the files as they are stored
	Uncommitted bool   // base has files that the user's repository lacks
	earlier     *earlier
	Consent     []string // paths that the user accepts despite their risks
	Limit       time.Duration
	Own         bool // no filter applies: the repository is aibox's copy of files
	Bundled     bool // the tree is for a git bundle, which has no contents that a filter keeps elsewhere
	DryRun      bool // git and Git LFS store the results in a temporary folder instead of the user's repository

	owned      *git.Repo
	user       userrepo.Settings
	of         string                    // the user's git directory, once it is known
	stored     map[string]git.Entry      // by path: the converted blobs
	known      map[string]git.Difference // by path: the blobs of earlier accepted files
	attributes []git.Entry               // all attribute files, where they were listed
	gone       map[string]string         // by blob: a file of base that was removed
}

// earlier is the work that an earlier accept delivered.
type earlier struct {
	plain  string // its tree, with the agent's unconverted files
	stored string // the tree of the user's branch
}

const (
	cleanBatch = 2000      // files that are cleaned at once
	cleanNames = 1 << 20   // total length of their names
	cleanBytes = 256 << 20 // total size of the files, except the last one
	cleanLimit = 10 * time.Minute
)

// tree returns the tree plain as the user's git would store it. Files equal to those in
// base are already stored. After an error, nothing of it is left except unreferenced
// objects, which git collects.
func (c *Cleaner) tree(ctx context.Context, plain string) (string, error) {
	if c.Limit <= 0 {
		c.Limit = cleanLimit
	}
	c.owned, c.stored, c.gone = git.Owned(c.GitDir), map[string]git.Entry{}, map[string]string{}
	limited, cancel := context.WithTimeoutCause(ctx, c.Limit, errFilterTime)
	defer cancel()
	if err := c.cleanAll(limited, plain); err != nil {
		if errors.Is(context.Cause(limited), errFilterTime) {
			return "", c.failed(fault.Limit, fmt.Sprintf("the filters of your git settings did not end within %s", amount.Span(c.Limit)))
		}
		return "", err
	}
	tree := plain
	if c.Bundled {
		if err := c.checkBundled(ctx); err != nil {
			return "", err
		}
	}
	if len(c.stored) > 0 {
		var err error
		if tree, err = c.write(ctx, plain); err != nil {
			return "", err
		}
	}
	there := c.Base
	if c.earlier != nil {
		there = c.earlier.stored
	}
	if tree == there && plain != c.Base {
		return "", fault.New(fault.Usage, "there is nothing to commit: your git would store what you chose as it is stored already").
			Hint("only line endings differ, or what your filters leave out")
	}
	return tree, nil
}

// errFilterTime reports that a filter took too long.
var errFilterTime = errors.New("the filters take too long")

// cleanAll finds the files to convert and converts them.
func (c *Cleaner) cleanAll(ctx context.Context, plain string) error {
	var first []git.Difference
	files := 0
	err := c.each(ctx, plain, func(d git.Difference) error {
		switch {
		case isFile(d.Now) && d.Now.ID != d.Old.ID: // otherwise only the mode is new, and the stored blob stays
			if files++; files <= cleanBatch {
				first = append(first, d)
			}
		case isFile(d.Old) && !isFile(d.Now):
			c.gone[d.Old.ID] = d.Path
		}
		return nil
	})
	if err != nil || files == 0 {
		return err
	}
	if err := c.loadEarlier(ctx, plain); err != nil {
		return err
	}
	var batch []git.Difference
	names := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		full := batch
		batch, names = nil, 0
		return c.clean(ctx, plain, full)
	}
	take := func(d git.Difference) error {
		batch, names = append(batch, d), names+len(d.Path)
		if len(batch) < cleanBatch && names < cleanNames {
			return nil
		}
		return flush()
	}
	if files <= cleanBatch {
		for _, d := range first {
			if err := take(d); err != nil {
				return err
			}
		}
		return flush()
	}
	err = c.each(ctx, plain, func(d git.Difference) error {
		if !isFile(d.Now) || d.Now.ID == d.Old.ID {
			return nil
		}
		return take(d)
	})
	if err != nil {
		return err
	}
	return flush()
}

// each visits the differences between base and the tree plain.
func (c *Cleaner) each(ctx context.Context, plain string, visit func(git.Difference) error) error {
	for d, err := range c.differences(ctx, c.Base, plain) {
		if err != nil {
			return fmt.Errorf("comparing with what you have: %s", git.Message(err))
		}
		if err := visit(d); err != nil {
			return err
		}
	}
	return nil
}

func isFile(e git.Entry) bool { return e.Mode == git.File || e.Mode == git.Executable }

// differences compares two trees file by file, without looking for renames.
func (c *Cleaner) differences(ctx context.Context, from, to string) iter.Seq2[git.Difference, error] {
	if c.Folded {
		return git.Differences(ctx, c.owned, from, to)
	}
	return func(yield func(git.Difference, error) bool) {
		var d git.Difference
		for record, err := range c.owned.EachRecord(ctx, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--full-index", from, to) {
			if err != nil {
				yield(d, err)
				return
			}
			if fields := strings.Fields(record); strings.HasPrefix(record, ":") && d.Path == "" && len(fields) == 5 {
				d.Old = git.Entry{Mode: git.Mode(fields[0][1:]), ID: fields[2]}
				d.Now = git.Entry{Mode: git.Mode(fields[1]), ID: fields[3]}
				d.Path = ":"
				continue
			}
			d.Path, d.Old.Path, d.Now.Path = record, record, record
			if !yield(d, nil) {
				return
			}
			d = git.Difference{}
		}
	}
}

// loadEarlier loads the blobs of earlier accepted files. A filter may give another result
// each time, and an accepted file should not change again. Changed attributes discard
// them.
func (c *Cleaner) loadEarlier(ctx context.Context, plain string) error {
	if c.earlier == nil || c.earlier.plain == c.earlier.stored {
		return nil
	}
	for d, err := range c.differences(ctx, c.earlier.plain, plain) {
		if err != nil {
			return fmt.Errorf("comparing with what was accepted before: %s", git.Message(err))
		}
		if path.Base(d.Path) == ".gitattributes" {
			return nil
		}
	}
	c.known = map[string]git.Difference{}
	for d, err := range c.differences(ctx, c.earlier.plain, c.earlier.stored) {
		if err != nil {
			return fmt.Errorf("comparing with what was accepted before: %s", git.Message(err))
		}
		c.known[d.Path] = d
	}
	return nil
}

// write creates the tree plain with the cleaned files, in the repository that aibox owns,
// which the caller has locked.
func (c *Cleaner) write(ctx context.Context, plain string) (string, error) {
	change := git.Commit{
		Ref: review.RefPrefix(c.Session) + "clean-" + rand.Text(), Tree: plain, Message: "As it is stored\n",
		Who: review.Signature(time.Now()),
	}
	for _, entry := range c.stored {
		change.Put = append(change.Put, entry)
	}
	commit, tree, err := c.owned.ImportCommit(ctx, change)
	if err != nil {
		return "", fmt.Errorf("writing what your git would store: %s", git.Message(err))
	}
	if err := c.owned.Run(ctx, nil, nil, "update-ref", "--no-deref", "-d", change.Ref, commit); err != nil {
		return "", fmt.Errorf("writing what your git would store: %s", git.Message(err))
	}
	return tree, nil
}

// failed returns the fault for files that git could not store.
func (c *Cleaner) failed(kind fault.Kind, what string) error {
	failed := fault.New(kind, "%s, so nothing was delivered", what).
		Hint("see what your filters run: git -C %s config --get-regexp '^filter\\.'", termtext.Escape(c.Repo))
	if c.Owner == "" {
		return failed
	}
	return failed.Hint("or take other files alone: aibox accept %s --files PATH", c.Owner)
}

// attributesAbove returns the names of the attribute files that may apply to the paths. few
// is false if their total length exceeds cleanNames, since an agent can nest folders
// deeply.
func attributesAbove(paths []string) (names []string, few bool) {
	names = []string{".gitattributes"}
	seen := map[string]bool{}
	size := 0
	for _, name := range paths {
		for dir := slashpath.Parent(name); dir != "" && !seen[dir]; dir = slashpath.Parent(dir) {
			if size += len(dir); size > cleanNames {
				return nil, false
			}
			seen[dir] = true
			names = append(names, dir+"/.gitattributes")
		}
	}
	slices.Sort(names)
	return names, true
}

// maxAttributeNames bounds the total length of the names of a tree's attribute files that
// are held in memory.
const maxAttributeNames = 16 << 20

// allAttributes are the attribute files of the tree plain. They are listed once.
func (c *Cleaner) allAttributes(ctx context.Context, plain string) ([]git.Entry, error) {
	if c.attributes != nil {
		return c.attributes, nil
	}
	all, size := []git.Entry{}, 0
	for e, err := range c.owned.Entries(ctx, plain) {
		if err != nil {
			return nil, err
		}
		if path.Base(e.Path) != ".gitattributes" {
			continue
		}
		if size += len(e.Path); size > maxAttributeNames {
			return nil, fault.New(fault.Refused, "there are too many .gitattributes files to find out how your git would store the work").
				Hint("take a part of it: aibox accept %s --files PATH", c.Owner)
		}
		all = append(all, e)
	}
	c.attributes = all
	return all, nil
}

// fatal returns git's last message, which names the file, with the last message of the
// filter before it.
func fatal(err error) string {
	last, words := "", ""
	for line := range strings.Lines(strings.ReplaceAll(git.Stderr(err), enterFolder, "")) { // shells name the command line
		line = strings.TrimSpace(line)
		kind, rest, ok := strings.Cut(line, ": ")
		switch {
		case ok && kind == "fatal":
			last = termtext.Escape(rest)
		case ok && kind == "error" && strings.HasPrefix(rest, "cannot "): // start it
			words = termtext.Escape(rest)
		case line != "" && kind != "error" && kind != "warning":
			words = termtext.Escape(line)
		}
	}
	switch {
	case last == "":
		return git.Message(err)
	case words == "":
		return last
	}
	return last + " (" + words + ")"
}
