package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

func fill(t *testing.T, path string, n int) {
	t.Helper()
	log, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if _, err := log.Append(AccessRefused, map[string]any{"host": "example.org", "n": i}); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

func count(path string) (int, error) {
	n := 0
	err := Read(path, func(Event) error { n++; return nil })
	return n, err
}

func TestReopenedLogContinuesItsChain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	fill(t, path, 3)
	fill(t, path, 2)
	if n, err := count(path); n != 5 || err != nil {
		t.Fatalf("got %d events, %v", n, err)
	}
}

func TestIncompleteLastLineIsRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	fill(t, path, 1)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(whole, whole[:len(whole)-5]...), 0o600); err != nil {
		t.Fatal(err)
	}
	fill(t, path, 1)
	if n, err := count(path); n != 2 || err != nil {
		t.Fatalf("got %d events, %v", n, err)
	}
}

func TestEveryChangeToALineIsDetected(t *testing.T) {
	lines := func(b []byte) [][]byte { return bytes.SplitAfter(b, []byte("\n")) }
	attacks := map[string]func([]byte) []byte{
		"edited":   func(b []byte) []byte { return bytes.Replace(b, []byte("example.org"), []byte("example.net"), 1) },
		"removed":  func(b []byte) []byte { return bytes.Join(lines(b)[1:], nil) },
		"swapped":  func(b []byte) []byte { l := lines(b); l[0], l[1] = l[1], l[0]; return bytes.Join(l, nil) },
		"repeated": func(b []byte) []byte { l := lines(b); return append(bytes.Clone(l[0]), b...) },
		"garbage":  func(b []byte) []byte { return append([]byte("not json\n"), b...) },
	}
	for name, attack := range attacks {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			fill(t, path, 3)
			whole, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, attack(whole), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := count(path); !errors.Is(err, ErrBroken) {
				t.Fatalf("reading gave %v", err)
			}
			if _, err := Open(path); !errors.Is(err, ErrBroken) {
				t.Fatalf("opening gave %v", err)
			}
		})
	}
}

// If an event were refused for its size, it would be lost, although it reports something that has
// happened.
func TestOversizedEventIsShortenedAndTheChainStaysValid(t *testing.T) {
	long := string(make([]byte, MaxLine))
	list := make([]map[string]string, 10_000)
	for i := range list {
		list[i] = map[string]string{"path": long[:200] + strconv.Itoa(i)}
	}
	var deep any = long
	for range 2000 {
		deep = []any{deep, long[:100]}
	}
	for name, data := range map[string]any{
		"a long text": map[string]string{"host": long}, "a long list": map[string]any{"files": 7, "not_kept": list},
		"many names": manyNames(long), "a long name": map[string]int{long: 1}, "no object": []string{long}, "deep values": map[string]any{"a": deep},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			log, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, kind := range Types() {
				e, err := log.Append(kind, data)
				if err != nil {
					t.Fatalf("%s: %v", kind, err)
				}
				var kept struct {
					LeftOut struct{ Bytes int } `json:"left_out"`
				}
				if err := json.Unmarshal(e.Data, &kept); err != nil || kept.LeftOut.Bytes < MaxLine {
					t.Fatalf("%s does not say what it left out: %v, %.200s", kind, err, e.Data)
				}
			}
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			fill(t, path, 1)
			if n, err := count(path); n != len(Types())+1 || err != nil {
				t.Fatalf("got %d events, %v", n, err)
			}
		})
	}
}

func manyNames(long string) map[string]string {
	names := map[string]string{}
	for i := range 1000 {
		names[long[:100]+strconv.Itoa(i)] = long[:100]
	}
	return names
}
