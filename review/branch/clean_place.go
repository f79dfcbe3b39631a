package branch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/internal/slashpath"
	"aibox/review"
)

// cleanDir is a folder in which some files are converted: a working tree with the files
// and the attribute files above them, and an index.
type cleanDir struct {
	*Cleaner
	dir   string
	tree  *os.Root
	git   *git.Repo // the user's, with this working tree and index
	read  func() *git.Blobs
	blobs *git.Blobs // once they are read
	size  int64      // of the files that wait
	wait  []git.Difference
	plain []git.Difference // files whose filter, which is not set up, would keep their content out of the history
}

// clean records in c.stored the converted blobs of some files of the tree plain.
func (c *Cleaner) clean(ctx context.Context, plain string, batch []git.Difference) (err error) {
	p, err := c.place(ctx)
	if err != nil {
		return fmt.Errorf("making a folder for your filters: %w", err)
	}
	defer func() { err = errors.Join(err, p.close()) }()
	paths := make([]string, 0, len(batch))
	for _, d := range batch {
		paths = append(paths, d.Path)
		if from := c.gone[d.Now.ID]; from != "" {
			paths = append(paths, from)
		}
	}
	if err := p.putAttributes(ctx, plain, paths); err != nil {
		return err
	}
	if err := c.settings(ctx, p.git, paths); err != nil {
		return err
	}
	for _, d := range batch {
		if err := p.consider(d); err != nil {
			return err
		}
		if p.size >= cleanBytes {
			if err := p.run(ctx); err != nil {
				return err
			}
		}
	}
	if len(p.plain) > 0 {
		return p.notSetUp()
	}
	return p.run(ctx)
}

// inMemory is the size of the largest file that is read into memory for checks.
const inMemory = 1 << 20

// cleanPlaces are the folders of all processes, in the folder of aibox's repository.
const cleanPlaces = "*.clean-*"

// place makes the folder. It first removes folders of killed processes.
func (c *Cleaner) place(ctx context.Context) (*cleanDir, error) {
	if c.of == "" {
		of, err := git.User(c.Repo).Line(ctx, "rev-parse", "--absolute-git-dir")
		if err != nil {
			return nil, errors.New(git.Message(err))
		}
		c.of = of
	}
	left, _ := filepath.Glob(filepath.Join(c.GitDir, "aibox", cleanPlaces))
	for _, dir := range left {
		pid, err := strconv.Atoi(dir[strings.LastIndexByte(dir, '-')+1:])
		if err == nil && errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			_ = os.RemoveAll(dir)
		}
	}
	dir := filepath.Join(c.GitDir, "aibox", c.Session+".clean-"+strconv.Itoa(os.Getpid()))
	tree := filepath.Join(dir, "tree")
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(tree, 0o700), os.Mkdir(emptyIn(dir), 0o700)); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(tree)
	if err != nil {
		return nil, err
	}
	repo := git.Beside(c.of, tree, filepath.Join(dir, "index"))
	if c.Own {
		repo = repo.With("GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	}
	var borrowed []string
	if c.Uncommitted {
		borrowed = append(borrowed, git.Quote(filepath.Join(c.GitDir, "objects")))
	}
	if c.DryRun {
		own, err := repo.Line(ctx, "rev-parse", "--path-format=absolute", "--git-path", "objects")
		if err != nil {
			return nil, errors.Join(errors.New(git.Message(err)), root.Close())
		}
		objects := filepath.Join(dir, "objects")
		if err := os.Mkdir(objects, 0o700); err != nil {
			return nil, errors.Join(err, root.Close())
		}
		borrowed, repo = append(borrowed, git.Quote(own)), repo.With("GIT_OBJECT_DIRECTORY="+objects)
	}
	if len(borrowed) > 0 {
		repo = repo.With("GIT_ALTERNATE_OBJECT_DIRECTORIES=" + strings.Join(borrowed, ":"))
	}
	return &cleanDir{Cleaner: c, dir: dir, tree: root, git: repo, read: func() *git.Blobs { return c.owned.Blobs(ctx) }}, nil
}

// emptyIn returns the folder in dir that filters start in.
func emptyIn(dir string) string { return filepath.Join(dir, "empty") }

// blobReader reads the trees' files.
func (p *cleanDir) blobReader() *git.Blobs {
	if p.blobs == nil {
		p.blobs = p.read()
	}
	return p.blobs
}

func (p *cleanDir) close() error {
	if p.blobs != nil {
		_ = p.blobs.Close()
	}
	return errors.Join(p.tree.Close(), os.RemoveAll(p.dir))
}

// putAttributes writes the attribute files of the tree that apply to the paths. Git ignores
// symlinks.
func (p *cleanDir) putAttributes(ctx context.Context, plain string, paths []string) error {
	names, few := attributesAbove(paths)
	if !few {
		return p.putSomeAttributes(ctx, plain, paths)
	}
	for e, err := range p.owned.EntriesAt(ctx, plain, names) {
		if err != nil {
			return fmt.Errorf("reading the attributes of your files: %s", git.Message(err))
		}
		if !isFile(e) {
			continue
		}
		if _, err := p.put(e); err != nil {
			return fmt.Errorf("reading the attributes of your files: %w", err)
		}
	}
	return nil
}

// putSomeAttributes does the same if there are too many folders above the paths to query
// each.
func (p *cleanDir) putSomeAttributes(ctx context.Context, plain string, paths []string) error {
	all, err := p.allAttributes(ctx, plain)
	if err != nil {
		return err
	}
	paths = slices.Sorted(slices.Values(paths))
	for _, e := range all {
		below := strings.TrimSuffix(e.Path, ".gitattributes")
		if i, _ := slices.BinarySearch(paths, below); !isFile(e) || i == len(paths) || !strings.HasPrefix(paths[i], below) {
			continue
		}
		if _, err := p.put(e); err != nil {
			return fmt.Errorf("reading the attributes of your files: %w", err)
		}
	}
	return nil
}

// put writes one file.
func (p *cleanDir) put(e git.Entry) (size int64, err error) {
	if dir := slashpath.Parent(e.Path); dir != "" {
		if err := p.tree.MkdirAll(dir, 0o700); err != nil {
			return 0, err
		}
	}
	file, err := p.tree.OpenFile(e.Path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	counted := &counting{file: file}
	err = p.blobReader().Copy(e.ID, counted)
	return counted.n, errors.Join(err, file.Close())
}

// counting counts the bytes written to a file.
type counting struct {
	file *os.File
	n    int64
}

func (c *counting) Write(data []byte) (int, error) {
	n, err := c.file.Write(data)
	c.n += int64(n)
	return n, err
}

// settings reads the user's git settings for the paths in the tree.
func (c *Cleaner) settings(ctx context.Context, repo *git.Repo, paths []string) error {
	first := c.user.Git == nil
	c.user.Git = repo
	if first {
		if err := c.user.ReadConfig(ctx); err != nil {
			return err
		}
	}
	return c.user.ReadAttributes(ctx, paths)
}

// consider writes a file to the working tree if git may convert it.
func (p *cleanDir) consider(d git.Difference) error {
	was, ok := p.known[d.Path]
	if ok && was.Old.ID == d.Now.ID {
		p.stored[d.Path] = git.Entry{Mode: d.Now.Mode, ID: was.Now.ID, Path: d.Path}
		return nil
	}
	filter := p.user.Attrs[d.Path]["filter"]
	from := p.gone[d.Now.ID]
	switch keeps := p.user.Filters[filter] || filterProgram(filter) != "" && !p.Own; {
	case p.AsStored && p.user.Encoding(d.Path) != "": // and so is the agent's version
		return nil
	case keeps && from != "" && p.user.Attrs[from]["filter"] == filter:
		return nil // the agent had the stored form, for example of a commit, and moved the file
	case keeps && !p.user.Filters[filter] && !p.isConsented(d.Path):
		return p.checkPlain(d)
	}
	if !p.user.Transforms(d.Path) {
		if !p.user.LineEndings(d.Path).Converts {
			return nil
		}
		content, cut, err := p.blobReader().ReadWithin(d.Now.ID, inMemory)
		if err != nil || !cut && !strings.Contains(string(content), "\r\n") {
			return err
		}
	}
	size, err := p.put(d.Now)
	if err != nil {
		return fmt.Errorf("bringing %s to your filters: %w", review.Path(d.Path), err)
	}
	p.size += size
	p.wait = append(p.wait, d)
	return nil
}

// run makes git store the pending files.
func (p *cleanDir) run(ctx context.Context) error {
	if len(p.wait) == 0 {
		return nil
	}
	if err := p.add(ctx); err != nil {
		return err
	}
	ids, err := p.git.Index(ctx)
	if err != nil {
		return fmt.Errorf("reading what your git stored: %s", git.Message(err))
	}
	var list strings.Builder
	for _, d := range p.wait {
		switch id := ids[d.Path]; id {
		case "":
			return p.failed(fault.Environment, "git does not store "+review.Path(d.Path).String())
		case d.Now.ID:
		default:
			p.stored[d.Path] = git.Entry{Mode: d.Now.Mode, ID: id, Path: d.Path}
			list.WriteString(id + "\n")
		}
		if !strings.HasSuffix(d.Path, ".gitattributes") {
			_ = p.tree.Remove(d.Path) // the next files of the batch need the space
		}
	}
	p.wait, p.size = nil, 0
	if list.Len() == 0 {
		return nil
	}
	if err := copyObjects(ctx, p.git, p.owned, []byte(list.String())); err != nil {
		return fmt.Errorf("keeping what your git stored: %s", git.Message(err))
	}
	return nil
}

// add adds the pending files to the index.
func (p *cleanDir) add(ctx context.Context) error {
	var known, names strings.Builder
	for _, d := range p.wait {
		names.WriteString(d.Path + "\x00")
		if isFile(d.Old) { // git does not convert the line endings of a text that it stores with CRLF
			fmt.Fprintf(&known, "%s %s\t%s\x00", d.Old.Mode, d.Old.ID, d.Path)
		}
	}
	err := p.git.Run(ctx, strings.NewReader(known.String()), nil, "update-index", "-z", "--index-info")
	if err == nil {
		err = p.git.With(p.configuration()...).Run(ctx, strings.NewReader(names.String()), nil, "update-index", "-z", "--add", "--stdin")
	}
	if ctx.Err() != nil {
		return fmt.Errorf("running your filters: %w", ctx.Err())
	}
	if err != nil {
		return p.failed(fault.Environment, "git cannot store the files as your repository keeps them: "+fatal(err))
	}
	return nil
}
