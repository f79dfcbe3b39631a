package fileserver

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"aibox/internal/files"
)

const (
	// maxPageSize bounds the JSON of a page, in bytes.
	maxPageSize = 1 << 20
	// readAtOnce is how many names are read from a folder at once.
	readAtOnce = 1024
)

// list lists a part of the entries below a folder. It needs only the memory for one page.
func (s *Server) list(path string, o files.ListOptions) (files.Answer, error) {
	if o.Depth == 0 {
		o.Depth = 1
	}
	if o.Limit == 0 {
		o.Limit = files.DefaultPage
	}
	folder, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if err != nil {
		return files.Answer{}, err
	}
	defer folder.Close()
	l := listing{
		limit: o.Limit, base: strings.TrimSuffix(path, "/"), names: s.Names(), page: files.Page{Entries: []files.Entry{}}, smallest: smallest,
	}
	var after []string
	if o.After != "" {
		after = strings.Split(string(o.After), "/")
	}
	if err := l.folder(folder, "", o.Depth, after); err != nil && !errors.Is(err, errFull) {
		return files.Answer{}, err
	}
	return files.Answer{Page: &l.page}, nil
}

// listing collects a page.
type listing struct {
	limit int
	base  string // path of the listed folder
	names Names
	page  files.Page
	size  int    // of the JSON of the entries
	last  string // the last entry, relative to base
	// smallest is the function smallest, except in tests.
	smallest func(folder *os.File, first string, with bool, limit int) ([]string, error)
}

// errFull reports that the page is full and that there may be more entries.
var errFull = errors.New("the page is full")

// folder adds the entries below a folder, to a depth. prefix is its path below base, with a
// slash at the end. after are the components of the previous page's last entry, if that was
// below this folder.
func (l *listing) folder(folder *os.File, prefix string, depth int, after []string) error {
	first, with := "", len(after) > 0
	if with {
		first = after[0]
	}
	for {
		// One extra name shows whether the page is the last, and another one is the last of the
		// previous page.
		limit := l.limit - len(l.page.Entries) + 2
		names, err := l.smallest(folder, first, with, limit)
		if err != nil {
			return err
		}
		for _, name := range names {
			if with && name == first {
				err = l.below(folder, prefix+name, name, depth, after[1:])
			} else {
				err = l.add(folder, prefix+name, name, depth)
			}
			if err != nil {
				return err
			}
		}
		if len(names) < limit {
			return nil
		}
		// The page is not full, since some of the entries were removed meanwhile. Others follow.
		first, with = names[len(names)-1], false
		if _, err := folder.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
}

// add adds an entry and those below it. It omits an entry that no longer exists.
func (l *listing) add(folder *os.File, path, name string, depth int) error {
	if len(l.page.Entries) >= l.limit {
		l.page.Next = files.Path(l.last)
		return errFull
	}
	e, err := l.describe(folder, path, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	encoded, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if l.size += len(encoded) + 1; l.size > maxPageSize && len(l.page.Entries) > 0 {
		l.page.Next = files.Path(l.last)
		return errFull
	}
	l.page.Entries = append(l.page.Entries, e)
	l.last = path
	if e.Kind == files.Folder {
		return l.below(folder, path, name, depth, nil)
	}
	return nil
}

// below adds the entries below a folder's entry. A folder that cannot be opened counts as
// empty: it may be gone, or may belong to another user.
func (l *listing) below(folder *os.File, path, name string, depth int, after []string) error {
	if depth <= 1 {
		return nil
	}
	fd, err := unix.Openat(int(folder.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	below := os.NewFile(uintptr(fd), path)
	defer below.Close()
	return l.folder(below, path+"/", depth-1, after)
}

func (l *listing) describe(folder *os.File, path, name string) (files.Entry, error) {
	var stat unix.Stat_t
	if err := unix.Fstatat(int(folder.Fd()), name, &stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return files.Entry{}, err
	}
	e := describe(l.base+"/"+path, &stat, l.names)
	if e.Kind == files.Symlink {
		target := make([]byte, files.MaxPath)
		n, err := unix.Readlinkat(int(folder.Fd()), name, target)
		if err != nil {
			return files.Entry{}, err
		}
		e.Target = files.Path(target[:n])
	}
	return e, nil
}

// smallest returns the smallest names in a folder, at most limit, in order: those after
// first, and first itself if with is set.
func smallest(folder *os.File, first string, with bool, limit int) ([]string, error) {
	var names []string
	bound := "" // names not less than it are not needed; "" until there are enough
	for {
		batch, err := folder.Readdirnames(readAtOnce)
		for _, name := range batch {
			if name > first && (bound == "" || name < bound) || with && name == first {
				names = append(names, name)
			}
		}
		if len(names) > 2*limit || err != nil {
			slices.Sort(names)
			if len(names) > limit {
				names = names[:limit:limit]
				bound = names[limit-1]
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return names, nil
		case err != nil:
			return nil, err
		}
	}
}
