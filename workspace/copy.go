package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/internal/termtext"
)

const (
	smallFile = 1 << 20 // read into memory at once; a larger one is cloned or streamed
	batchSize = 256     // files of one folder that a worker takes at a time
)

// confined are the rules every file in a tree is opened with: no symlink, no
// other file system, never above the root.
const confined = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS

// copied is the outcome for one file: the File, with Stored and EOL still open.
type copied struct {
	File
	mtime   int64  // of the original, as in Stat; the file system of the copy may round its own
	gone    bool   // not there any more, or something that git does not keep
	content []byte // of .gitignore files and symlinks
	key     bool   // a private key that the agent does not get; it will be removed
}

// copier copies files from one tree into a new one.
type copier struct {
	from, to int // descriptors of the two tops
	format   git.Format
	filemode bool // whether the executable bit on disk counts
	noLinks  bool // git writes symlinks as files with their targets
	index    map[string]git.Entry
	prefix   string // of paths in messages
	progress func(files int, bytes int64)
	keys     func(path string) bool // whether a private key is hidden; nil means that none is
	room     *atomic.Int64          // bytes that may still be copied, if files may grow meanwhile; nil means no limit
}

// batch is a run of files of one folder.
type batch struct {
	dir  string
	into []copied
	at   []string
}

// copyTree copies the files at paths (sorted) from the folder from into to and
// returns one result for each.
func (c *copier) copyTree(ctx context.Context, paths []string) ([]copied, error) {
	results := make([]copied, len(paths))
	if err := makeFolders(c.to, c.inFolders(paths)); err != nil {
		return nil, err
	}
	return results, inBatches(ctx,
		func(ctx context.Context, batches chan<- batch) error { return split(ctx, paths, results, batches) },
		c.copyBatch)
}

// inFolders returns the paths whose folder exists. A folder that the user has replaced
// with a file, which is among the paths, must not be created.
func (c *copier) inFolders(paths []string) []string {
	there := make([]string, 0, len(paths))
	last, is := ".", true
	for _, path := range paths {
		if dir := folderOf(path); dir != last {
			fd, err := openDir(c.from, dir)
			if last, is = dir, err == nil || !absent(err); err == nil {
				unix.Close(fd)
			}
		}
		if is {
			there = append(there, path)
		}
	}
	return there
}

// inBatches runs work on the batches that hand passes to send, with one worker per
// processor. Each worker has its own buffer for small files.
func inBatches(ctx context.Context, hand func(context.Context, chan<- batch) error, work func(batch, []byte) error) error {
	batches := make(chan batch)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(batches)
		return hand(ctx, batches)
	})
	for range runtime.NumCPU() {
		g.Go(func() error {
			buf := make([]byte, smallFile+1)
			for b := range batches {
				if err := work(b, buf); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// split cuts paths into batches of one folder each.
func split(ctx context.Context, paths []string, results []copied, batches chan<- batch) error {
	for start := 0; start < len(paths); {
		dir := folderOf(paths[start])
		end := start + 1
		for end < len(paths) && end-start < batchSize && folderOf(paths[end]) == dir {
			end++
		}
		select {
		case batches <- batch{dir: dir, into: results[start:end], at: paths[start:end]}:
		case <-ctx.Done():
			return ctx.Err()
		}
		start = end
	}
	return nil
}

func folderOf(path string) string {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i]
	}
	return "."
}

// makeFolders makes every folder that paths need below root. It follows no symlink.
func makeFolders(root int, paths []string) error {
	made := map[string]bool{".": true}
	var need func(dir string) error
	need = func(dir string) error {
		if made[dir] {
			return nil
		}
		if err := need(folderOf(dir)); err != nil {
			return err
		}
		made[dir] = true
		if err := makeFolder(root, dir); err != nil {
			return fmt.Errorf("making folder %s: %w", termtext.Escape(dir), err)
		}
		return nil
	}
	last := ""
	for _, path := range paths {
		if dir := folderOf(path); dir != last {
			if err := need(dir); err != nil {
				return err
			}
			last = dir
		}
	}
	return nil
}

// makeFolder makes a folder in one that exists. Anything else may be in its place already.
func makeFolder(root int, dir string) error {
	above, err := openDir(root, folderOf(dir))
	if err != nil {
		return err
	}
	defer unix.Close(above)
	if err := unix.Mkdirat(above, dir[strings.LastIndexByte(dir, '/')+1:], 0o755); err != nil && err != unix.EEXIST {
		return err
	}
	return nil
}

func (c *copier) copyBatch(b batch, buf []byte) error {
	from, err := openDir(c.from, b.dir)
	if absent(err) {
		for i := range b.into {
			b.into[i] = copied{File: File{Path: b.at[i]}, gone: true}
		}
		return nil
	}
	if err != nil {
		return closed(c.prefix+b.dir, err)
	}
	defer unix.Close(from)
	var bytes int64
	err = c.copyFiles(from, b, buf, func(i int, one copied, err error) error {
		b.into[i] = one
		bytes += int64(one.Stat.Size)
		return err
	})
	if err == nil {
		c.progress(len(b.at), bytes)
	}
	return err
}

// copyFiles copies the files of a batch from the open folder from. It calls done after
// each one, and stops at the first error that done returns.
func (c *copier) copyFiles(from int, b batch, buf []byte, done func(i int, one copied, err error) error) error {
	to, err := openDir(c.to, b.dir)
	if err != nil {
		return err
	}
	defer unix.Close(to)
	for i, path := range b.at {
		one, err := c.copyFile(from, to, path, buf)
		if err := done(i, one, err); err != nil {
			return err
		}
	}
	return nil
}

func openDir(root int, dir string) (int, error) {
	return unix.Openat2(root, dir, &unix.OpenHow{
		Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: confined,
	})
}

// absent reports whether err means that the user's tree has no such file. A file or a
// symlink may also have replaced one of its folders.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}

func unreadable(path string, err error) error {
	shown := termtext.Escape(path)
	if errors.Is(err, fs.ErrPermission) {
		return fault.New(fault.Usage, "%s cannot be read: %w", shown, err).
			Hint("give yourself the right to read it: chmod u+r %s", shown).
			Hint("or leave it out: --hide %s", shown)
	}
	return fmt.Errorf("copying %s: %w", shown, err)
}

// closed is unreadable for a folder.
func closed(path string, err error) error {
	shown := termtext.Escape(path)
	if errors.Is(err, fs.ErrPermission) {
		return fault.New(fault.Usage, "the folder %s, which your repository tracks, cannot be read: %w", shown, err).
			Hint("give yourself the right to read it: chmod u+rx %s", shown).
			Hint("or leave it out: --hide %s", shown)
	}
	return fmt.Errorf("copying the folder %s: %w", shown, err)
}

// copyFile copies one file from folder from to folder to.
func (c *copier) copyFile(from, to int, path string, buf []byte) (copied, error) {
	name := path[strings.LastIndexByte(path, '/')+1:]
	result := copied{File: File{Path: path, Mode: git.File}}
	fd, err := unix.Openat(from, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	switch {
	case err == unix.ELOOP:
		return c.copyLink(from, to, name, result)
	case absent(err) || err == unix.ENXIO:
		result.gone = true
		return result, nil
	case err != nil:
		return result, unreadable(c.prefix+path, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return result, unreadable(c.prefix+path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		result.gone = true
		return result, nil
	}
	if target, ok := c.writtenTarget(fd, path, &st); ok {
		return c.makeLink(to, name, target, result)
	}
	if c.filemode && st.Mode&0o100 != 0 || !c.filemode && c.index[path].Mode == git.Executable {
		result.Mode = git.Executable
	}
	return result, c.copyContent(fd, to, name, &st, &result, buf)
}

// copyLink copies a symlink without following it.
func (c *copier) copyLink(from, to int, name string, result copied) (copied, error) {
	target := make([]byte, unix.PathMax+1)
	n, err := unix.Readlinkat(from, name, target)
	if err != nil {
		return result, unreadable(c.prefix+result.Path, err)
	}
	return c.makeLink(to, name, target[:n], result)
}

// writtenTarget returns the target of a symlink that git has written as a file.
func (c *copier) writtenTarget(fd int, path string, st *unix.Stat_t) (target []byte, ok bool) {
	if !c.noLinks || c.index[path].Mode != git.Symlink || st.Size == 0 || st.Size >= unix.PathMax {
		return nil, false
	}
	target = make([]byte, unix.PathMax)
	n, err := unix.Pread(fd, target, 0)
	if err != nil || n != int(st.Size) || bytes.IndexByte(target[:n], 0) >= 0 {
		return nil, false
	}
	return target[:n], true
}

// makeLink makes the copy of a symlink.
func (c *copier) makeLink(to int, name string, target []byte, result copied) (copied, error) {
	result.Mode, result.content = git.Symlink, target
	if err := unix.Symlinkat(string(target), to, name); err != nil {
		return result, fmt.Errorf("copying symlink %s: %w", termtext.Escape(result.Path), err)
	}
	var st unix.Stat_t
	if err := unix.Fstatat(to, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return result, err
	}
	result.Stat = StatOf(&st)
	h := c.format.Blob(int64(len(target)))
	h.Write(target)
	result.Raw = string(h.Sum(nil))
	return result, nil
}

// counter adds up the progress of several workers.
type counter struct {
	mu    sync.Mutex
	now   Progress
	relay func(Progress)
}

func (c *counter) add(files int, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.Files += files
	c.now.Bytes += bytes
	if c.relay != nil {
		c.relay(c.now)
	}
}
