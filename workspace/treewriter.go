package workspace

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"aibox/internal/git"
)

// treeWriter changes a folder from one tree to another by writing their differences. The
// folder is aibox's own copy, and no other process writes to it.
type treeWriter struct {
	repo *git.Repo
	root int    // descriptor of the folder
	path string // of the folder
	hide func(path string) bool
	only func(path string) bool // the files that are changed; nil means all
	crlf map[string]string      // path → blob that is on disk with CRLF line endings
	kept map[string]string      // path → blob that a filter of the user's repository would change
	left int                    // of kept, without those that disk has
	disk *unfiltered            // where the content of kept may be; nil if nowhere

	baseTree string            // the tree that the agent started from, with the user's hidden files
	base     map[string]string // path → blob in that tree; nil until needed
}

// putTree changes the folder at ws.Path (also open as root) from the tree has to req.Tree. It
// leaves out the user's files that are hidden from the agent, and all for which only is false,
// unless it is nil.
func (req *ThrowawayRequest) putTree(ctx context.Context, ws *Workspace, root int, has string, only func(path string) bool) error {
	if has == req.Tree {
		return nil
	}
	p := &treeWriter{
		repo: git.Owned(req.Of.GitDir), root: root, path: ws.Path, hide: recordedGlobs(req.Of.Hide).Matcher(), only: only,
		baseTree: req.Of.BaseTree, crlf: map[string]string{}, kept: map[string]string{},
	}
	if only != nil {
		p.disk = newUnfiltered(req.Of, req.mostBytes()-ws.Bytes)
		defer p.disk.close()
	}
	if err := p.readBaseline(req.Of.Baseline); err != nil {
		return err
	}
	remove, put, err := p.difference(ctx, has, req.Tree)
	if err != nil {
		return err
	}
	for _, path := range remove {
		if err := p.remove(path); err != nil {
			return fmt.Errorf("removing %q from the copy: %w", path, err)
		}
	}
	if err := p.put(ctx, put); err != nil {
		return err
	}
	if p.left > 0 {
		ws.Notes = append(ws.Notes, fmt.Sprintf("%d files are as the repository stores them, without the filter it has for them", p.left))
	}
	return nil
}

// readBaseline finds the files whose content on disk differs from the stored one. For a
// workspace that has been removed there are none.
func (p *treeWriter) readBaseline(file string) error {
	baseline, err := LoadBaseline(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, f := range baseline.Files {
		switch {
		case f.EOL:
			p.crlf[f.Path] = hexID(f.Stored)
		case f.Stored != f.Raw:
			p.kept[f.Path] = hexID(f.Stored)
			p.disk.add(baseline.Format, &f)
		}
	}
	return nil
}

// difference lists the visible files to remove and to write.
func (p *treeWriter) difference(ctx context.Context, has, tree string) (remove []string, put []git.Entry, err error) {
	records, err := p.repo.Records(ctx, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", has, tree)
	if err != nil {
		return nil, nil, fmt.Errorf("comparing two trees: %s", git.Message(err))
	}
	for ; len(records) > 1; records = records[2:] {
		fields := strings.Fields(strings.TrimPrefix(records[0], ":"))
		if len(fields) != 5 {
			return nil, nil, fmt.Errorf("unexpected line from git diff-tree: %q", records[0])
		}
		path := records[1]
		if p.only != nil && !p.only(path) {
			continue
		}
		if p.hide(path) {
			user, err := p.isUsersBlob(ctx, path, fields[3])
			if err != nil {
				return nil, nil, err
			}
			if user {
				remove = append(remove, path)
				continue
			}
		}
		if fields[4] != "A" {
			remove = append(remove, path)
		}
		if mode := git.Mode(fields[1]); mode == git.File || mode == git.Executable || mode == git.Symlink {
			put = append(put, git.Entry{Path: path, Mode: mode, ID: fields[3]})
		}
	}
	return remove, put, nil
}

// isUsersBlob reports whether blob is the content of the user's hidden file at path. Any other
// content was written by the agent.
func (p *treeWriter) isUsersBlob(ctx context.Context, path, blob string) (bool, error) {
	if p.base == nil {
		entries, err := p.repo.Tree(ctx, p.baseTree)
		if err != nil {
			return false, fmt.Errorf("reading the files of the start: %s", git.Message(err))
		}
		p.base = map[string]string{}
		for _, e := range entries {
			if p.hide(e.Path) {
				p.base[e.Path] = e.ID
			}
		}
	}
	return p.base[path] == blob, nil
}

// remove deletes a file, and then its folders that are empty.
func (p *treeWriter) remove(path string) error {
	for first := true; path != "."; first, path = false, folderOf(path) {
		dir, err := openDir(p.root, folderOf(path))
		if absent(err) {
			return nil
		}
		if err != nil {
			return err
		}
		flags := unix.AT_REMOVEDIR
		if first {
			flags = 0
		}
		err = unix.Unlinkat(dir, path[strings.LastIndexByte(path, '/')+1:], flags)
		unix.Close(dir)
		switch {
		case first && (err == nil || absent(err) || errors.Is(err, unix.EISDIR)):
		case !first && (errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST)):
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

// put writes files from the repository.
func (p *treeWriter) put(ctx context.Context, entries []git.Entry) error {
	var ids bytes.Buffer
	paths := make([]string, 0, len(entries))
	for _, e := range entries {
		if err := p.makeWay(e.Path); err != nil {
			return fmt.Errorf("making way for %q: %w", e.Path, err)
		}
		paths = append(paths, e.Path)
		ids.WriteString(e.ID + "\n")
	}
	if err := makeFolders(p.root, paths); err != nil || len(entries) == 0 {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := p.repo.Run(ctx, &ids, write, "cat-file", "--batch")
		write.CloseWithError(err)
		ended <- err
	}()
	err := p.putAll(entries, bufio.NewReaderSize(read, 256<<10))
	read.CloseWithError(io.ErrClosedPipe)
	if gitErr := <-ended; err == nil {
		err = gitErr
	}
	return err
}

func (p *treeWriter) putAll(entries []git.Entry, in *bufio.Reader) error {
	for _, e := range entries {
		line, err := in.ReadString('\n')
		if err != nil {
			return fmt.Errorf("reading objects: %w", err)
		}
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[1] != "blob" {
			return fmt.Errorf("an object of the tree is missing: %s", strings.TrimSpace(line))
		}
		size, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil {
			return err
		}
		content := io.LimitReader(in, size)
		if p.crlf[e.Path] == e.ID {
			text, err := io.ReadAll(content)
			if err != nil {
				return err
			}
			content = bytes.NewReader(bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")))
		} else if p.kept[e.Path] == e.ID {
			done, err := p.disk.extract(p.root, e)
			if err != nil {
				return err
			}
			if done {
				if _, err := in.Discard(int(size) + 1); err != nil {
					return err
				}
				continue
			}
			p.left++
		}
		if _, err := extractFile(p.root, e, content); err != nil {
			return err
		}
		if _, err := in.Discard(1); err != nil {
			return err
		}
	}
	return nil
}

// makeWay removes anything in the place of a file or of one of its folders: a symlink, a
// file, a folder of ignored files.
func (p *treeWriter) makeWay(path string) error {
	for i := range len(path) + 1 {
		if i < len(path) && path[i] != '/' {
			continue
		}
		// The folders above have been checked by now.
		var st unix.Stat_t
		err := unix.Fstatat(p.root, path[:i], &st, unix.AT_SYMLINK_NOFOLLOW)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		isFolder := st.Mode&unix.S_IFMT == unix.S_IFDIR
		switch {
		case isFolder && i < len(path):
		case isFolder:
			return removeTree(filepath.Join(p.path, filepath.FromSlash(path)))
		default:
			return os.Remove(filepath.Join(p.path, filepath.FromSlash(path[:i])))
		}
	}
	return nil
}
