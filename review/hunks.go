package review

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"aibox/internal/fault"
	"aibox/internal/git"
)

// FileDiff is one changed file with the hunks it can be taken in. There is always
// at least one.
type FileDiff struct {
	Change *Change
	Hunks  []Hunk
}

// Pieces are all that a hunk's id can name in the file: the hunks, each behind its
// parts when it has several.
func (f FileDiff) Pieces() iter.Seq[Hunk] {
	return func(yield func(Hunk) bool) {
		for _, h := range f.Hunks {
			if parts := h.Split(); len(parts) > 1 {
				for _, part := range parts {
					if !yield(part) {
						return
					}
				}
			}
			if !yield(h) {
				return
			}
		}
	}
}

// Changed are those of paths that are the paths of changes, sorted, each once.
func (cs *ChangeSet) Changed(paths []Path) []Path {
	wanted := make(map[Path]bool, len(paths))
	for _, path := range paths {
		wanted[path] = true
	}
	var changed []Path
	for _, c := range cs.Changes {
		if wanted[c.Path] {
			changed = append(changed, c.Path)
		}
	}
	slices.Sort(changed)
	return changed
}

// Limits on how git is asked about single files.
const (
	maxPathspec = 64 << 10 // bytes of names in one command
	maxRuns     = 24       // commands; beyond that one command for everything is cheaper
)

// Files gives visit each changed file with its hunks, in the order of Changes; of
// paths, when there are any, which must be the paths of changes. Memory is bounded
// by the largest file, of which visit must not keep the lines for longer than it
// needs them. An error of visit ends it and is returned as it is.
func (cs *ChangeSet) Files(ctx context.Context, visit func(FileDiff) error, paths ...Path) error {
	if len(cs.Changes) == 0 {
		return nil
	}
	var wanted []int
	var err error
	if len(paths) > 0 {
		if wanted, err = cs.indexes(paths); err != nil {
			return err
		}
	} else {
		wanted = make([]int, len(cs.Changes))
		for i := range wanted {
			wanted[i] = i
		}
	}
	files := slices.IndexFunc(wanted, func(i int) bool { return cs.Changes[i].Kind == Folded }) // folders come last
	if files < 0 {
		files = len(wanted)
	}
	if err := cs.hunksOf(ctx, wanted[:files], len(paths) == 0, visit); err != nil {
		return err
	}
	for _, i := range wanted[files:] {
		c := &cs.Changes[i]
		if err := visit(FileDiff{Change: c, Hunks: []Hunk{whole(c, HunkFolder, nil)}}); err != nil {
			return err
		}
	}
	return nil
}

// hunksOf is Files for changes that are listed file by file.
func (cs *ChangeSet) hunksOf(ctx context.Context, wanted []int, all bool, visit func(FileDiff) error) error {
	if len(wanted) == 0 {
		return nil
	}
	if all {
		return cs.diffFiles(ctx, wanted, nil, visit)
	}
	runs := cs.pathspecs(wanted)
	if len(runs) > maxRuns {
		return cs.diffFiles(ctx, wanted, nil, visit)
	}
	for _, run := range runs {
		if err := cs.diffFiles(ctx, run.changes, run.paths, visit); err != nil {
			return err
		}
	}
	return nil
}

// indexes finds the changes of paths, in order, each once.
func (cs *ChangeSet) indexes(paths []Path) ([]int, error) {
	byPath := make(map[Path]int, len(cs.Changes))
	for i := range cs.Changes {
		byPath[cs.Changes[i].Path] = i
	}
	found := make([]int, 0, len(paths))
	for _, path := range paths {
		i, ok := byPath[path]
		if !ok {
			return nil, fault.New(fault.Usage, "nothing was changed at %s", path).Hint("`aibox diff --stat %s` lists what was", cs.Session)
		}
		found = append(found, i)
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// pathspec is one question to git: changes, and the names to ask for.
type pathspec struct {
	changes []int
	paths   []string
	size    int
	rename  bool
}

// pathspecs divides changes, which are in order, into questions. A rename is asked
// for by itself, so that git cannot pair its two names with others.
func (cs *ChangeSet) pathspecs(changes []int) []pathspec {
	var runs []pathspec
	for _, i := range changes {
		c := &cs.Changes[i]
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

// diffFiles asks git for the patch of paths, or of everything when there are none,
// and visits the changes among it.
func (cs *ChangeSet) diffFiles(ctx context.Context, changes []int, paths []string, visit func(FileDiff) error) error {
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
	f := &filesReader{cs: cs, wanted: make(map[Path]int, len(changes)), visit: visit}
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

// filesReader joins the parts of a patch to the changes they belong to.
type filesReader struct {
	cs     *ChangeSet
	wanted map[Path]int
	visit  func(FileDiff) error
	parts  []patchPart // what the sections to come belong to
	seen   int
	first  []Line // of a type change: the lines that go
}

// patchPart is one section that is to come.
type patchPart struct {
	change *Change // nil: not wanted
	half   int     // 1 and 2: a type change comes as a file that goes and one that comes
}

// raw takes a line of the list that comes before the patch:
// ":100644 100755 blob blob M\tname" or "…R100\told\tnew".
func (f *filesReader) raw(line string) error {
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
		c := &f.cs.Changes[i]
		if old, gone := cmpBlob(c.OldBlob, fields[2]), cmpBlob(c.NewBlob, fields[3]); !old || !gone || c.Kind.Letter() != fields[4][:1] {
			return fmt.Errorf("git diff-tree says something else of %s than before", c.Path)
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

// cmpBlob compares a blob of a change with one of git, which writes zeros for none.
func cmpBlob(blob, raw string) bool {
	return blob == raw || blob == "" && strings.Trim(raw, "0") == ""
}

// section takes the patch of one file.
func (f *filesReader) section(s *patchSection) error {
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

// end checks that all sections came.
func (f *filesReader) end() error {
	if len(f.parts) > 0 {
		return fmt.Errorf("git diff-tree shows %d files fewer than it lists", len(f.parts))
	}
	return nil
}

// hunks are what c can be taken in.
func (c *Change) hunks(s *patchSection) []Hunk {
	switch c.Kind {
	case Added:
		return []Hunk{whole(c, HunkAdded, s.lines())}
	case Deleted:
		return []Hunk{whole(c, HunkDeleted, s.lines())}
	}
	var hunks []Hunk
	if c.Kind == Renamed {
		hunks = append(hunks, whole(c, HunkRenamed, nil))
	}
	if c.OldMode != c.NewMode {
		hunks = append(hunks, whole(c, HunkMode, nil))
	}
	switch {
	case c.OldBlob == c.NewBlob:
	case c.NewMode == string(git.Symlink), s.long, len(s.hunks) == 0: // binary, or too long
		hunks = append(hunks, whole(c, HunkContent, s.lines()))
	default:
		for _, h := range s.hunks {
			h.Path, h.OldPath, h.OldBlob, h.Kind = c.Path, c.OldPath, c.OldBlob, HunkText
			h.ID = h.id(*c)
			hunks = append(hunks, h)
		}
	}
	return hunks
}

// whole is a hunk that cannot be split.
func whole(c *Change, kind HunkKind, lines []Line) Hunk {
	h := Hunk{Path: c.Path, OldPath: c.OldPath, OldBlob: c.OldBlob, Kind: kind, Lines: lines}
	h.span(0, 0)
	h.ID = h.id(*c)
	return h
}

// unquote reads a name as git prints it with core.quotePath.
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
