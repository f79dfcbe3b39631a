package review

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"aibox/internal/git"
)

// differ are the options of every comparison of two trees, so that the list, the
// numbers and the patch agree. Nothing in the repository can change them.
var differ = []string{"diff-tree", "-r", "--find-renames", "-l1000", "--no-ext-diff", "--no-textconv", "--no-color", "--full-index"}

// describe fills in the changes from the two trees.
func (cs *ChangeSet) describe(ctx context.Context, repo *git.Repo) error {
	return cs.compare(ctx, repo, nil)
}

// compare is describe for one who knows sizes of new contents, by their paths.
func (cs *ChangeSet) compare(ctx context.Context, repo *git.Repo, sizes map[string]int64) error {
	cs.Changes = []Change{}
	if cs.Tree == cs.BaseTree {
		return nil
	}
	records, err := repo.Records(ctx, slices.Concat(differ, []string{"-z", "--raw", "--numstat", cs.BaseTree, cs.Tree})...)
	if err != nil {
		return err
	}
	records, err = cs.parseRaw(records)
	if err != nil {
		return err
	}
	if err := cs.parseNumstat(records); err != nil {
		return err
	}
	return cs.sizes(ctx, repo, sizes)
}

// parseRaw reads the records that begin with a colon and returns the others.
func (cs *ChangeSet) parseRaw(records []string) ([]string, error) {
	for len(records) > 1 && strings.HasPrefix(records[0], ":") {
		fields := strings.Fields(records[0][1:])
		if len(fields) != 5 || fields[4] == "" {
			return nil, fmt.Errorf("unexpected line from git diff-tree: %q", records[0])
		}
		c := Change{
			OldMode: fields[0], NewMode: fields[1], OldBlob: fields[2], NewBlob: fields[3], Path: Path(records[1]),
		}
		records = records[2:]
		switch fields[4][0] {
		case 'A':
			c.Kind, c.OldMode, c.OldBlob = Added, "", ""
		case 'D':
			c.Kind, c.NewMode, c.NewBlob = Deleted, "", ""
		case 'T':
			c.Kind = TypeChanged
		case 'R':
			if len(records) == 0 {
				return nil, fmt.Errorf("git diff-tree tells no new name of %q", c.Path.Raw())
			}
			c.Kind, c.OldPath, c.Path = Renamed, c.Path, Path(records[0])
			records = records[1:]
		default:
			c.Kind = Modified
			if c.OldBlob == c.NewBlob {
				c.Kind = ModeChanged
			}
		}
		cs.Changes = append(cs.Changes, c)
	}
	return records, nil
}

// parseNumstat reads "ADDED\tDELETED\tPATH", for a rename with an empty path
// and two more records; the order is that of the raw records.
func (cs *ChangeSet) parseNumstat(records []string) error {
	next := 0
	for len(records) > 0 {
		fields := strings.SplitN(records[0], "\t", 3)
		if len(fields) != 3 {
			return fmt.Errorf("unexpected line from git diff-tree: %q", records[0])
		}
		path := fields[2]
		records = records[1:]
		if path == "" && len(records) >= 2 {
			path, records = records[1], records[2:]
		}
		for next < len(cs.Changes) && string(cs.Changes[next].Path) != path {
			next++
		}
		if next == len(cs.Changes) {
			return fmt.Errorf("git diff-tree counts lines of an unknown file %q", path)
		}
		c := &cs.Changes[next]
		if fields[0] == "-" {
			c.Binary = true
			continue
		}
		added, err1 := strconv.Atoi(fields[0])
		deleted, err2 := strconv.Atoi(fields[1])
		if err1 != nil || err2 != nil {
			return fmt.Errorf("unexpected numbers from git diff-tree: %q", fields[:2])
		}
		c.Added, c.Deleted = added, deleted
	}
	return nil
}

// sizes fills in the size of each new content; git tells those that are not known.
func (cs *ChangeSet) sizes(ctx context.Context, repo *git.Repo, known map[string]int64) error {
	var ask, answer strings.Builder
	var open []*Change
	for i := range cs.Changes {
		c := &cs.Changes[i]
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
		return fmt.Errorf("git cat-file tells %d sizes of %d", len(lines), len(open))
	}
	for i, c := range open {
		if c.Size, err = strconv.ParseInt(lines[i], 10, 64); err != nil {
			return fmt.Errorf("the content of %q is missing", c.Path.Raw())
		}
	}
	return nil
}
