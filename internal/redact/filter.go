package redact

import (
	"bytes"
	"encoding/binary"
)

// gram is the number of bytes in one lookup.
const gram = 4

// filter quickly skips the parts of a stream that cannot contain a secret, so that most
// text passes at memory speed. Like the algorithm of Wu and Manber, it looks up four
// bytes at regular distances: every secret has such bytes at one of these positions. It
// also searches for the escapes that a secret can have.
type filter struct {
	grams   bitmap // four bytes of a pattern, by hash
	begins  bitmap // the first two bytes of a pattern
	first   [256]bool
	escaped [256]bool // characters whose escapes matter
	slash   bool      // a pattern has a backslash
	stride  int
	longest int // of the patterns
	side    int // neighbors on one side that must be part of a pattern, too
	tail    int // length of the end that is searched for the beginning of a pattern
}

type bitmap [1 << 10]uint64

func (b *bitmap) set(i uint16)      { b[i>>6] |= 1 << (i & 63) }
func (b *bitmap) has(i uint16) bool { return b[i>>6]>>(i&63)&1 != 0 }

// hash returns a hash of the first four bytes of data.
func hash(data []byte) uint16 {
	return uint16(binary.LittleEndian.Uint32(data) * 0x9E3779B1 >> 16)
}

func newFilter(patterns []pattern) filter {
	f := filter{}
	for _, c := range []byte(`0123456789abcdefABCDEFu\%/`) { // escapes of escapes
		f.escaped[c] = true
	}
	least := patterns[0].partial
	for _, p := range patterns {
		least = min(least, p.partial)
		f.longest = max(f.longest, len(p.text))
		f.first[p.text[0]] = true
		f.begins.set(binary.LittleEndian.Uint16(p.text))
		for i, c := range p.text {
			f.escaped[c] = true
			f.slash = f.slash || c == '\\'
			if i+gram <= len(p.text) {
				f.grams.set(hash(p.text[i:]))
			}
		}
	}
	// Among least consecutive bytes, gram are at a sampled position, with least-gram on
	// its two sides together.
	f.stride = min(least-gram+1, 16)
	f.side = min((least-gram+1)/2, 3)
	f.tail = f.stride + gram + 2*f.side
	return f
}

// finder finds the positions in data that need a full search.
type finder struct {
	filter         *filter
	data           []byte
	slash, percent int // next relevant escapes of their kind; -1 if not searched yet
}

// next returns the first position from i on where a secret can be or begin, and the
// position from which to search for its beginning. Without one it returns len(data).
func (f *finder) next(i int) (at, from int) {
	if f.slash < i {
		f.slash = f.backslash(i)
	}
	if f.percent < i {
		f.percent = f.percentSign(i)
	}
	limit := min(f.slash, f.percent)
	at = f.sample(i, limit)
	if at < limit || limit < len(f.data) {
		return at, at - f.filter.longest
	}
	at = f.beginning(max(i, len(f.data)-f.filter.tail))
	return at, at
}

// irrelevant reports whether neither a secret nor an escape begins at i.
func (f *finder) irrelevant(i int) bool {
	c := f.data[i]
	if c == '\\' || c == '%' {
		return false
	}
	if !f.filter.first[c] {
		return true
	}
	if i+1 == len(f.data) || f.data[i+1] == '\\' || f.data[i+1] == '%' {
		return false
	}
	return !f.filter.begins.has(binary.LittleEndian.Uint16(f.data[i:]))
}

// sample returns the first sampled position in data[i:limit] that is part of a pattern,
// or limit.
func (f *finder) sample(i, limit int) int {
	data, filter := f.data, f.filter
	for ; i+gram <= limit; i += filter.stride {
		if filter.grams.has(hash(data[i:])) && (f.side(i, -1) || f.side(i, 1)) {
			return i
		}
	}
	return limit
}

// side reports whether the neighbors of i on one side are part of a pattern, too.
func (f *finder) side(i, step int) bool {
	for range f.filter.side {
		i += step
		if i < 0 || i+gram > len(f.data) || !f.filter.grams.has(hash(f.data[i:])) {
			return false
		}
	}
	return true
}

// beginning returns the first position from i on where a pattern can begin.
func (f *finder) beginning(i int) int {
	for ; i+1 < len(f.data); i++ {
		if f.filter.begins.has(binary.LittleEndian.Uint16(f.data[i:])) {
			return i
		}
	}
	if i < len(f.data) && !f.filter.first[f.data[i]] {
		i++
	}
	return i
}

// backslash returns the next run of backslashes from i on that begins a relevant escape.
func (f *finder) backslash(i int) int {
	for {
		// In code one is often near, where a call costs more than this loop.
		for near := min(i+16, len(f.data)); i < near && f.data[i] != '\\'; i++ {
		}
		n := bytes.IndexByte(f.data[i:], '\\')
		if n < 0 {
			return len(f.data)
		}
		begin := i + n
		for i = begin; i < len(f.data) && f.data[i] == '\\'; i++ {
		}
		if i == len(f.data) || f.filter.slash && i-begin > 1 {
			return begin
		}
		switch c := f.data[i]; c {
		case '/', '"':
			if f.filter.escaped[c] {
				return begin
			}
		case 'u':
			if f.matters(i+1, 4) {
				return begin
			}
		}
	}
}

// percentSign returns the next relevant percent escape from i on.
func (f *finder) percentSign(i int) int {
	for {
		n := bytes.IndexByte(f.data[i:], '%')
		if n < 0 {
			return len(f.data)
		}
		i += n
		if f.matters(i+1, 2) {
			return i
		}
		i++
	}
}

// matters reports whether the digits at i can belong to a relevant escape. Digits that
// have not arrived yet can.
func (f *finder) matters(i, digits int) bool {
	value := 0
	for ; digits > 0; digits-- {
		if i == len(f.data) {
			return true
		}
		digit, ok := hexDigit(f.data[i])
		if !ok {
			return false
		}
		value = value<<4 | digit
		i++
	}
	return value < 0x80 && f.filter.escaped[value]
}
