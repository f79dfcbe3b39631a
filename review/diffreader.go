package review

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"aibox/internal/git"
)

// Limits on git commands for single files.
const (
	maxPathspec = 64 << 10 // bytes of names in one command
	maxRuns     = 24       // commands; beyond that, one command for everything is cheaper
)

// diffReader reads the hunks of changes from git.
type diffReader struct {
	set   *ChangeSet
	visit func(FileDiff) error
}

// read visits the changes with the given indexes, which are listed file by file. all
// reports whether they are all changes.
func (r *diffReader) read(ctx context.Context, changes []int, all bool) error {
	if len(changes) == 0 {
		return nil
	}
	if all {
		return r.diff(ctx, changes, nil)
	}
	runs := r.pathspecs(changes)
	if len(runs) > maxRuns {
		return r.diff(ctx, changes, nil)
	}
	for _, run := range runs {
		if err := r.diff(ctx, run.changes, run.paths); err != nil {
			return err
		}
	}
	return nil
}

// pathspec is one command to git: changes and their paths.
type pathspec struct {
	changes []int
	paths   []string
	size    int
	rename  bool
}

// pathspecs divides changes, which are in order, into commands. A rename gets its own
// command, so that git cannot pair its two names with others.
func (r *diffReader) pathspecs(changes []int) []pathspec {
	var runs []pathspec
	for _, i := range changes {
		c := &r.set.Changes[i]
		names := []string{c.Path.Raw()}
		if c.Kind == Renamed {
			names = append(names, c.OldPath.Raw())
		}
		last := len(runs) - 1
		if last < 0 || c.Kind == Renamed || runs[last].rename || runs[last].size > maxPathspec {
			runs = append(runs, pathspec{rename: c.Kind == Renamed})
			last++
		}
		run := &runs[last]
		run.changes, run.paths = append(run.changes, i), append(run.paths, names...)
		for _, name := range names {
			run.size += len(name) + 1
		}
	}
	return runs
}

// diff reads git's patch of paths, or of everything without any, and visits the given
// changes in it.
func (r *diffReader) diff(ctx context.Context, changes []int, paths []string) error {
	cs := r.set
	args := slices.Concat(DiffTree, []string{"--raw", "-p", cs.BaseTree, cs.ListedTree()})
	if len(paths) > 0 {
		if cs.Changes[changes[0]].Kind != Renamed {
			args = append(args, "--no-renames")
		}
		args = append(append(args, "--"), paths...)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := git.Owned(cs.GitDir).Run(ctx, nil, write, args...)
		write.CloseWithError(err)
		ended <- err
	}()
	f := &sectionReader{diffReader: r, wanted: make(map[Path]int, len(changes))}
	for _, i := range changes {
		f.wanted[cs.Changes[i].Path] = i
	}
	err := readPatch(read, f)
	if err == nil && f.seen < len(changes) {
		err = fmt.Errorf("git diff-tree leaves out %d of %d files", len(changes)-f.seen, len(changes))
	}
	if err != nil {
		cancel()
	}
	read.CloseWithError(io.ErrClosedPipe)
	if gitErr := <-ended; gitErr != nil && (err == nil || errors.Is(err, gitErr)) {
		return fmt.Errorf("reading the hunks: %s", git.Message(gitErr))
	}
	return err
}

// sectionReader assigns the sections of a patch to their changes.
type sectionReader struct {
	*diffReader
	wanted map[Path]int
	parts  []patchPart // changes of the sections to come
	seen   int
	first  []Line // removed lines of a type change
}

// patchPart is the change of a section to come.
type patchPart struct {
	change *Change // nil if not requested
	half   int     // 1 and 2 for a type change, which has one section for the removed file and one for the new
}

// raw reads a line of the list before the patch:
// ":100644 100755 blob blob M\tname" or "…R100\told\tnew".
func (f *sectionReader) raw(line string) error {
	meta, names, ok := strings.Cut(line, "\t")
	fields := strings.Fields(meta)
	if !ok || len(fields) != 5 || fields[4] == "" {
		return fmt.Errorf("unexpected line from git diff-tree: %q", line)
	}
	if _, renamed, ok := strings.Cut(names, "\t"); ok {
		names = renamed
	}
	path, err := unquote(names)
	if err != nil {
		return err
	}
	var change *Change
	if i, ok := f.wanted[Path(path)]; ok {
		c := &f.set.Changes[i]
		if old, gone := cmpBlob(c.OldBlob, fields[2]), cmpBlob(c.NewBlob, fields[3]); !old || !gone || c.Kind.Letter() != fields[4][:1] {
			return fmt.Errorf("git diff-tree reports %s differently than before", c.Path)
		}
		change = c
		f.seen++
	}
	if fields[4][0] == 'T' {
		f.parts = append(f.parts, patchPart{change, 1}, patchPart{change, 2})
	} else {
		f.parts = append(f.parts, patchPart{change, 0})
	}
	return nil
}

// cmpBlob reports whether blob is raw, a blob as git prints it, with zeros for none.
func cmpBlob(blob, raw string) bool {
	return blob == raw || blob == "" && strings.Trim(raw, "0") == ""
}

// section reads the patch of one file.
func (f *sectionReader) section(s *patchSection) error {
	if len(f.parts) == 0 {
		return errors.New("git diff-tree shows more files than it lists")
	}
	part := f.parts[0]
	f.parts = f.parts[1:]
	switch {
	case part.change == nil:
		return nil
	case part.half == 1:
		f.first = s.lines()
		return nil
	case part.half == 2:
		h := whole(part.change, HunkType, append(f.first, s.lines()...))
		f.first = nil
		return f.visit(FileDiff{Change: part.change, Hunks: []Hunk{h}})
	}
	return f.visit(FileDiff{Change: part.change, Hunks: part.change.hunks(s)})
}

// end checks that no section is missing.
func (f *sectionReader) end() error {
	if len(f.parts) > 0 {
		return fmt.Errorf("git diff-tree shows %d files fewer than it lists", len(f.parts))
	}
	return nil
}

// unquote decodes a name that git printed with core.quotePath.
func unquote(name string) (string, error) {
	if !strings.HasPrefix(name, `"`) {
		return name, nil
	}
	raw, err := strconv.Unquote(name)
	if err != nil {
		return "", fmt.Errorf("unexpected name from git diff-tree: %q", name)
	}
	return raw, nil
}
