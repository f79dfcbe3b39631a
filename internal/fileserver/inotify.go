package fileserver

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// notice is an event of inotify(7).
type notice struct {
	watch  int32
	mask   uint32
	cookie uint32
	name   string
}

// noticeHeader is the size of struct inotify_event without its name.
const noticeHeader = unix.SizeofInotifyEvent

// parseNotices parses the bytes read from an inotify descriptor. It drops an incomplete notice.
func parseNotices(data []byte) []notice {
	var all []notice
	for len(data) >= noticeHeader {
		n := notice{
			watch:  int32(binary.NativeEndian.Uint32(data)),
			mask:   binary.NativeEndian.Uint32(data[4:]),
			cookie: binary.NativeEndian.Uint32(data[8:]),
		}
		size := binary.NativeEndian.Uint32(data[12:])
		data = data[noticeHeader:]
		if uint64(size) > uint64(len(data)) {
			break
		}
		name, _, _ := bytes.Cut(data[:size], []byte{0})
		n.name = string(name)
		data = data[size:]
		all = append(all, n)
	}
	return all
}
