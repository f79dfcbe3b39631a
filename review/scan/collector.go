package scan

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"aibox/internal/beneath"
	"aibox/internal/eol"
	"aibox/internal/git"
	"aibox/internal/gitname"
	"aibox/workspace"
)

const (
	maxMemory = 1 << 20  // a larger file is snapshotted on disk first
	maxEOL    = 16 << 20 // a larger file keeps the line endings it has
	moveTries = 3        // number of attempts to read a file that changes meanwhile
)

// errChanging reports that a file changed while it was read.
var errChanging = errors.New("it keeps changing")

// refusedError reports a refused file, with the reason.
type refusedError string

func (e refusedError) Error() string { return string(e) }

// outcome is the result of reading a candidate.
type outcome struct {
	entry   git.Entry
	size    int64 // size of the content as git stores it; -1 if unknown
	changed bool  // against the baseline
	refused string
	notes   []string
}

// collector reads candidates and stores their content.
type collector struct {
	walk    *walk
	opts    Options
	format  git.Format
	scratch string // folder for snapshots
	bytes   atomic.Int64
	start   func() *git.Import
	each    func(candidate, outcome) // called with every candidate in tests; may be nil

	mu    sync.Mutex
	im    *git.Import
	ended bool
	made  results // the changed files

	eol sync.Mutex
}

// maxReaders is how many files are read at once, each of which may take maxMemory bytes.
const maxReaders = 8

// collect reads every candidate and keeps its outcome.
func (c *collector) collect(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	batches := make(chan []candidate)
	g.Go(func() error {
		defer close(batches)
		return c.batches(ctx, batches)
	})
	for range min(c.opts.Workers, maxReaders, c.walk.found.Count) {
		g.Go(func() error {
			for b := range batches {
				for _, cand := range b {
					if err := c.look(ctx, cand); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// batches hands out the candidates, a few at a time.
func (c *collector) batches(ctx context.Context, to chan<- []candidate) error {
	const few = 16
	var next []candidate
	send := func() error {
		select {
		case to <- next:
			next = nil
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	err := c.walk.found.Each(func(record []byte) error {
		next = append(next, decodeCandidate(record))
		if len(next) < few {
			return nil
		}
		return send()
	})
	if err == nil && len(next) > 0 {
		err = send()
	}
	return err
}

// look reads one candidate and keeps its outcome.
func (c *collector) look(ctx context.Context, cand candidate) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	out, err := c.one(cand)
	if err == nil && out.changed && c.walk.readOnly.Has(cand.path) {
		err = refusedError(whyReadOnly)
	}
	if why, ok := errors.AsType[refusedError](err); ok {
		out, err = outcome{refused: string(why)}, nil
		c.walk.refuse(cand.path, out.refused)
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.each != nil {
		c.each(cand, out)
	}
	if !out.changed {
		return nil
	}
	return c.made.add(out)
}

// one reads one candidate.
func (c *collector) one(cand candidate) (outcome, error) {
	var was *workspace.File
	if cand.was >= 0 {
		was = &c.walk.baseline.Files[cand.was]
	}
	for try := 0; ; try++ {
		out, err := c.read(cand, was)
		if errors.Is(err, errChanging) && try < moveTries {
			continue
		}
		if errors.Is(err, errChanging) {
			return out, refusedError("cannot be read: it keeps changing")
		}
		return out, err
	}
}

func (c *collector) read(cand candidate, was *workspace.File) (outcome, error) {
	pin, err := beneath.Open(c.walk.root, cand.path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: beneath.Resolve,
	})
	if err != nil {
		return outcome{}, refusedError("cannot be read: " + describeError(err))
	}
	defer unix.Close(pin)
	var st unix.Stat_t
	if err := unix.Fstat(pin, &st); err != nil {
		return outcome{}, refusedError("cannot be read: " + describeError(err))
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		return c.readLink(pin, cand, was)
	case unix.S_IFREG:
		return c.readFile(pin, &st, cand, was)
	}
	return outcome{}, refusedError("is " + describeKind(st.Mode&unix.S_IFMT))
}

func (c *collector) readLink(pin int, cand candidate, was *workspace.File) (outcome, error) {
	buf := make([]byte, unix.PathMax+1)
	n, err := unix.Readlinkat(pin, "", buf)
	if err != nil {
		return outcome{}, refusedError("cannot be read: " + describeError(err))
	}
	data := &content{size: int64(n), small: buf[:n]}
	return c.store(cand, was, git.Symlink, data)
}

// readFile reads a regular file within the limits. A file that turns out to be unchanged
// does not count: an agent that gives all files another owner changes none of them.
func (c *collector) readFile(pin int, st *unix.Stat_t, cand candidate, was *workspace.File) (outcome, error) {
	if st.Size > c.opts.MaxFileSize {
		return outcome{}, refusedError("is larger than " + humanBytes(c.opts.MaxFileSize))
	}
	if st.Nlink > 1 && !c.walk.hasAllNames(st.Ino, st.Nlink) {
		return outcome{}, refusedError("is a hard link to a file outside the workspace")
	}
	differs := was == nil || was.Stat.Size != uint64(st.Size) // otherwise its content decides
	if differs {
		if err := c.count(st.Size); err != nil {
			return outcome{}, err
		}
	}
	out, err := c.readContent(pin, st, cand, was)
	switch {
	case err == nil && out.changed && !differs:
		return out, c.count(st.Size)
	case (err != nil || !out.changed) && differs:
		c.bytes.Add(-st.Size)
	}
	return out, err
}

// count adds the size of a changed file to those of the others. A file that does not fit takes no
// room of smaller ones.
func (c *collector) count(size int64) error {
	for {
		before := c.bytes.Load()
		if before+size > c.opts.MaxBytes {
			return refusedError("is beyond the limit of " + humanBytes(c.opts.MaxBytes) + " for all changes")
		}
		if c.bytes.CompareAndSwap(before, before+size) {
			return nil
		}
	}
}

// readContent opens the pinned regular file, which can no longer block or trigger anything,
// and reads its content.
func (c *collector) readContent(pin int, st *unix.Stat_t, cand candidate, was *workspace.File) (outcome, error) {
	file, err := c.walk.reopen(pin, st)
	if err != nil {
		return outcome{}, refusedError("cannot be read: " + describeError(err))
	}
	defer file.Close()
	data, err := c.snapshot(file, st.Size)
	if err != nil {
		return outcome{}, err
	}
	defer data.close()
	var now unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &now); err != nil {
		return outcome{}, err
	}
	if now.Mode&unix.S_IFMT != unix.S_IFREG || now.Size != st.Size || now.Mtim != st.Mtim || now.Ino != st.Ino || data.size != st.Size {
		return outcome{}, errChanging
	}
	if gitname.IsDotGitattributes(path.Base(cand.path)) && (data.large != nil || longLine(data.small)) {
		return outcome{}, refusedError("has a line that is too long for git's attributes, or is too large for them")
	}
	mode := gitMode(st)
	if was != nil && was.Mode != git.Symlink && was.Stat.Perm != 0 && was.Stat.Perm&0o100 == st.Mode&0o100 {
		mode = was.Mode // if the disk has no executable bit, the user's mode stays
	}
	return c.store(cand, was, mode, data)
}

// reopen opens the file of an O_PATH descriptor for reading. If the agent removed the
// owner's read permission, it restores it.
func (w *walk) reopen(pin int, st *unix.Stat_t) (*os.File, error) {
	proc := "/proc/self/fd/" + strconv.Itoa(pin)
	flags := unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC | unix.O_NOCTTY
	fd, err := unix.Open(proc, flags, 0)
	if err == unix.EACCES && !w.running {
		if err = unix.Chmod(proc, st.Mode&0o777|0o400); err != nil {
			return nil, unix.EACCES
		}
		fd, err = unix.Open(proc, flags, 0)
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), ""), nil
}

// store compares content with the baseline and stores it if it is new.
func (c *collector) store(cand candidate, was *workspace.File, mode git.Mode, data *content) (outcome, error) {
	raw, err := c.hash(data)
	if err != nil {
		return outcome{}, err
	}
	out := outcome{entry: git.Entry{Mode: mode, Path: cand.path}, size: data.size}
	if was != nil && was.Raw == string(raw) && (was.Mode == git.Symlink) == (mode == git.Symlink) {
		out.entry.ID = hex.EncodeToString([]byte(was.Stored))
		out.changed = mode != was.Mode
		if was.Stored != was.Raw {
			out.size = -1
		}
		return out, nil
	}
	if name := path.Base(cand.path); gitname.IsDotGitmodules(name) { // git also checks those in folders when it accepts objects
		if why := refuseGitmodules(name, mode, data); why != "" {
			return out, refusedError(why)
		}
	}
	out.changed = true
	if was != nil && was.Stored != was.Raw && mode != git.Symlink {
		if was.EOL && data.size <= maxEOL {
			c.eol.Lock() // one such text at a time is in memory
			defer c.eol.Unlock()
			text := make([]byte, data.size)
			if _, err := io.ReadFull(data.reader(), text); err != nil {
				return out, err
			}
			// Git does not convert text that looks binary, unless attributes require it,
			// which is decided when the file is accepted.
			if lines := workspace.UnixLines(text); bytes.IndexByte(lines, '\r') < 0 && !eol.LooksBinary(lines) {
				text = lines
			}
			data = &content{size: int64(len(text)), small: text}
			out.size = data.size
			if raw, err = c.hash(data); err != nil {
				return out, err
			}
		} else {
			out.notes = append(out.notes, "your repository stores this file through a filter (such as Git LFS); the change shows the content itself, which goes through the filter when you accept it")
		}
	}
	out.entry.ID = hex.EncodeToString(raw)
	c.begin()
	c.mu.Lock()
	defer c.mu.Unlock()
	return out, c.im.Blob(data.size, data.reader())
}

func (c *collector) hash(data *content) ([]byte, error) {
	h := c.format.Blob(data.size)
	_, err := io.Copy(h, data.reader())
	return h.Sum(nil), err
}

// hasAllNames reports whether the walk saw every name of a file with several. Names
// in the agent's .git and in ignored folders count as inside.
func (w *walk) hasAllNames(file, links uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if uint64(w.names[file]) >= links {
		return true
	}
	if !w.counted {
		count := func(st *unix.Stat_t) {
			if w.names[st.Ino] > 0 && st.Dev == w.device {
				w.names[st.Ino]++
			}
		}
		w.count(".git", count)
		_ = w.ignoredFolders.Each(func(dir []byte) error { // files beyond the limit are refused
			w.count(string(dir), count)
			return nil
		})
		w.counted = true
	}
	return uint64(w.names[file]) >= links
}

// humanBytes writes a size for the user.
func humanBytes(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for n >= 1024 && i < len(units)-1 && n%1024 == 0 {
		n, i = n/1024, i+1
	}
	return strconv.FormatInt(n, 10) + " " + units[i]
}
