package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
	"aibox/internal/git"
)

// maxDuplicatePath bounds a path in bytes: a system call takes no more at once.
const maxDuplicatePath = unix.PathMax - 256

// duplicate copies a tree that an agent made, whatever it contains. It holds one folder
// in memory at a time.
type duplicate struct {
	from, to int // descriptors of the two tops
	maxFiles int
	maxBytes int64
	readOnly *ReadOnly
	live     bool                   // the agent may be running: files that disappear are left out, and no rights change
	needs    func(path string) bool // whether the copy is useless without a file, or those in a folder; nil means that none is needed

	uid     uint32 // uid of the user
	device  uint64
	files   int
	bytes   int64
	foreign bool // something belongs to another user, which root in a sandbox can cause

	special int // entries that are not files, folders or symlinks, or are on another file system
	deep    int

	mu         sync.Mutex
	unreadable int
	lost       string // an unreadable path that is needed
}

// openTop opens the top of a tree that an agent made. Unless the agent may be running, the user gets the
// rights that copying the tree needs, and becomes the owner of the tree if the top belongs to another user
// of the sandbox.
func openTop(ctx context.Context, path string, live bool) (int, error) {
	pin, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(pin)
	open := func() (int, error) { return unix.Open(procPath(pin), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0) }
	if live {
		return open()
	}
	_ = giveRights(pin, 0o500) // if that fails, what cannot be read is reported
	top, err := open()
	if errors.Is(err, fs.ErrPermission) && reclaim(ctx, path) == nil {
		_ = giveRights(pin, 0o500)
		return open()
	}
	return top, err
}

// run copies the tree from the top down, so that each folder exists before its files.
func (d *duplicate) run(ctx context.Context) error {
	var top unix.Stat_t
	if err := unix.Fstat(d.from, &top); err != nil {
		return err
	}
	d.device, d.foreign = top.Dev, top.Uid != d.uid
	c := &copier{from: d.from, to: d.to, format: git.SHA1, filemode: true}
	if d.live {
		c.room = new(atomic.Int64)
		c.room.Store(d.maxBytes)
	}
	return inBatches(ctx, d.walk, func(b batch, buf []byte) error { return d.copyBatch(c, b, buf) })
}

// walk creates the folders and sends the files to the workers.
func (d *duplicate) walk(ctx context.Context, batches chan<- batch) error {
	for left := []string{"."}; len(left) > 0; {
		dir := left[len(left)-1]
		left = left[:len(left)-1]
		subs, err := d.folder(ctx, dir, batches)
		if err != nil {
			return err
		}
		left = append(left, subs...)
	}
	return nil
}

// makeReadable gives the user the rights to a file or folder that copying it needs. Root in a sandbox,
// which needs no rights, may have removed them.
func (d *duplicate) makeReadable(dir int, name string, st *unix.Stat_t) {
	rights := uint32(0o400)
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		rights = 0o500
	}
	if d.live || st.Mode&unix.S_IFMT == unix.S_IFLNK || st.Mode&rights == rights {
		return
	}
	if pin, err := pinWithRights(dir, name, 0, rights); err == nil { // else it counts as unreadable
		unix.Close(pin)
	}
}

// folder sends the files of one folder to the workers and returns its subfolders.
func (d *duplicate) folder(ctx context.Context, dir string, batches chan<- batch) (subs []string, err error) {
	fd, err := openDir(d.from, dir)
	if d.live && absent(err) {
		return nil, nil
	}
	if errors.Is(err, fs.ErrPermission) {
		d.unread(dir)
		return nil, nil
	}
	if err != nil {
		return nil, unreadable(dir, err)
	}
	list := os.NewFile(uintptr(fd), dir)
	defer list.Close()
	for {
		names, err := list.Readdirnames(batchSize)
		if len(names) == 0 {
			if d.live && absent(err) {
				return subs, nil
			}
			return subs, ignoreEOF(err)
		}
		b := batch{dir: dir}
		for _, name := range names {
			path := name
			if dir != "." {
				path = dir + "/" + name
			}
			isFolder, isFile, err := d.sort(fd, name, path)
			if err != nil {
				return nil, err
			}
			if isFolder {
				subs = append(subs, path)
			} else if isFile {
				b.at = append(b.at, path)
			}
		}
		select {
		case batches <- b:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// ignoreEOF returns err, or nil at the end of a folder.
func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// sort determines the kind of an entry, and creates it if it is a folder.
func (d *duplicate) sort(dir int, name, path string) (isFolder, isFile bool, err error) {
	var st unix.Stat_t
	err = unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	switch {
	case absent(err):
		return false, false, nil
	case errors.Is(err, fs.ErrPermission):
		d.unread(path)
		return false, false, nil
	case err != nil:
		return false, false, unreadable(path, err)
	}
	kind := st.Mode & unix.S_IFMT
	switch {
	case len(path) > maxDuplicatePath:
		d.deep++
		return false, false, nil
	case st.Dev != d.device || kind != unix.S_IFREG && kind != unix.S_IFLNK && kind != unix.S_IFDIR:
		d.special++
		return false, false, nil
	}
	if d.readOnly.covers(path, kind == unix.S_IFDIR) {
		return false, false, nil
	}
	d.files++
	d.foreign = d.foreign || st.Uid != d.uid
	if kind == unix.S_IFREG {
		d.bytes += st.Size
	}
	if d.files > d.maxFiles || d.bytes > d.maxBytes {
		return false, false, fault.New(fault.Limit, "the workspace is too large to be copied: it has more than %d files or %d GiB",
			d.maxFiles, d.maxBytes>>30)
	}
	d.makeReadable(dir, name, &st)
	if kind != unix.S_IFDIR {
		return false, true, nil
	}
	if err := unix.Mkdirat(d.to, path, 0o755); d.live && err == unix.EEXIST {
		return false, false, nil // visited before
	} else if err != nil {
		return false, false, fmt.Errorf("making a folder of the copy: %w", err)
	}
	return true, false, nil
}

func (d *duplicate) copyBatch(c *copier, b batch, buf []byte) error {
	if len(b.at) == 0 {
		return nil
	}
	from, err := openDir(d.from, b.dir)
	if d.live && absent(err) {
		return nil
	}
	if err != nil {
		return unreadable(b.dir, err)
	}
	defer unix.Close(from)
	return c.copyFiles(from, b, buf, func(i int, _ copied, err error) error {
		if d.live && (absent(err) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EEXIST)) {
			return nil // it disappeared, is no longer a symlink, or was visited before
		}
		if errors.Is(err, fs.ErrPermission) {
			d.unread(b.at[i])
			return nil
		}
		return err
	})
}

// unread counts an entry that cannot be read.
func (d *duplicate) unread(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unreadable++
	if d.lost == "" && d.needs != nil && d.needs(path) {
		d.lost = path
	}
}

// notes returns the entries that are missing from the copy.
func (d *duplicate) notes() []string {
	var notes []string
	for _, lack := range []struct {
		count int
		what  string
	}{
		{d.special, "devices, pipes, sockets or mounts"},
		{d.unreadable, "files that cannot be read"},
		{d.deep, "files whose path is too long"},
	} {
		if lack.count > 0 {
			notes = append(notes, fmt.Sprintf("the copy lacks %d %s", lack.count, lack.what))
		}
	}
	return notes
}
