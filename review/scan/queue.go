package scan

import (
	"encoding/binary"
	"fmt"
	"os"

	"aibox/internal/spool"
)

// Limits on the folders that wait in memory to be read.
const (
	waitingMemory = 1 << 20 // bytes
	folderCost    = 64      // bytes of one in addition to its path
)

// folderQueue is a stack of folders to read. Folders that do not fit into memory wait in
// an unnamed file, since an agent can make millions.
type folderQueue struct {
	dir     string
	folders []folder
	bytes   int
	file    *os.File
	ends    []int64 // where the parts in the file end
}

func (w *folderQueue) empty() bool { return len(w.folders) == 0 && len(w.ends) == 0 }

// push adds folders.
func (w *folderQueue) push(folders ...folder) error {
	for _, f := range folders {
		w.bytes += len(f.path) + folderCost
	}
	w.folders = append(w.folders, folders...)
	if w.bytes <= waitingMemory {
		return nil
	}
	return w.spill()
}

// spill moves the folders in memory to the end of the file.
func (w *folderQueue) spill() (err error) {
	if w.file == nil {
		if w.file, err = spool.CreateUnnamed(w.dir); err != nil {
			return err
		}
	}
	data := make([]byte, 0, w.bytes)
	for _, f := range w.folders {
		data = append(data, asByte(f.ignored))
		data = append(binary.AppendUvarint(data, uint64(len(f.path))), f.path...)
	}
	begin := w.end()
	if _, err := w.file.WriteAt(data, begin); err != nil {
		return fmt.Errorf("noting which folders are to be read: %w", err)
	}
	w.ends = append(w.ends, begin+int64(len(data)))
	clear(w.folders)
	w.folders, w.bytes = w.folders[:0], 0
	return nil
}

func (w *folderQueue) end() int64 {
	if len(w.ends) == 0 {
		return 0
	}
	return w.ends[len(w.ends)-1]
}

// pop takes the last folder; there must be one.
func (w *folderQueue) pop() (folder, error) {
	if len(w.folders) == 0 {
		if err := w.load(); err != nil {
			return folder{}, err
		}
	}
	last := len(w.folders) - 1
	f := w.folders[last]
	w.folders[last] = folder{}
	w.folders = w.folders[:last]
	w.bytes -= len(f.path) + folderCost
	return f, nil
}

// load reads the last part of the file into memory.
func (w *folderQueue) load() error {
	end := w.end()
	w.ends = w.ends[:len(w.ends)-1]
	data := make([]byte, end-w.end())
	if _, err := w.file.ReadAt(data, w.end()); err != nil {
		return fmt.Errorf("reading which folders are to be read: %w", err)
	}
	for len(data) > 0 {
		ignored := data[0] != 0
		size, n := binary.Uvarint(data[1:])
		data = data[1+n:]
		w.folders = append(w.folders, folder{path: string(data[:size]), ignored: ignored})
		w.bytes += int(size) + folderCost
		data = data[size:]
	}
	return nil
}

func (w *folderQueue) close() {
	if w.file != nil {
		w.file.Close()
		w.file = nil
	}
}

func asByte(is bool) byte {
	if is {
		return 1
	}
	return 0
}
