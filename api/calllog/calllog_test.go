package calllog

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"aibox/audit"
)

// files returns the files of a log, the oldest first.
func files(t *testing.T, l *Log) (all []string) {
	t.Helper()
	numbers, err := l.numbers(".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, number := range numbers {
		all = append(all, l.aside(number, ".jsonl"))
	}
	return append(all, l.path)
}

// fill appends calls.
func fill(t *testing.T, l *Log, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		if err := l.Append(audit.APICalled, map[string]string{"request": fmt.Sprintf("r%04d", i)}); err != nil {
			t.Fatal(err)
		}
	}
}

// check checks that the files of a log are one chain, and returns the requests in it.
func check(t *testing.T, l *Log) (requests []string) {
	t.Helper()
	previous := ""
	for i, file := range files(t, l) {
		var last audit.Event
		err := audit.Read(file, func(e audit.Event) error {
			if e.Type == audit.LogContinued {
				var c continued
				if err := json.Unmarshal(e.Data, &c); err != nil {
					return err
				}
				if i > 0 && c.Hash != previous {
					t.Errorf("%s continues %q instead of %q", file, c.Hash, previous)
				}
			} else {
				var call struct{ Request string }
				if err := json.Unmarshal(e.Data, &call); err != nil {
					return err
				}
				requests = append(requests, call.Request)
			}
			last = e
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		previous = last.Hash
	}
	return requests
}

func TestFullFilesAreSetAsideAndTheOldestAreRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l, err := open(path, 2000)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, l, 0, 200)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if n := len(files(t, l)); n != keep+1 {
		t.Errorf("there are %d files", n)
	}
	for _, file := range files(t, l) {
		if info, err := os.Stat(file); err != nil || info.Size() > 3000 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", file, info, err)
		}
	}
	requests := check(t, l)
	for i, request := range requests {
		if want := fmt.Sprintf("r%04d", 200-len(requests)+i); request != want {
			t.Fatalf("the call %d is %s instead of %s", i, request, want)
		}
	}
	if len(requests) < keep*2 {
		t.Errorf("only %d calls are left", len(requests))
	}
}

func TestARotationThatWasInterruptedIsFinished(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l, err := open(path, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, l, 0, 3)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(audit.LastPath(path), l.aside(1, ".last")); err != nil {
		t.Fatal(err)
	}
	if l, err = open(path, 1<<20); err != nil {
		t.Fatal(err)
	}
	fill(t, l, 3, 5)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if all, requests := files(t, l), check(t, l); len(all) != 2 || len(requests) != 5 {
		t.Errorf("%q hold %q", all, requests)
	}
}
