package secrets

import (
	"bytes"
	"sync"
)

// entry is one keyword of one rule.
type entry struct {
	word string
	rule int
}

// keywordTable holds the keywords by their first two bytes; every keyword has two.
type keywordTable struct {
	at      [1 << 16]uint8 // 0 means none; otherwise the index in entries plus one
	entries [][]entry
}

var table = sync.OnceValue(func() *keywordTable {
	t := new(keywordTable)
	for i := range rules {
		for _, word := range rules[i].Keywords {
			at := &t.at[int(word[0])<<8|int(word[1])]
			if *at == 0 {
				t.entries = append(t.entries, nil)
				*at = uint8(len(t.entries))
			}
			t.entries[*at-1] = append(t.entries[*at-1], entry{word, i})
		}
	}
	return t
})

// window is a stretch of the text.
type window struct{ start, end int }

// windows gives, per rule, the stretches of a text in lower case around its
// keywords, joined where they meet; for a rule whose lead is cut off, one at each
// keyword. Their length is taken from budget; when that is used up, less than 0 is
// left.
func windows(lower []byte, budget int64) ([len(rules)][]window, int64) {
	var all [len(rules)][]window
	t := table()
	for i := 0; i+1 < len(lower) && budget >= 0; i++ {
		at := t.at[int(lower[i])<<8|int(lower[i+1])]
		if at == 0 {
			continue
		}
		for _, e := range t.entries[at-1] {
			if len(lower)-i < len(e.word) || string(lower[i:i+len(e.word)]) != e.word {
				continue
			}
			c := ready[e.rule].prepare(&rules[e.rule])
			if c.led && !bytes.ContainsAny(lower[i+len(e.word):min(len(lower), i+len(e.word)+maxAssign)], signs) {
				continue
			}
			list, w := all[e.rule], c.around(i, lower)
			if n := len(list); n > 0 && w.start <= list[n-1].end && !c.led {
				budget -= int64(max(0, w.end-list[n-1].end))
				list[n-1].end = max(list[n-1].end, w.end)
				continue
			}
			budget -= int64(w.end - w.start)
			all[e.rule] = append(list, w)
		}
	}
	return all, budget
}

// around is the window of a rule around a keyword.
func (c *compiled) around(hit int, lower []byte) window {
	reach := c.reach
	switch {
	case c.led && reach > 0:
		return window{hit, min(len(lower), hit+reach+1)}
	case c.led:
		return window{hit, hit + nextLines(lower[hit:min(len(lower), hit+maxLine)])}
	case reach > 0:
		return window{max(0, hit-reach-1), min(len(lower), hit+reach+1)}
	}
	return window{max(0, hit-before), min(len(lower), hit+behind)}
}

// nextLines returns the length of the first nine lines: a value may be up to eight lines
// below its name.
func nextLines(text []byte) int {
	n := 0
	for range 9 {
		i := bytes.IndexByte(text[n:], '\n')
		if i < 0 {
			return len(text)
		}
		n += i + 1
	}
	return n
}
