package gateway

import (
	"bytes"
	"io"
)

// redactor passes an answer on with every copy of the key in it starred out: some
// servers repeat the key they refuse. The length stays the same. A key that is
// split over two reads is found too.
type redactor struct {
	source io.ReadCloser
	key    []byte
	ready  []byte // checked, to be handed out
	held   []byte // might be the beginning of the key
	buffer []byte
	err    error
}

// redactable is the least length of a key worth looking for: a shorter one is in
// ordinary text.
const redactable = 8

func newRedactor(source io.ReadCloser, key string) io.ReadCloser {
	if len(key) < redactable {
		return source
	}
	return &redactor{source: source, key: []byte(key), buffer: make([]byte, 32<<10)}
}

func (r *redactor) Read(p []byte) (int, error) {
	for len(r.ready) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		n := copy(r.buffer, r.held)
		var got int
		got, r.err = r.source.Read(r.buffer[n:])
		r.check(r.buffer[:n+got], r.err != nil)
	}
	n := copy(p, r.ready)
	r.ready = r.ready[n:]
	return n, nil
}

func (r *redactor) check(data []byte, last bool) {
	for from := 0; ; {
		i := bytes.Index(data[from:], r.key)
		if i < 0 {
			break
		}
		from += i
		for j := range r.key {
			data[from+j] = '*'
		}
	}
	held := 0
	if !last {
		held = beginning(data, r.key)
	}
	r.ready = data[:len(data)-held]
	r.held = append(r.held[:0], data[len(data)-held:]...)
}

// beginning is the length of the longest end of data that key begins with.
func beginning(data, key []byte) int {
	for n := min(len(key)-1, len(data)); n > 0; n-- {
		if bytes.HasPrefix(key, data[len(data)-n:]) {
			return n
		}
	}
	return 0
}

func (r *redactor) Close() error { return r.source.Close() }
