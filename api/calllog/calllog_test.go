package calllog

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
			if i > 0 && e.Seq == 0 && e.Type != audit.LogContinued {
				t.Errorf("%s does not continue the file before it", file)
			}
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
	for _, done := range []int{1, 2, 3} { // steps before the interruption
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		l, err := open(path, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		fill(t, l, 0, 3)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		for i, step := range []func() error{
			func() error { return os.Rename(audit.LastPath(path), l.aside(1, ".last")) },
			func() error { return os.Rename(path, l.aside(1, ".jsonl")) },
			func() error { return os.WriteFile(path, nil, 0o600) },
		} {
			if i >= done {
				break
			}
			if err := step(); err != nil {
				t.Fatal(err)
			}
		}
		if l, err = open(path, 1<<20); err != nil {
			t.Fatal(err)
		}
		fill(t, l, 3, 5)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if all, requests := files(t, l), check(t, l); len(all) != 2 || len(requests) != 5 {
			t.Errorf("after %d steps, %q hold %q", done, all, requests)
		}
	}
}

// On a full disk, for example, a new file cannot be begun.
// setAside returns the path of a log whose full file was set aside, and that file.
func setAside(t *testing.T) (path, aside string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "audit.jsonl")
	l, err := open(path, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, l, 0, 3)
	if err := errors.Join(l.rotate(), l.Close()); err != nil {
		t.Fatal(err)
	}
	return path, l.aside(1, ".jsonl")
}

// A crash, or a user who tidies up, can remove the record of a file's end.
func TestTheLogContinuesAFileWhoseRecordedEndIsLost(t *testing.T) {
	for _, begun := range []bool{false, true} { // the file after it
		path, aside := setAside(t)
		err := os.Remove(audit.LastPath(aside))
		if !begun {
			err = errors.Join(err, os.Remove(path), os.Remove(audit.LastPath(path)))
		}
		if err != nil {
			t.Fatal(err)
		}
		l, err := open(path, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		fill(t, l, 3, 5)
		if err := errors.Join(l.rotate(), l.Close()); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(aside)
		if err != nil {
			t.Fatal(err)
		}
		if says := strings.Contains(string(data), string(audit.LogCut)); says == begun {
			t.Errorf("the file with a next one (%t) says that its end was lost: %t", begun, says)
		}
		if all := files(t, l); len(all) != 3 {
			t.Errorf("there are %q", all)
		}
	}
}

func TestTheLogContinuesADamagedFileAndSaysSo(t *testing.T) {
	path, aside := setAside(t)
	err := errors.Join(os.Remove(audit.LastPath(aside)), os.Remove(path), os.Remove(audit.LastPath(path)), os.WriteFile(aside, []byte("{}\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	l, err := open(path, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, l, 0, 1)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(data), `"damage":"the audit log was changed`) {
		t.Errorf("the next file is %s: %v", data, err)
	}
}

func TestTheLogGoesOnAfterARotationThatFailed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l, err := open(path, 400)
	if err != nil {
		t.Fatal(err)
	}
	blocked := l.aside(1, ".jsonl")
	if err := os.MkdirAll(filepath.Join(blocked, "x"), 0o700); err != nil { // nothing can be renamed to it
		t.Fatal(err)
	}
	recorded := 0
	for range 10 {
		if l.Append(audit.APICalled, map[string]string{"request": "r"}) != nil {
			break
		}
		recorded++
	}
	if recorded == 10 {
		t.Fatal("the rotation succeeded")
	}
	if err := os.RemoveAll(blocked); err != nil {
		t.Fatal(err)
	}
	fill(t, l, 0, 1)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	check(t, l)
	if l.Append(audit.APICalled, nil) == nil {
		t.Error("the closed log takes events")
	}
}
