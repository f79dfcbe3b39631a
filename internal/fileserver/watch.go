package fileserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/files"
)

const (
	// watchedMask are the changes in a folder that a watch reports.
	watchedMask = unix.IN_CREATE | unix.IN_MODIFY | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO |
		unix.IN_ATTRIB | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR
	// pairTime is how long the second half of a rename may come after the first.
	pairTime = 200 * time.Millisecond
)

// watcher turns the kernel's notices about folders into events.
type watcher struct {
	kernel  *os.File // inotify
	deep    bool
	root    int32
	folders map[int32]string // their paths, by watch
	queue   *eventQueue
	moved   *notice // the first half of a rename whose second half may follow
}

// watch sends the changes in a folder until ctx ends or the folder is gone.
func watch(ctx context.Context, path string, deep bool, x *files.Exchange) error {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return fmt.Errorf("watching: %w", err)
	}
	w := &watcher{kernel: os.NewFile(uintptr(fd), "inotify"), deep: deep, folders: map[int32]string{}, queue: newEventQueue()}
	defer w.kernel.Close()
	if w.root, err = w.add(path, 0); err != nil {
		return err
	}
	if deep {
		if err := w.addBelow(path, false); err != nil {
			return err
		}
	}
	if err := x.Begin(files.Answer{}); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() {
		w.kernel.Close()
		w.queue.close()
	})
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- w.run() }()
	err = w.queue.drain(x.Event)
	_ = w.kernel.Close()
	return errors.Join(err, <-ended)
}

// add watches one folder. flags are for opening it.
func (w *watcher) add(path string, flags int) (int32, error) {
	if len(w.folders) >= files.MaxWatched {
		return 0, failed(files.Exhausted, path, fmt.Sprintf("more than %d folders cannot be watched at once", files.MaxWatched))
	}
	// gVisor lets a user watch a folder that it may not read, so it is opened first.
	folder, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK|flags, 0)
	if err != nil {
		return 0, err
	}
	defer folder.Close()
	var wd int
	raw, err := w.kernel.SyscallConn()
	if err == nil {
		opened := fmt.Sprintf("/proc/self/fd/%d", folder.Fd())
		controlErr := raw.Control(func(fd uintptr) { wd, err = unix.InotifyAddWatch(int(fd), opened, watchedMask) })
		err = errors.Join(controlErr, err)
	}
	if errors.Is(err, unix.ENOSPC) {
		return 0, failed(files.Exhausted, path, "the sandbox's kernel watches no more folders")
	}
	if err != nil {
		return 0, &fs.PathError{Op: "watch", Path: path, Err: err}
	}
	w.folders[int32(wd)] = path
	return int32(wd), nil
}

// addBelow watches all folders below one. With report, their entries are reported as created,
// since they existed before the watch. Folders that are gone or closed to the user are left
// out.
func (w *watcher) addBelow(path string, report bool) error {
	folder, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer folder.Close()
	for {
		entries, err := folder.ReadDir(readAtOnce)
		for _, entry := range entries {
			below := strings.TrimSuffix(path, "/") + "/" + entry.Name()
			if report {
				w.queue.put(files.Event{Change: files.Created, Path: files.Path(below), Folder: entry.IsDir()})
			}
			if !entry.IsDir() {
				continue
			}
			_, err := w.add(below, unix.O_NOFOLLOW)
			if limit := new(files.Error); errors.As(err, &limit) {
				return err
			}
			if err != nil {
				continue
			}
			if err := w.addBelow(below, report); err != nil {
				return err
			}
		}
		if err != nil {
			return nil // the end, or a folder that is gone
		}
	}
}

// run reads notices until the kernel's descriptor is closed or the root folder is gone.
func (w *watcher) run() error {
	defer w.queue.close()
	buf := make([]byte, 64<<10)
	for {
		if w.moved != nil {
			_ = w.kernel.SetReadDeadline(time.Now().Add(pairTime))
		}
		n, err := w.kernel.Read(buf)
		if w.moved != nil {
			_ = w.kernel.SetReadDeadline(time.Time{})
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			w.movedAway()
			continue
		}
		if errors.Is(err, os.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("watching: %w", err)
		}
		for _, notice := range parseNotices(buf[:n]) {
			if ended := w.handle(notice); ended {
				return nil
			}
		}
	}
}

// handle turns one notice into events. It reports whether the root folder is gone.
func (w *watcher) handle(n notice) (ended bool) {
	if n.mask&unix.IN_Q_OVERFLOW != 0 {
		w.queue.overflow()
		return false
	}
	folder, known := w.folders[n.watch]
	if w.moved != nil && (n.mask&unix.IN_MOVED_TO == 0 || n.cookie != w.moved.cookie) {
		w.movedAway()
	}
	switch {
	case !known:
		return false
	case n.mask&(unix.IN_IGNORED|unix.IN_DELETE_SELF|unix.IN_MOVE_SELF|unix.IN_UNMOUNT) != 0:
		return w.handleSelf(n)
	}
	path := strings.TrimSuffix(folder, "/")
	if n.name != "" {
		path += "/" + n.name
	}
	event := files.Event{Path: files.Path(path), Folder: n.mask&unix.IN_ISDIR != 0}
	switch {
	case n.mask&unix.IN_MOVED_FROM != 0:
		n.name = path
		w.moved = &n
		return false
	case n.mask&unix.IN_MOVED_TO != 0 && w.moved != nil:
		w.renamed(path)
		return false
	case n.mask&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0:
		event.Change = files.Created
	case n.mask&unix.IN_MODIFY != 0:
		event.Change = files.Written
	case n.mask&unix.IN_DELETE != 0:
		event.Change = files.Removed
	case n.mask&unix.IN_ATTRIB != 0:
		event.Change = files.Chmod
	default:
		return false
	}
	if isPart(path) {
		return false // a file that is being written; its rename is reported
	}
	w.queue.put(event)
	if event.Change == files.Created && event.Folder && w.deep {
		w.follow(path)
	}
	return false
}

// handleSelf handles a notice about a watched folder itself.
func (w *watcher) handleSelf(n notice) (ended bool) {
	if n.mask&unix.IN_IGNORED != 0 {
		delete(w.folders, n.watch)
	}
	if n.watch != w.root {
		return false
	}
	w.queue.put(files.Event{Change: files.Ended, Path: files.Path(w.folders[w.root])})
	return true
}

// follow watches a new folder with all below it.
func (w *watcher) follow(path string) {
	_, err := w.add(path, unix.O_NOFOLLOW)
	if err == nil {
		err = w.addBelow(path, true)
	}
	if limit := new(files.Error); errors.As(err, &limit) {
		w.queue.overflow()
	}
}

// renamed reports a rename within the watched folders.
func (w *watcher) renamed(to string) {
	from, folder := w.moved.name, w.moved.mask&unix.IN_ISDIR != 0
	w.moved = nil
	if isPart(from) { // a Server has written it
		if strings.HasSuffix(from, newSuffix) {
			w.queue.put(files.Event{Change: files.Created, Path: files.Path(to)})
		}
		w.queue.put(files.Event{Change: files.Written, Path: files.Path(to)})
		return
	}
	w.queue.put(files.Event{Change: files.Renamed, Path: files.Path(from), To: files.Path(to), Folder: folder})
	for wd, path := range w.folders {
		if path == from || strings.HasPrefix(path, from+"/") {
			w.folders[wd] = to + path[len(from):]
		}
	}
}

// movedAway reports a rename to a place that is not watched.
func (w *watcher) movedAway() {
	from, folder := w.moved.name, w.moved.mask&unix.IN_ISDIR != 0
	w.moved = nil
	w.queue.put(files.Event{Change: files.Renamed, Path: files.Path(from), Folder: folder})
	raw, err := w.kernel.SyscallConn()
	if err != nil {
		return
	}
	for wd, path := range w.folders {
		if path == from || strings.HasPrefix(path, from+"/") {
			delete(w.folders, wd)
			_ = raw.Control(func(fd uintptr) { _, _ = unix.InotifyRmWatch(int(fd), uint32(wd)) })
		}
	}
}

// isPart reports whether a path is that of a file that a Server is writing.
func isPart(path string) bool {
	name := path[strings.LastIndexByte(path, '/')+1:]
	return strings.HasPrefix(name, partPrefix) && (strings.HasSuffix(name, partSuffix) || strings.HasSuffix(name, newSuffix))
}
