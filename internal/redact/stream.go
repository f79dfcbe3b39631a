package redact

import "io"

// Reader passes source on without the secrets. What source has sent is handed out at
// once, but for an end of it that a secret may begin with. Closing closes source.
func (s *Set) Reader(source io.ReadCloser) io.ReadCloser {
	if s.Empty() {
		return source
	}
	return &reader{source: source, stream: newStream(s)}
}

// readSize is how much is read at a time, in bytes.
const readSize = 32 << 10

type reader struct {
	source io.ReadCloser
	stream *stream
	ready  []byte // of the stream's buffer, to be handed out
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

// direct reads into p, without a copy, when nothing is kept back. It returns how much
// of p can be handed out.
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

// layers is how many layers of escapes are undone.
const layers = 3

// stream is the state of one search. Offsets count from the stream's beginning.
type stream struct {
	set      *Set
	buffer   []byte // from base on: kept back, then not yet searched
	base     int
	next     int // first byte that was not searched
	passed   int // first byte that was not handed out
	views    [layers + 1]view
	decoders [layers]decoder // from one view to the next
}

func newStream(set *Set) *stream {
	s := &stream{set: set}
	for i := range s.views {
		s.views[i].matched = make([]int, len(set.patterns))
	}
	return s
}

// room drops what was handed out and is space for size more bytes behind the rest.
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

// search looks through what is new in the buffer, overwrites secrets, and returns
// what can be handed out by now: everything when it is the last.
func (s *stream) search(last bool) []byte {
	find := finder{filter: &s.set.filter, data: s.buffer, slash: -1, percent: -1}
	i := s.next - s.base
	for i < len(s.buffer) {
		until := i + 1
		if s.idle() {
			at, from := find.next(i)
			if at == len(s.buffer) {
				i = at
				break
			}
			until = min(at+gram, len(s.buffer))
			i = settled(s.buffer, i, from)
		}
		for ; i < until; i++ {
			if s.idle() && find.dull(i) {
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
		to = s.held() - s.base
	}
	s.passed = s.base + to
	return s.buffer[from:to]
}

// settled is the first index from at on, or before it but not before least, at which
// no escape can be under way.
func settled(data []byte, least, at int) int {
	const clean = 6 * layers // longer than what can follow the beginning of an escape
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

// feed takes one byte as a view sees it.
func (s *stream) feed(layer int, u unit) {
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

// idle reports whether nothing that was searched can be the beginning of a secret.
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

// held is the offset from which on bytes may still become a secret.
func (s *stream) held() int {
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

// end overwrites the beginning of a secret that the stream ends with: an answer cut
// one byte short would else give away all but that byte.
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

// view is the stream with some layers of escapes undone, compared with every pattern.
type view struct {
	matched []int // by pattern: how much of it has matched so far
	active  int   // how many patterns have
	starts  []int // offsets of the latest bytes of this view
}

// start is the offset of the byte that was n bytes ago in this view.
func (v *view) start(n int) int { return v.starts[len(v.starts)-n] }

// match compares one more byte of a view with all patterns.
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
