package redact

import (
	"bytes"
	"encoding/binary"
)

// gram is how many bytes are looked up together.
const gram = 4

// filter finds quickly which parts of a stream cannot hold a secret: most of it, so
// that what models write is passed on at the speed of memory. It looks up four bytes
// in every few (as Wu and Manber do), since a secret that lies there has some at
// whatever place is looked at, and it looks for the escapes that a secret can have.
type filter struct {
	grams   bitmap // four bytes of a pattern, by hash
	begins  bitmap // the first two bytes of a pattern
	first   [256]bool
	escaped [256]bool // characters whose escapes matter
	slash   bool      // a pattern has a backslash
	stride  int
	longest int // of the patterns
	side    int // neighbors on one side that have to be of a pattern too
	tail    int // length of an end in which the beginning of a pattern is looked for by itself
}

type bitmap [1 << 10]uint64

func (b *bitmap) set(i uint16)      { b[i>>6] |= 1 << (i & 63) }
func (b *bitmap) has(i uint16) bool { return b[i>>6]>>(i&63)&1 != 0 }

// hash is of the four bytes that data begins with.
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
	// Of least bytes in a row, gram are at a place that is looked at, and there are
	// least-gram on its two sides together.
	f.stride = min(least-gram+1, 16)
	f.side = min((least-gram+1)/2, 3)
	f.tail = f.stride + gram + 2*f.side
	return f
}

// finder finds the places in data that have to be searched.
type finder struct {
	filter         *filter
	data           []byte
	slash, percent int // next escapes of their kind that matter; -1 when not looked for
}

// next is the first place from i on that a secret may lie at or begin at, and from
// where on to search for its beginning; len(data) when there is none.
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

// dull reports whether no secret begins at i, and no escape either.
func (f *finder) dull(i int) bool {
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

// sample is the first place in data[i:limit] that is looked at and is of a pattern;
// limit when there is none.
func (f *finder) sample(i, limit int) int {
	data, filter := f.data, f.filter
	for ; i+gram <= limit; i += filter.stride {
		if filter.grams.has(hash(data[i:])) && (f.side(i, -1) || f.side(i, 1)) {
			return i
		}
	}
	return limit
}

// side reports whether the neighbors of i on one side are of a pattern too.
func (f *finder) side(i, step int) bool {
	for range f.filter.side {
		i += step
		if i < 0 || i+gram > len(f.data) || !f.filter.grams.has(hash(f.data[i:])) {
			return false
		}
	}
	return true
}

// beginning is the first place from i on where a pattern may begin.
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

// backslash is the next run of backslashes from i on that begins an escape that
// matters.
func (f *finder) backslash(i int) int {
	for {
		// In code one is often near, where a call costs more than a look.
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

// percentSign is the next percent escape from i on that matters.
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

// matters reports whether the digits at i may be of an escape that matters. Ones that
// have not come yet may.
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
