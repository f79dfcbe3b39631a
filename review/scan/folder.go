package scan

import (
	"bytes"
	"encoding/binary"
	"os"
	pathpkg "path"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"aibox/internal/gitname"
	"aibox/review"
	"aibox/workspace"
)

// folderReader reads one folder. It passes its findings on in batches.
type folderReader struct {
	walk     *walk
	fd       int
	dir      folder
	names    *nameIndex
	path     []byte // buffer: the folder's path and a slash, then a name
	base     int    // length of the folder's part
	count    int
	reported int // of count, how many progress knows about
	subs     []folder
	found    []candidate
	bytes    int // of found and subs

	foreign bool // a file of another user was seen
	differs bool // a file that is new or differs by its stat was seen
}

// batch is the size of a batch in bytes.
const batch = 64 << 10

// full reports whether to pass the findings on.
func (r *folderReader) full() bool { return r.bytes > batch }

// entries reads one buffer of linux_dirent64 records.
func (r *folderReader) entries(buf []byte) {
	const header = int(unsafe.Offsetof(unix.Dirent{}.Name))
	for len(buf) > header {
		size := int(binary.NativeEndian.Uint16(buf[unsafe.Offsetof(unix.Dirent{}.Reclen):]))
		if size < header || size > len(buf) {
			return
		}
		name := buf[header:size]
		buf = buf[size:]
		end := bytes.IndexByte(name, 0)
		if end < 0 {
			return
		}
		name = name[:end]
		if string(name) == "." || string(name) == ".." {
			continue
		}
		r.count++
		r.entry(name)
	}
}

// entry classifies one name, which a zero byte follows in memory.
func (r *folderReader) entry(name []byte) {
	w := r.walk
	r.path = append(r.path[:r.base], name...)
	if r.base == 0 && string(name) == ".git" {
		return // the agent's .git, whatever it is by now
	}
	was, known := r.names.find(w.baseline.Files, r.path[r.base:])
	var st unix.Stat_t
	if err := lstatAt(r.fd, name, &st); err != 0 {
		if err != unix.ENOENT {
			r.refuse("cannot be looked at: " + describeError(err))
			if known {
				w.seen[was] = true
			}
			if path := string(r.path); w.known[path] != nil {
				w.keepBelow(path)
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
	case !known && gitname.IsDotGit(string(name)):
		r.refuse("has a name that git, or some file system, takes for .git")
	case st.Dev != w.device:
		r.refuse("lies on another file system")
		if kind == unix.S_IFDIR {
			w.keepBelow(string(r.path))
		}
	case kind == unix.S_IFDIR:
		r.folder()
	case w.around[string(r.path)] && kind != unix.S_IFDIR:
		r.refuse("is in the place of a submodule, which aibox does not restore")
		w.keepBelow(string(r.path))
	case kind == unix.S_IFREG, kind == unix.S_IFLNK:
		if known && w.unchanged(was, &st) {
			return
		}
		r.file(&st, was, known)
	default:
		r.refuse("is " + describeKind(kind))
	}
}

// unchanged compares with the baseline without reading.
func (w *walk) unchanged(i int, st *unix.Stat_t) bool {
	return workspace.StatOf(st) == w.baseline.Files[i].Stat && st.Ctim.Nano() < w.racy && !w.baseline.HashAll
}

// folder classifies a folder.
func (r *folderReader) folder() {
	w, path := r.walk, string(r.path)
	switch {
	case w.modules[path]:
		if !r.isEmpty(path) {
			r.refuse("is a submodule that did not come along; aibox does not bring changes in it back")
		}
	case w.known[path] != nil:
		ignored := !w.submodules[path] && (r.dir.ignored || w.ignore.Entry(path, true))
		r.sub(folder{path: path, ignored: ignored})
	case r.dir.ignored || w.ignore.Entry(path, true) || w.isScratch(path):
		ignored := review.Ignored{Path: review.Path(path), More: true}
		ignored.Scratch = !r.dir.ignored && !w.ignore.Entry(path, true)
		if !w.running { // ignored folders are not read, and may have most of the files
			ignored.Files, ignored.More = w.count(path, nil)
		}
		w.addIgnored(ignored, true)
	case gitname.IsDotGitattributes(pathpkg.Base(path)), gitname.IsDotGitmodules(pathpkg.Base(path)):
		r.refuse("is a folder with the name of a file of git's, which git does not take")
	default:
		r.sub(folder{path: path})
	}
}

// isScratch reports whether a folder that is not in the baseline is one at the top that an
// agent keeps for its own use.
func (w *walk) isScratch(path string) bool {
	return slices.ContainsFunc(w.scratch, func(glob string) bool {
		same, _ := pathpkg.Match(glob, path) // a * matches no slash
		return same
	})
}

func (r *folderReader) sub(f folder) {
	r.subs = append(r.subs, f)
	r.bytes += len(f.path) + folderCost
}

func (r *folderReader) isEmpty(path string) bool {
	fd, err := r.walk.open(path)
	if err != nil {
		return false
	}
	dir := os.NewFile(uintptr(fd), "")
	defer dir.Close()
	names, _ := dir.Readdirnames(1)
	return len(names) == 0
}

// file classifies a changed or new file or symlink.
func (r *folderReader) file(st *unix.Stat_t, was int, known bool) {
	w, path := r.walk, string(r.path)
	link := st.Mode&unix.S_IFMT == unix.S_IFLNK
	if !link && st.Nlink > 1 {
		w.mu.Lock()
		if len(w.names) < maxLinked || w.names[st.Ino] > 0 { // all are on one device
			w.names[st.Ino]++
		}
		w.mu.Unlock()
	}
	if !known {
		was = -1
		if (r.dir.ignored || w.ignore.Entry(path, false)) && !w.covers(path) {
			w.addIgnored(review.Ignored{Path: review.Path(path), Files: 1}, false)
			return
		}
	}
	r.differs = r.differs || !known || workspace.StatOf(st) != w.baseline.Files[was].Stat
	r.found = append(r.found, candidate{path: path, was: was})
	r.bytes += len(path) + folderCost
}

func (r *folderReader) refuse(why string) { r.walk.refuse(string(r.path), why) }

// refuseShort is refuse for a path of any length. It names the folder instead.
func (r *folderReader) refuseShort(why string, kind uint32) {
	what := "a file"
	if kind == unix.S_IFDIR {
		what = "a folder"
	}
	r.walk.addRefusal(review.Refusal{Path: review.Path(r.dir.path[:min(len(r.dir.path), 200)]), Reason: "contains " + what + " that " + why, Inside: true})
}

// reportProgress counts the names seen since it was called last. The walk must be locked.
func (r *folderReader) reportProgress() {
	w := r.walk
	w.looked += r.count - r.reported
	r.reported = r.count
	if w.progress != nil {
		w.progress(w.looked)
	}
}

// flush passes the findings to the walk.
func (r *folderReader) flush() error {
	w := r.walk
	if r.differs && w.first != nil {
		w.once.Do(w.first)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	r.reportProgress()
	if err := w.queue.push(r.subs...); err != nil {
		return err
	}
	w.foreign = w.foreign || r.foreign
	var record []byte
	for _, c := range r.found {
		if c.was < 0 {
			if w.fresh >= w.maxNew {
				w.tooMany++
				w.keepReplaced(c.path)
				continue
			}
			w.fresh++
		}
		record = c.encode(record[:0])
		if err := w.found.Add(record); err != nil {
			return err
		}
	}
	r.subs, r.found, r.bytes = r.subs[:0], r.found[:0], 0
	return nil
}
