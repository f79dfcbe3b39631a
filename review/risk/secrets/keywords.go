package secrets

import "sync"

// entry is one keyword of one rule.
type entry struct {
	word string
	rule int
}

// shelf holds the keywords by their first two bytes; every keyword has two.
type shelf struct {
	at      [1 << 16]uint8 // 0: none; else one more than the place in entries
	entries [][]entry
}

var table = sync.OnceValue(func() *shelf {
	t := new(shelf)
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

// keywords gives, per rule, where its keywords begin in a text of lower case.
// Places nearer than the reach of a window to the one before are left out.
func keywords(lower []byte) [len(rules)][]int {
	var hits [len(rules)][]int
	t := table()
	for i := 0; i+1 < len(lower); i++ {
		at := t.at[int(lower[i])<<8|int(lower[i+1])]
		if at == 0 {
			continue
		}
		for _, e := range t.entries[at-1] {
			if len(lower)-i < len(e.word) || string(lower[i:i+len(e.word)]) != e.word {
				continue
			}
			if n := len(hits[e.rule]); n == 0 || i-hits[e.rule][n-1] > before/2 {
				hits[e.rule] = append(hits[e.rule], i)
			}
		}
	}
	return hits
}
