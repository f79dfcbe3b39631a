package review

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"aibox/internal/git"
	"aibox/internal/termtext"
	"aibox/workspace"
)

// Limits on what a hostile tree can make the walk collect.
const (
	maxRefusals = 10_000
	maxIgnored  = 1_000
	maxEmpty    = 20
	maxCounted  = 100_000 // files counted in one ignored folder
)

// confined are the rules every name is resolved with: beneath the workspace, no
// symlink, no other mount.
const confined = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV

// candidate is a file that may have changed and has to be looked at.
type candidate struct {
	path string
	was  int // index into the baseline's files; -1 when new
}

// inode tells files apart.
type inode struct{ dev, ino uint64 }

// walk looks at every name in the workspace and sorts them out. It reads no
// file.
type walk struct {
	root     int
	device   uint64
	uid      uint32 // the user's
	baseline *workspace.Baseline
	hide     workspace.Globs
	ignore   ignoreRules
	maxNew   int
	racy     int64 // a ctime from here on proves nothing

	byPath  map[string]int32
	folders map[string]bool // folders that hold files of the baseline
	modules map[string]bool
	seen    []bool // per file of the baseline: still there in some form

	mu      sync.Mutex
	more    *sync.Cond
	queue   []folder
	busy    int
	err     error
	found   []candidate
	fresh   int // new files among found
	tooMany int // new files beyond maxNew
	refused []Refusal
	beyond  int // refusals beyond maxRefusals
	ignored []Ignored
	folded  []string // ignored folders, for counting names
	hidden  int      // ignored paths beyond maxIgnored
	empty   []string
	counted bool          // names holds those in .git and ignored folders, too
	foreign bool          // something belongs to another user
	names   map[inode]int // names seen of files that have several
}

// folder is a folder still to be read.
type folder struct {
	path    string // "" is the top
	ignored bool   // new files in it are ignored
}

func newWalk(root int, device uint64, b *workspace.Baseline, hide workspace.Globs, maxNew int) *walk {
	w := &walk{
		root: root, device: device, baseline: b, hide: hide, maxNew: maxNew,
		uid:     uint32(os.Getuid()),
		ignore:  newIgnoreRules(b.Ignore),
		racy:    b.Taken.Add(-b.Racy).UnixNano(),
		byPath:  make(map[string]int32, len(b.Files)),
		folders: map[string]bool{}, modules: map[string]bool{}, names: map[inode]int{},
		seen:  make([]bool, len(b.Files)),
		queue: []folder{{}},
	}
	w.more = sync.NewCond(&w.mu)
	last := ""
	for i, f := range b.Files {
		w.byPath[f.Path] = int32(i)
		dir := parent(f.Path)
		if dir == last {
			continue
		}
		for last = dir; dir != "" && !w.folders[dir]; dir = parent(dir) {
			w.folders[dir] = true
		}
	}
	for _, m := range b.Modules {
		w.modules[string(m)] = true
	}
	return w
}

func parent(path string) string { return path[:max(0, strings.LastIndexByte(path, '/'))] }

// run walks with that many workers and returns when all is seen.
func (w *walk) run(ctx context.Context, workers int) error {
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() { w.work(ctx) })
	}
	wg.Wait()
	slices.SortFunc(w.found, func(a, b candidate) int { return strings.Compare(a.path, b.path) })
	slices.SortFunc(w.refused, func(a, b Refusal) int { return strings.Compare(string(a.Path), string(b.Path)) })
	slices.SortFunc(w.ignored, func(a, b Ignored) int { return strings.Compare(string(a.Path), string(b.Path)) })
	slices.Sort(w.empty)
	return w.err
}

func (w *walk) work(ctx context.Context) {
	buf := make([]byte, 64<<10)
	for {
		w.mu.Lock()
		for len(w.queue) == 0 && w.busy > 0 && w.err == nil {
			w.more.Wait()
		}
		if len(w.queue) == 0 || w.err != nil {
			w.mu.Unlock()
			w.more.Broadcast()
			return
		}
		next := w.queue[len(w.queue)-1]
		w.queue = w.queue[:len(w.queue)-1]
		w.busy++
		w.mu.Unlock()
		err := ctx.Err()
		if err == nil {
			err = w.read(next, buf)
		}
		w.mu.Lock()
		w.busy--
		w.err = errors.Join(w.err, err)
		w.mu.Unlock()
		w.more.Broadcast()
	}
}

// read looks at the entries of one folder.
func (w *walk) read(dir folder, buf []byte) error {
	fd, err := openFolder(w.root, dir.path)
	if err != nil {
		if dir.path == "" {
			return fmt.Errorf("opening the workspace: %w", err)
		}
		w.refuse(dir.path, "is a folder that cannot be read: "+reason(err))
		w.keepBelow(dir.path)
		return nil
	}
	defer unix.Close(fd)
	r := &reader{walk: w, fd: fd, dir: dir}
	if dir.path != "" {
		r.path = append([]byte(dir.path), '/')
	}
	r.base = len(r.path)
	for {
		n, err := unix.Getdents(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading folder %s: %w", termtext.Escape(dir.path), err)
		}
		if n == 0 {
			break
		}
		r.entries(buf[:n])
	}
	if r.count == 0 && dir.path != "" && !w.folders[dir.path] {
		w.mu.Lock()
		w.empty = append(w.empty, dir.path)
		if len(w.empty) > maxEmpty*2 {
			slices.Sort(w.empty)
			w.empty = w.empty[:maxEmpty+1]
		}
		w.mu.Unlock()
	}
	r.flush()
	return nil
}

// reader is the work on one folder. What it finds is handed over in one go.
type reader struct {
	walk  *walk
	fd    int
	dir   folder
	path  []byte // buffer: the folder's path and a slash, then a name
	base  int    // length of the folder's part
	count int
	subs  []folder
	found []candidate

	foreign bool
}

// entries goes through one buffer of linux_dirent64 records.
func (r *reader) entries(buf []byte) {
	const header = int(unsafe.Offsetof(unix.Dirent{}.Name))
	for len(buf) > header {
		size := int(binary.NativeEndian.Uint16(buf[unsafe.Offsetof(unix.Dirent{}.Reclen):]))
		if size < header || size > len(buf) {
			return
		}
		name := buf[header:size]
		if end := bytes.IndexByte(name, 0); end >= 0 {
			name = name[:end]
		}
		buf = buf[size:]
		if string(name) == "." || string(name) == ".." {
			continue
		}
		r.count++
		r.entry(name)
	}
}

// entry sorts out one name.
func (r *reader) entry(name []byte) {
	w := r.walk
	r.path = append(r.path[:r.base], name...)
	if r.base == 0 && string(name) == ".git" {
		return // the agent's own; whatever it is by now
	}
	was, known := w.byPath[string(r.path)]
	var st unix.Stat_t
	if err := unix.Fstatat(r.fd, string(name), &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		if err != unix.ENOENT {
			r.refuse("cannot be looked at: " + reason(err))
			if known {
				w.seen[was] = true
			}
		}
		return
	}
	kind := st.Mode & unix.S_IFMT
	r.foreign = r.foreign || st.Uid != w.uid
	if known && kind != unix.S_IFDIR {
		w.seen[was] = true
	}
	switch {
	case len(r.path) > maxPath:
		r.refuseShort("has a path that is too long", kind)
	case !known && dotGit(string(name)):
		r.refuse("has a name that git, or some file system, takes for .git")
	case st.Dev != w.device:
		r.refuse("lies on another file system")
		if kind == unix.S_IFDIR {
			w.keepBelow(string(r.path))
		}
	case kind == unix.S_IFDIR:
		r.folder()
	case kind == unix.S_IFREG, kind == unix.S_IFLNK:
		if known && w.unchanged(int(was), &st) {
			return
		}
		r.file(&st, int(was), known)
	default:
		r.refuse("is " + special(kind))
	}
}

// unchanged compares with the baseline without reading.
func (w *walk) unchanged(i int, st *unix.Stat_t) bool {
	return workspace.StatOf(st) == w.baseline.Files[i].Stat && st.Ctim.Nano() < w.racy && !w.baseline.HashAll
}

// folder decides what becomes of a folder.
func (r *reader) folder() {
	w, path := r.walk, string(r.path)
	switch {
	case w.modules[path]:
		if !r.isEmpty(path) {
			r.refuse("is a submodule; aibox does not bring changes in it back")
		}
	case w.folders[path]:
		r.subs = append(r.subs, folder{path: path, ignored: r.dir.ignored || w.ignore.match(path, true)})
	case w.hide.MatchEntry(path):
		r.refuse("has the name of files that are hidden from the agent")
	case r.dir.ignored || w.ignore.match(path, true):
		files, more := w.count(path, nil)
		w.addIgnored(Ignored{Path: Path(path), Files: files, More: more}, true)
	default:
		r.subs = append(r.subs, folder{path: path})
	}
}

func (r *reader) isEmpty(path string) bool {
	fd, err := openFolder(r.walk.root, path)
	if err != nil {
		return false
	}
	dir := os.NewFile(uintptr(fd), "")
	defer dir.Close()
	names, _ := dir.Readdirnames(1)
	return len(names) == 0
}

// file decides what becomes of a changed or new file or symlink.
func (r *reader) file(st *unix.Stat_t, was int, known bool) {
	w, path := r.walk, string(r.path)
	link := st.Mode&unix.S_IFMT == unix.S_IFLNK
	if !link && st.Nlink > 1 {
		w.mu.Lock()
		w.names[inode{st.Dev, st.Ino}]++
		w.mu.Unlock()
	}
	if !known {
		was = -1
		switch {
		case w.hide.MatchEntry(path):
			r.refuse("has the name of files that are hidden from the agent")
			return
		case r.dir.ignored || w.ignore.match(path, false):
			w.addIgnored(Ignored{Path: Path(path), Files: 1}, false)
			return
		}
	}
	if r.base == 0 && dotGitmodules(path) {
		r.refuse("says where submodules come from; aibox does not bring changes in it back")
		return
	}
	r.found = append(r.found, candidate{path: path, was: was})
}

func (r *reader) refuse(why string) { r.walk.refuse(string(r.path), why) }

// refuseShort is refuse for paths of any length: it names the folder.
func (r *reader) refuseShort(why string, kind uint32) {
	what := "a file"
	if kind == unix.S_IFDIR {
		what = "a folder"
	}
	r.walk.refuse(r.dir.path[:min(len(r.dir.path), 200)], "contains "+what+" that "+why)
}

// flush hands what was found to the walk.
func (r *reader) flush() {
	w := r.walk
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = append(w.queue, r.subs...)
	w.foreign = w.foreign || r.foreign
	for _, c := range r.found {
		if c.was < 0 {
			if w.fresh >= w.maxNew {
				w.tooMany++
				continue
			}
			w.fresh++
		}
		w.found = append(w.found, c)
	}
}

func (w *walk) refuse(path, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.refused) >= maxRefusals {
		w.beyond++
		return
	}
	w.refused = append(w.refused, Refusal{Path: Path(path), Reason: why})
}

func (w *walk) addIgnored(i Ignored, dir bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if dir {
		w.folded = append(w.folded, string(i.Path))
	}
	if len(w.ignored) >= maxIgnored {
		w.hidden++
		return
	}
	w.ignored = append(w.ignored, i)
}

// keepBelow marks the baseline's files in a folder that cannot be read as there,
// so that they do not count as deleted.
func (w *walk) keepBelow(dir string) {
	for i, f := range w.baseline.Files {
		if strings.HasPrefix(f.Path, dir+"/") {
			w.seen[i] = true
		}
	}
}

// count counts the regular files below a folder, up to maxCounted names. visit,
// when not nil, sees each one.
func (w *walk) count(top string, visit func(*unix.Stat_t)) (files int, more bool) {
	queue := []string{top}
	for looked := 0; len(queue) > 0; {
		dir := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		fd, err := openFolder(w.root, dir)
		if err != nil {
			more = true
			continue
		}
		f := os.NewFile(uintptr(fd), "")
		for {
			names, err := f.Readdirnames(1024)
			for _, name := range names {
				var st unix.Stat_t
				if unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
					continue
				}
				switch looked++; st.Mode & unix.S_IFMT {
				case unix.S_IFDIR:
					if len(dir)+len(name) < maxPath {
						queue = append(queue, dir+"/"+name)
					}
				case unix.S_IFREG:
					files++
					if visit != nil {
						visit(&st)
					}
				}
			}
			if looked > maxCounted {
				f.Close()
				return files, true
			}
			if len(names) == 0 || err != nil {
				break
			}
		}
		f.Close()
	}
	return files, more
}

// openFolder opens a folder of the workspace for reading; path "" is the top.
func openFolder(root int, path string) (int, error) {
	if path == "" {
		path = "."
	}
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: confined}
	fd, err := openat2(root, path, &how)
	if !errors.Is(err, fs.ErrPermission) {
		return fd, err
	}
	// The agent took its owner's rights away; the owner is us.
	how.Flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	pin, err := openat2(root, path, &how)
	if err != nil {
		return -1, err
	}
	defer unix.Close(pin)
	proc := "/proc/self/fd/" + strconv.Itoa(pin)
	if err := os.Chmod(proc, 0o700); err != nil {
		return -1, unix.EACCES
	}
	return unix.Open(proc, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

// openat2 repeats what the kernel asks to repeat: a rename somewhere else makes
// RESOLVE_BENEATH give up with EAGAIN.
func openat2(root int, path string, how *unix.OpenHow) (int, error) {
	for try := 0; ; try++ {
		fd, err := unix.Openat2(root, path, how)
		if err == unix.EINTR || err == unix.EAGAIN && try < 100 {
			continue
		}
		return fd, err
	}
}

// special names a kind of file that git cannot hold.
func special(kind uint32) string {
	switch kind {
	case unix.S_IFIFO:
		return "a named pipe"
	case unix.S_IFSOCK:
		return "a socket"
	case unix.S_IFCHR, unix.S_IFBLK:
		return "a device"
	}
	return "no ordinary file"
}

// reason says an error of the system as a clause.
func reason(err error) string {
	switch {
	case errors.Is(err, unix.EXDEV):
		return "it leads out of the workspace"
	case errors.Is(err, unix.ELOOP):
		return "a symlink is on the way"
	case errors.Is(err, fs.ErrPermission):
		return "it may not be read"
	case errors.Is(err, fs.ErrNotExist):
		return "it is gone"
	}
	return err.Error()
}

// gitMode is the mode git gives a file of this stat.
func gitMode(st *unix.Stat_t) git.Mode {
	if st.Mode&0o100 != 0 {
		return git.Executable
	}
	return git.File
}
