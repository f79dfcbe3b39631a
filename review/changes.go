package review

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"aibox/internal/git"
)

// DiffTree are the options of every comparison of two trees, so that the list, the
// line counts and the patch agree. No setting of the repository can change them.
var DiffTree = []string{"diff-tree", "-r", "--find-renames", "-l1000", "--no-ext-diff", "--no-textconv", "--no-color", "--full-index"}

// Describe fills in the changes from the trees. When there are too many to list, it folds
// them, unless Listed is set already.
func (cs *ChangeSet) Describe(ctx context.Context) error {
	repo := git.Owned(cs.GitDir)
	err := cs.ListChanges(ctx, repo, nil)
	if errors.Is(err, ErrTooMany) && cs.Listed == "" {
		return cs.FoldChanges(ctx, repo, MaxListed, "listed-"+cs.Tree[:16])
	}
	return err
}

// ErrTooMany reports that there are too many changes to list.
var ErrTooMany = errors.New("too many files were changed to list them")

// ListChanges fills in the changes that are listed file by file. sizes holds the known
// sizes of new contents by path.
func (cs *ChangeSet) ListChanges(ctx context.Context, repo *git.Repo, sizes map[string]int64) error {
	cs.Changes = []Change{}
	if cs.ListedTree() == cs.BaseTree {
		return nil
	}
	next, stop := iter.Pull2(repo.EachRecord(ctx, slices.Concat(DiffTree, []string{"-z", "--raw", "--numstat", cs.BaseTree, cs.ListedTree()})...))
	defer stop()
	p := &rawParser{cs: cs, next: next, most: 2 * MaxListed}
	if err := p.run(); err != nil {
		return err
	}
	return fillSizes(ctx, repo, cs.Changes, sizes)
}

// DiffTrees returns the differences between two trees, including renames, without line
// counts. More than 2*MaxListed changes are ErrTooMany.
func DiffTrees(ctx context.Context, repo *git.Repo, from, to string) ([]Change, error) {
	next, stop := iter.Pull2(repo.EachRecord(ctx, slices.Concat(DiffTree, []string{"-z", "--raw", from, to})...))
	defer stop()
	var cs ChangeSet
	err := (&rawParser{cs: &cs, next: next, most: 2 * MaxListed}).run()
	return cs.Changes, err
}

// rawParser parses the output of git diff-tree -z --raw --numstat as a stream.
type rawParser struct {
	cs    *ChangeSet
	next  func() (string, error, bool)
	most  int // changes; more are ErrTooMany
	total ListSize
	at    int // the change that numstat comes to next
}

func (p *rawParser) run() error {
	for {
		record, err, more := p.next()
		switch {
		case err != nil:
			return err
		case !more:
			return nil
		case strings.HasPrefix(record, ":"):
			err = p.raw(record)
		default:
			err = p.numstat(record)
		}
		if err != nil {
			return err
		}
	}
}

// name returns the next record, which must exist.
func (p *rawParser) name() (Path, error) {
	record, err, more := p.next()
	if err == nil && !more {
		err = errors.New("git diff-tree ends before a name")
	}
	return Path(record), err
}

// raw reads a record that begins with a colon, and the names after it.
func (p *rawParser) raw(record string) error {
	fields := strings.Fields(record[1:])
	if len(fields) != 5 || fields[4] == "" {
		return fmt.Errorf("unexpected line from git diff-tree: %q", record)
	}
	c := Change{OldMode: fields[0], NewMode: fields[1], OldBlob: fields[2], NewBlob: fields[3]}
	var err error
	if c.Path, err = p.name(); err != nil {
		return err
	}
	switch fields[4][0] {
	case 'A':
		c.Kind, c.OldMode, c.OldBlob = Added, "", ""
	case 'D':
		c.Kind, c.NewMode, c.NewBlob = Deleted, "", ""
	case 'T':
		c.Kind = TypeChanged
	case 'R':
		c.Kind, c.OldPath = Renamed, c.Path
		if c.Path, err = p.name(); err != nil {
			return err
		}
	default:
		c.Kind = Modified
		if c.OldBlob == c.NewBlob {
			c.Kind = ModeChanged
		}
	}
	p.cs.Changes = append(p.cs.Changes, c)
	if p.total.Add(c.Path.Raw()); p.most > 0 && (p.total.Files > p.most || p.total.weight > 2*maxWeight) {
		return ErrTooMany
	}
	return nil
}

// numstat reads "ADDED\tDELETED\tPATH", for a rename with an empty path and two more
// records; the order is that of the raw records.
func (p *rawParser) numstat(record string) error {
	fields := strings.SplitN(record, "\t", 3)
	if len(fields) != 3 {
		return fmt.Errorf("unexpected line from git diff-tree: %q", record)
	}
	path := Path(fields[2])
	if path == "" {
		if _, err := p.name(); err != nil {
			return err
		}
		var err error
		if path, err = p.name(); err != nil {
			return err
		}
	}
	changes := p.cs.Changes
	for p.at < len(changes) && changes[p.at].Path != path {
		p.at++
	}
	if p.at == len(changes) {
		return fmt.Errorf("git diff-tree counts lines of an unknown file %q", path.Raw())
	}
	c := &changes[p.at]
	if fields[0] == "-" {
		c.Binary = true
		return nil
	}
	var err1, err2 error
	c.Added, err1 = strconv.Atoi(fields[0])
	c.Deleted, err2 = strconv.Atoi(fields[1])
	if err1 != nil || err2 != nil {
		return fmt.Errorf("unexpected numbers from git diff-tree: %q", fields[:2])
	}
	return nil
}

// fillSizes fills in the size of each new content, from known or else from git.
func fillSizes(ctx context.Context, repo *git.Repo, changes []Change, known map[string]int64) error {
	var ask, answer strings.Builder
	var open []*Change
	for i := range changes {
		c := &changes[i]
		size, ok := known[c.Path.Raw()]
		switch {
		case c.NewBlob == "":
		case ok:
			c.Size = size
		default:
			ask.WriteString(c.NewBlob + "\n")
			open = append(open, c)
		}
	}
	if len(open) == 0 {
		return nil
	}
	err := repo.Run(ctx, strings.NewReader(ask.String()), &answer, "cat-file", "--batch-check=%(objectsize)")
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSuffix(answer.String(), "\n"), "\n")
	if len(lines) != len(open) {
		return fmt.Errorf("git cat-file reports %d sizes instead of %d", len(lines), len(open))
	}
	for i, c := range open {
		if c.Size, err = strconv.ParseInt(lines[i], 10, 64); err != nil {
			return fmt.Errorf("the content of %q is missing", c.Path.Raw())
		}
	}
	return nil
}
