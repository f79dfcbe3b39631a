package risk

import (
	"fmt"
	"strings"
	"testing"
)

// source is about 4 KB of ordinary code.
var source = strings.Repeat("func (s *Store) Key(name string) (token string, err error) {\n\treturn s.keys[name], nil // the key, as it was given\n}\n\n", 34)

// The next two measure the cost of a review: twenty small files, and the names of a large
// tree.
func BenchmarkTwentySmallFiles(b *testing.B) {
	for b.Loop() {
		for i := range 20 {
			f := &File{Path: fmt.Sprintf("src/store%d.go", i), New: Side{Mode: "100644", Content: []byte(source)}, Size: int64(len(source))}
			if found := Judge(f); len(found) > 0 {
				b.Fatal(found)
			}
		}
	}
}

func BenchmarkEightyThousandNames(b *testing.B) {
	var names []string
	for i := range 80_000 {
		names = append(names, fmt.Sprintf("packages/module%d/src/lib/file_%d.ts", i/90, i))
	}
	for b.Loop() {
		var search Search
		for _, name := range names {
			search.Calls(name)
		}
	}
}

// hostile is a text that keeps every rule for secrets busy.
func hostile(size int) []byte {
	const line = "the secret key token password api auth access = nothing here xoxb- ghp_ akia eyJ sk- glpat- facebook= https://a:b@c -----BEGIN \n"
	return []byte(strings.Repeat(line, size/len(line)))
}

func BenchmarkHostileText(b *testing.B) {
	text := hostile(MaxContent)
	for b.Loop() {
		Judge(&File{Path: "a.txt", New: Side{Mode: "100644", Content: text}, Size: int64(len(text))})
	}
}
