package redact

import "io"

// Reader returns source without the secrets. It delays only an end of the data that can
// be the beginning of a secret. Closing it closes source.
func (s *Set) Reader(source io.ReadCloser) io.ReadCloser {
	if s.Empty() {
		return source
	}
	return &reader{source: source, stream: newStream(s)}
}

// readSize is the size of one read, in bytes.
const readSize = 32 << 10

type reader struct {
	source io.ReadCloser
	stream *stream
	ready  []byte // part of the stream's buffer, to be returned next
	err    error
}

func (r *reader) Read(p []byte) (int, error) {
	for len(r.ready) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		if len(p) >= readSize && r.stream.passed == r.stream.base+len(r.stream.buffer) {
			if n := r.direct(p); n > 0 {
				return n, nil
			}
			continue
		}
		var n int
		free := r.stream.room(readSize)
		n, r.err = r.source.Read(free)
		r.stream.buffer = r.stream.buffer[:len(r.stream.buffer)+n]
		r.ready = r.stream.search(r.err != nil)
	}
	n := copy(p, r.ready)
	r.ready = r.ready[n:]
	return n, nil
}

// direct reads into p without a copy, while nothing is delayed. It returns how much of p
// is ready.
func (r *reader) direct(p []byte) int {
	s := r.stream
	own := s.buffer[:0]
	var n int
	n, r.err = r.source.Read(p)
	s.buffer, s.base = p[:n], s.passed
	out := len(s.search(r.err != nil))
	s.buffer, s.base = append(own, p[out:n]...), s.passed
	return out
}

func (r *reader) Close() error { return r.source.Close() }

// layers is the number of layers of escapes that are decoded.
const layers = 3

// stream is the state of one search. Offsets count from the stream's beginning.
type stream struct {
	set      *Set
	buffer   []byte // from base on: delayed bytes, then bytes that were not searched
	base     int
	next     int // first byte that was not searched
	passed   int // first byte that was not returned
	views    [layers + 1]view
	decoders [layers]decoder // pass bytes from one view to the next
}

func newStream(set *Set) *stream {
	s := &stream{set: set}
	for i := range s.views {
		s.views[i].matched = make([]int, len(set.patterns))
	}
	return s
}

// room drops the returned bytes and makes space for about size more bytes after the rest.
func (s *stream) room(size int) []byte {
	kept := copy(s.buffer, s.buffer[s.passed-s.base:])
	s.buffer, s.base = s.buffer[:kept], s.passed
	if cap(s.buffer) < size {
		s.buffer = append(make([]byte, 0, size), s.buffer...)
	}
	if free := s.buffer[kept:cap(s.buffer)]; len(free) >= size/8 {
		return free
	}
	s.buffer = append(make([]byte, 0, 2*cap(s.buffer)), s.buffer...)
	return s.buffer[kept:cap(s.buffer)]
}

// search searches the new bytes in the buffer, overwrites secrets, and returns the bytes
// that are ready: all of them if last is set.
func (s *stream) search(last bool) []byte {
	find := finder{filter: &s.set.filter, data: s.buffer, slash: -1, percent: -1}
	i := s.next - s.base
	for ; s.set.folded && i < len(s.buffer); i++ { // the filter knows one letter case
		s.feed(0, unit{s.buffer[i], s.base + i, s.base + i + 1})
	}
	for i < len(s.buffer) {
		until := i + 1
		if s.idle() {
			at, from := find.next(i)
			if at == len(s.buffer) {
				i = at
				break
			}
			until = min(at+gram, len(s.buffer))
			i = cleanStart(s.buffer, i, from)
		}
		for ; i < until; i++ {
			if s.idle() && find.irrelevant(i) {
				continue
			}
			s.feed(0, unit{s.buffer[i], s.base + i, s.base + i + 1})
		}
	}
	s.next = s.base + i
	if last {
		s.end()
	}
	from, to := s.passed-s.base, len(s.buffer)
	if !last {
		to = s.keepFrom() - s.base
	}
	s.passed = s.base + to
	return s.buffer[from:to]
}

// cleanStart returns the last index up to about at, but not below least, at which no
// escape can be incomplete.
func cleanStart(data []byte, least, at int) int {
	const clean = 6 * layers // longer than any escape
	for plain := 0; at > least; at-- {
		if plain++; data[at-1] == '\\' || data[at-1] == '%' {
			plain = 0
		}
		if plain == clean {
			return at + clean - 1
		}
	}
	return least
}

// feed passes one byte to a view and the decoded result to the next one.
func (s *stream) feed(layer int, u unit) {
	if s.set.folded {
		u.c = lower(u.c)
	}
	s.match(&s.views[layer], u)
	if layer == layers {
		return
	}
	decoder := &s.decoders[layer]
	decoder.push(u)
	for {
		decoded, ok := decoder.pop()
		if !ok {
			return
		}
		s.feed(layer+1, decoded)
	}
}

// idle reports whether the searched bytes do not end with the beginning of a secret.
func (s *stream) idle() bool {
	for i := range s.views {
		if s.views[i].active > 0 {
			return false
		}
	}
	for i := range s.decoders {
		if s.decoders[i].count > 0 {
			return false
		}
	}
	return true
}

// keepFrom returns the offset from which bytes can still become part of a secret.
func (s *stream) keepFrom() int {
	least := s.next
	for i := range s.views {
		for _, n := range s.views[i].matched {
			if n > 0 {
				least = min(least, s.views[i].start(n))
			}
		}
	}
	for i := range s.decoders {
		if d := &s.decoders[i]; d.count > 0 {
			least = min(least, d.pending[0].start)
		}
	}
	return least
}

// end overwrites the beginning of a secret at the end of the stream: otherwise an answer
// that is cut one byte short would reveal all but that byte.
func (s *stream) end() {
	for i := range s.views {
		for p, n := range s.views[i].matched {
			if n >= s.set.patterns[p].fragment {
				s.overwrite(s.views[i].start(n), s.base+len(s.buffer))
			}
		}
	}
}

func (s *stream) overwrite(from, to int) {
	for i := from - s.base; i < to-s.base; i++ {
		s.buffer[i] = s.set.fill
	}
}

// view is the stream with some layers of escapes decoded, compared with every pattern.
type view struct {
	matched []int // by pattern: its matched length
	active  int   // number of patterns with a match
	starts  []int // offsets of the latest bytes of this view
}

// start returns the offset of the byte n bytes ago in this view.
func (v *view) start(n int) int { return v.starts[len(v.starts)-n] }

// match compares the next byte of a view with all patterns.
func (s *stream) match(v *view, u unit) {
	if v.active == 0 {
		if v.starts = v.starts[:0]; !s.set.filter.first[u.c] {
			return
		}
	}
	if len(v.starts) > 2*s.set.longest {
		v.starts = v.starts[:copy(v.starts, v.starts[len(v.starts)-s.set.longest:])]
	}
	v.starts = append(v.starts, u.start)
	v.active = 0
	for i, n := range v.matched {
		if n == 0 && s.set.initials[i] != u.c {
			continue
		}
		p := &s.set.patterns[i]
		for n > 0 && p.text[n] != u.c {
			if n >= p.partial {
				s.overwrite(v.start(n+1), u.start)
			}
			n = int(p.fallback[n])
		}
		if p.text[n] == u.c {
			n++
		}
		if n == len(p.text) {
			s.overwrite(v.start(n), u.end)
			n = int(p.fallback[n])
		}
		if v.matched[i] = n; n > 0 {
			v.active++
		}
	}
}
