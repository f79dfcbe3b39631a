package scan

import (
	"hash/maphash"
	"math/bits"
	"unsafe"

	"golang.org/x/sys/unix"

	"aibox/workspace"
)

// nameIndex finds the baseline's files of one folder by name: a hash table that is filled
// again for each folder.
type nameIndex struct {
	seed  maphash.Seed
	base  int     // where a file's name begins in its path
	slots []int32 // index of a file plus one; 0 is free. At most half are in use
}

// fill replaces the table's content with the files of k, whose names begin at base.
func (x *nameIndex) fill(files []workspace.File, k *knownFolder, base int) {
	x.base, x.slots = base, x.slots[:0]
	if k == nil || len(k.files) == 0 {
		return
	}
	size := 1 << bits.Len(uint(2*len(k.files)))
	if cap(x.slots) < size {
		x.slots = make([]int32, size)
	}
	x.slots = x.slots[:size]
	clear(x.slots)
	for _, i := range k.files {
		at := x.slot(maphash.String(x.seed, files[i].Path[base:]))
		for x.slots[at] != 0 {
			at = x.slot(uint64(at) + 1)
		}
		x.slots[at] = i + 1
	}
}

func (x *nameIndex) slot(n uint64) int { return int(n & uint64(len(x.slots)-1)) }

// find returns the index of the file with the name.
func (x *nameIndex) find(files []workspace.File, name []byte) (int, bool) {
	if len(x.slots) == 0 {
		return -1, false
	}
	for at := x.slot(maphash.Bytes(x.seed, name)); x.slots[at] != 0; at = x.slot(uint64(at) + 1) {
		if i := int(x.slots[at] - 1); files[i].Path[x.base:] == string(name) {
			return i, true
		}
	}
	return -1, false
}

// lstatAt is unix.Fstatat with AT_SYMLINK_NOFOLLOW for a name that a zero byte follows in
// memory. It does not copy the name, since a walk calls it for each file.
func lstatAt(folder int, name []byte, st *unix.Stat_t) unix.Errno {
	_, _, err := unix.Syscall6(unix.SYS_NEWFSTATAT, uintptr(folder), uintptr(unsafe.Pointer(unsafe.SliceData(name))),
		uintptr(unsafe.Pointer(st)), unix.AT_SYMLINK_NOFOLLOW, 0, 0)
	return err
}
