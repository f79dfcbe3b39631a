package scan

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"aibox/internal/gitignore"
	"aibox/internal/slashpath"
	"aibox/internal/sorting"
	"aibox/internal/spool"
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/workspace"
)

// Limits on what a hostile tree can make the walk collect.
const (
	maxRefusals = 10_000
	maxReported = 1 << 20 // bytes of names among the refusals, and among the ignored paths
	maxLinked   = 200_000 // files with several names whose names are counted
	maxIgnored  = 1_000
	maxEmpty    = 20
	maxCounted  = 100_000 // files counted in one ignored folder
)

// candidate is a file that may have changed and must be read.
type candidate struct {
	path string
	was  int // index into the baseline's files; -1 when new
}

// walk classifies every name in the workspace. It reads no file.
type walk struct {
	root     int
	device   uint64
	uid      uint32 // the user's
	baseline *workspace.Baseline
	ignore   *gitignore.List
	readOnly *workspace.ReadOnly
	covers   func(path string) bool // reports whether the user has a file there that the agent did not see
	scratch  []string               // globs of folders at the top that agents keep for themselves
	maxNew   int
	racy     int64 // a ctime from here on does not prove that a file is unchanged
	progress func(names int)
	first    func() // if not nil, called once when a file is found that is new or differs by its stat
	running  bool   // nothing in the workspace may be touched

	known   map[string]*knownFolder // folders that hold files of the baseline, by path
	modules map[string]bool         // submodules that are not included

	submodules map[string]bool // submodules that are included
	around     map[string]bool // all submodules, and the folders that contain them
	seen       []bool          // per file of the baseline: still there in some form

	once           sync.Once // for first
	mu             sync.Mutex
	more           *sync.Cond
	queue          folderQueue
	busy           int
	err            error
	found          spool.Spool // of candidates
	fresh          int         // new files among found
	tooMany        int         // new files beyond maxNew
	refused        []review.Refusal
	beyond         int             // refusals beyond maxRefusals
	replaced       map[string]bool // files of the baseline that became folders with such refusals
	ignored        []review.Ignored
	ignoredFolders spool.Spool                    // ignored folders, for counting names
	hidden         int                            // ignored paths beyond maxIgnored
	reported       struct{ refused, ignored int } // bytes of names
	looked         int                            // names seen so far
	empty          []string
	counted        bool              // names holds those in .git and ignored folders, too
	foreign        bool              // something belongs to another user
	names          map[uint64]uint32 // by inode: names seen of files that have several
}

// folder is a folder that must still be read.
type folder struct {
	path    string       // "" is the top
	was     *knownFolder // its files in the baseline; nil if there are none
	ignored bool         // new files in it are ignored
}

// knownFolder is a folder of the baseline: the indexes of the files in it, but not of
// those in folders below.
type knownFolder struct{ files []int32 }

// newWalk makes a walk, which must be closed. Data that does not fit into memory is stored
// in unnamed files in the folder scratch.
func newWalk(root int, device uint64, b *workspace.Baseline, ws *workspace.Workspace, opts Options, scratch string) *walk {
	w := &walk{
		queue: folderQueue{dir: scratch}, found: spool.Spool{Dir: scratch}, ignoredFolders: spool.Spool{Dir: scratch},
		root: root, device: device, baseline: b, maxNew: opts.MaxFiles, progress: opts.Progress, running: opts.running,
		uid:    uint32(os.Getuid()),
		ignore: newIgnoreRules(b.Ignore), scratch: ws.Scratch, covers: b.Covers(ws.Hide),
		racy:  b.Taken.Add(-b.Racy).UnixNano(),
		known: map[string]*knownFolder{}, modules: map[string]bool{}, names: map[uint64]uint32{},
		submodules: map[string]bool{}, around: map[string]bool{}, replaced: map[string]bool{},
		seen: make([]bool, len(b.Files)),
	}
	w.more = sync.NewCond(&w.mu)
	last, in := "", w.enter("")
	for i := range b.Files {
		if dir := slashpath.Parent(b.Files[i].Path); dir != last {
			last, in = dir, w.enter(dir)
		}
		in.files = append(in.files, int32(i))
	}
	for _, m := range b.Modules {
		w.modules[string(m)] = true
		w.surround(string(m))
	}
	for _, m := range ws.Modules {
		w.submodules[m.Path] = true
		w.surround(m.Path)
	}
	_ = w.queue.push(folder{}) // which fits
	return w
}

// surround records the folder of a submodule and those that contain it.
func (w *walk) surround(path string) {
	for dir := path; dir != ""; dir = slashpath.Parent(dir) {
		w.around[dir] = true
	}
}

func (w *walk) close() {
	w.queue.close()
	w.found.Close()
	w.ignoredFolders.Close()
}

// enter records dir and its parent folders.
func (w *walk) enter(dir string) *knownFolder {
	k := w.known[dir]
	if k == nil {
		k = &knownFolder{}
		w.known[dir] = k
		if dir != "" {
			w.enter(slashpath.Parent(dir))
		}
	}
	return k
}

// run walks the workspace with the given number of workers.
func (w *walk) run(ctx context.Context, workers int) error {
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() { w.work(ctx) })
	}
	wg.Wait()
	sorting.Func(w.refused, func(a, b *review.Refusal) int { return strings.Compare(string(a.Path), string(b.Path)) })
	sorting.Func(w.ignored, func(a, b *review.Ignored) int { return strings.Compare(string(a.Path), string(b.Path)) })
	slices.Sort(w.empty)
	return w.err
}

func (w *walk) work(ctx context.Context) {
	buf, names := make([]byte, 64<<10), nameIndex{seed: maphash.MakeSeed()}
	for {
		w.mu.Lock()
		for w.queue.empty() && w.busy > 0 && w.err == nil {
			w.more.Wait()
		}
		if w.queue.empty() || w.err != nil {
			w.mu.Unlock()
			w.more.Broadcast()
			return
		}
		next, err := w.queue.pop()
		w.busy++
		w.mu.Unlock()
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			next.was = w.known[next.path]
			err = w.read(next, buf, &names)
		}
		w.mu.Lock()
		w.busy--
		w.err = errors.Join(w.err, err)
		w.mu.Unlock()
		w.more.Broadcast()
	}
}

// read reads the entries of one folder.
func (w *walk) read(dir folder, buf []byte, names *nameIndex) error {
	fd, err := w.open(dir.path)
	if err != nil {
		if dir.path == "" {
			return fmt.Errorf("opening the workspace: %w", err)
		}
		w.refuse(dir.path, "is a folder that cannot be read: "+describeError(err))
		w.keepBelow(dir.path)
		return nil
	}
	defer unix.Close(fd)
	r := &folderReader{walk: w, fd: fd, dir: dir, names: names}
	if dir.path != "" {
		r.path = append([]byte(dir.path), '/')
	}
	r.base = len(r.path)
	names.fill(w.baseline.Files, dir.was, r.base)
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
		if r.full() {
			if err := r.flush(); err != nil {
				return err
			}
			w.more.Broadcast()
		}
	}
	if r.count == 0 && dir.path != "" && dir.was == nil {
		w.mu.Lock()
		w.empty = append(w.empty, dir.path)
		if len(w.empty) > maxEmpty*2 {
			slices.Sort(w.empty)
			w.empty = w.empty[:maxEmpty+1]
		}
		w.mu.Unlock()
	}
	return r.flush()
}

func (w *walk) refuse(path, why string) {
	w.addRefusal(review.Refusal{Path: review.Path(path), Reason: why})
}

func (w *walk) addRefusal(refusal review.Refusal) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.refused) >= maxRefusals || w.reported.refused+len(refusal.Path) > maxReported {
		w.beyond++
		if !refusal.Inside {
			w.keepReplaced(refusal.Path.Raw())
		}
		return
	}
	w.reported.refused += len(refusal.Path)
	w.refused = append(w.refused, refusal)
}

// keepReplaced keeps the baseline's files that a file replaces which is not taken and not listed as
// refused: those in a folder of that name, or one in the place of its folder. A refusal that is listed
// holds back their removal. The walk must be locked.
func (w *walk) keepReplaced(path string) {
	for i := range len(path) {
		dir := path[:i]
		if path[i] != '/' || w.known[dir] != nil {
			continue
		}
		if _, file := w.baseline.Find(dir); file && !w.replaced[dir] {
			w.replaced[dir] = true
			w.refused = append(w.refused, review.Refusal{Path: review.Path(dir), Reason: "is a folder with files that are refused"})
		}
		return
	}
	if w.known[path] != nil {
		w.keepBelow(path)
	}
}

func (w *walk) addIgnored(i review.Ignored, dir bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if dir {
		w.err = errors.Join(w.err, w.ignoredFolders.Add([]byte(i.Path)))
	}
	if len(w.ignored) >= maxIgnored || w.reported.ignored+len(i.Path) > maxReported {
		w.hidden++
		return
	}
	w.reported.ignored += len(i.Path)
	w.ignored = append(w.ignored, i)
}

// whyReadOnly is the reason for which a change of a read-only path is refused.
const whyReadOnly = "is read-only in this session, so its change is left out"

// keepReadOnly marks the read-only files that do not exist any more as existing, so that they
// are not deleted.
func (w *walk) keepReadOnly() {
	if w.readOnly == nil {
		return
	}
	for i, there := range w.seen {
		if path := w.baseline.Files[i].Path; !there && w.readOnly.Has(path) {
			w.seen[i] = true
			w.refuse(path, whyReadOnly)
		}
	}
}

// keepBelow marks the baseline's files in an unreadable folder as existing, so that they do
// not count as deleted.
func (w *walk) keepBelow(dir string) {
	files := w.baseline.Files
	first, _ := w.baseline.Find(dir + "/")
	for i := first; i < len(files) && strings.HasPrefix(files[i].Path, dir+"/"); i++ {
		w.seen[i] = true
	}
}
