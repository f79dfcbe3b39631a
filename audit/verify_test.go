package audit

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// write replaces a file.
func write(t interface{ Fatal(...any) }, path string, data []byte) {
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t interface{ Fatal(...any) }, path string) []byte {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// problems verifies a log and returns its damage, a line each.
func problems(t *testing.T, path string) string {
	t.Helper()
	v, err := Verify(path)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, d := range v.Damage {
		lines = append(lines, d.String())
	}
	return strings.Join(lines, "\n")
}

func TestVerifyNamesTheLineAndWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		attack func(lines [][]byte) [][]byte
		want   string
	}{
		"untouched": {func(l [][]byte) [][]byte { return l }, ""},
		"edited": {func(l [][]byte) [][]byte {
			l[1] = bytes.Replace(l[1], []byte("example.org"), []byte("example.net"), 1)
			return l
		}, "line 2 was edited"},
		"edited without a change of meaning": {func(l [][]byte) [][]byte {
			l[1] = bytes.Replace(l[1], []byte(`{"seq"`), []byte(`{"x":1,"seq"`), 1)
			return l
		}, "line 2 was edited"},
		"garbage":       {func(l [][]byte) [][]byte { l[1] = []byte("no\n"); return l }, "line 2 is not an event"},
		"too long":      {func(l [][]byte) [][]byte { l[1] = append(bytes.Repeat([]byte(" "), MaxLine), '\n'); return l }, "line 2 is too long"},
		"removed":       {func(l [][]byte) [][]byte { return append(l[:1:1], l[2:]...) }, "line 2 is event 2, not 1: lines before it were removed or moved"},
		"swapped":       {func(l [][]byte) [][]byte { l[1], l[2] = l[2], l[1]; return l }, "line 2 is event 2, not 1: lines before it were removed or moved"},
		"repeated":      {func(l [][]byte) [][]byte { l[2] = l[1]; return l }, "line 3 is event 1, not 2: it was repeated or moved"},
		"cut at a line": {func(l [][]byte) [][]byte { return l[:2] }, "the log was cut after line 2: 4 lines were written"},
		"cut within a line": {
			func(l [][]byte) [][]byte { l[3] = l[3][:9]; return l },
			"the log was cut after line 3: 4 lines were written, and the last one is incomplete",
		},
		"emptied": {func([][]byte) [][]byte { return nil }, "the log was cut after line 0: 4 lines were written"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			fill(t, path, 4)
			lines := bytes.SplitAfter(read(t, path), []byte("\n"))[:4]
			write(t, path, bytes.Join(c.attack(lines), nil))
			if got := problems(t, path); got != c.want {
				t.Errorf("%q, not %q", got, c.want)
			}
		})
	}
}

func TestAReplacedEndIsDetected(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	fill(t, path, 3)
	recorded := read(t, LastPath(path))
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got := problems(t, path); got != "the log was removed" {
		t.Error(got)
	}
	write(t, LastPath(path), nil)
	fill(t, path, 5) // another log with valid hashes
	write(t, LastPath(path), recorded)
	if got := problems(t, path); got != "line 3 and all lines after it were replaced" {
		t.Error(got)
	}
	if _, err := Open(path); !errors.Is(err, ErrBroken) {
		t.Errorf("opening gave %v", err)
	}
}

func TestALostRecordOfTheEndIsDetected(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	for name, attack := range map[string]func() error{
		"removed": func() error { return os.Remove(LastPath(path)) },
		"zeroed":  func() error { return os.WriteFile(LastPath(path), make([]byte, markSize), 0o600) },
		"emptied": func() error { return os.Truncate(LastPath(path), 0) },
	} {
		fill(t, path, 2)
		if err := attack(); err != nil {
			t.Fatal(err)
		}
		if got := problems(t, path); !strings.HasSuffix(got, "the record of the log's end is missing or unreadable, so lines at the end may be missing") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// An event that continues a log which was cut must not hide the cut. It must not fail either: a
// power cut also loses lines, and the user still has to accept the work.
func TestACutStaysVisibleAfterTheNextEvent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	fill(t, path, 4)
	data := read(t, path)
	write(t, path, bytes.Join(bytes.SplitAfter(data, []byte("\n"))[:2], nil))
	fill(t, path, 2)
	if got := problems(t, path); got != "line 3 follows a cut: 2 of 4 lines were left" {
		t.Error(got)
	}
	if n, err := count(path); n != 5 || err != nil {
		t.Errorf("%d events, %v", n, err)
	}
	if err := os.Remove(LastPath(path)); err != nil {
		t.Fatal(err)
	}
	fill(t, path, 1)
	if got := problems(t, path); !strings.Contains(got, "\nline 6 follows a lost record of the log's end") {
		t.Error(got)
	}
}

func TestACrashBeforeTheRecordIsNoDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	fill(t, path, 2)
	before := read(t, LastPath(path))
	fill(t, path, 1)
	write(t, LastPath(path), before)
	if got := problems(t, path); got != "" {
		t.Error(got)
	}
	fill(t, path, 1)
	if got := problems(t, path); got != "" {
		t.Error(got)
	}
}

func TestALogOfAnEarlierVersionIsValid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	write(t, path, read(t, "testdata/before-ends.jsonl"))
	v, err := Verify(path)
	if err != nil || len(v.Damage) != 0 || !v.EndUnknown || v.Events != 3 {
		t.Fatalf("%+v, %v", v, err)
	}
	fill(t, path, 1)
	if v, err := Verify(path); err != nil || len(v.Damage) != 0 || v.EndUnknown || v.Events != 4 {
		t.Errorf("once it is continued: %+v, %v", v, err)
	}
}

// Verify can read a log that is growing.
func TestALogInUseIsValid(t *testing.T) {
	log := openLog(t, 1)
	done := make(chan error, 1)
	go func() {
		var err error
		for range 2000 {
			if _, err = log.Append(StopRequested, nil); err != nil {
				break
			}
		}
		done <- err
	}()
	for {
		if got := problems(t, log.file.Name()); got != "" {
			t.Fatal(got)
		}
		select {
		case err := <-done:
			if err := errors.Join(err, log.Close()); err != nil {
				t.Fatal(err)
			}
			return
		default:
		}
	}
}

func TestAnyChangeOfOneLineIsDetected(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	rapid.Check(t, func(t *rapid.T) {
		_, _ = os.Remove(path), os.Remove(LastPath(path))
		log, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 5).Draw(t, "events") {
			data := map[string]string{"text": rapid.String().Draw(t, "text")}
			if _, err := log.Append(rapid.SampledFrom(Types()).Draw(t, "type"), data); err != nil {
				t.Fatal(err)
			}
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		whole := read(t, path)
		if v, err := Verify(path); err != nil {
			t.Fatal(err)
		} else if len(v.Damage) != 0 && v.Damage[0].Problem[0] != 'f' { // of a LogCut, which is one of the types
			t.Fatal("a whole log is damaged: ", v.Damage[0])
		}
		changed := change(t, whole)
		if bytes.Equal(whole, changed) {
			return
		}
		write(t, path, changed)
		if v, err := Verify(path); err != nil || len(v.Damage) == 0 || v.Damage[len(v.Damage)-1].Problem[0] == 'f' {
			t.Fatalf("%q became %q, and nothing is wrong: %v", whole, changed, err)
		}
	})
}

// change edits, cuts, removes, moves or repeats one line.
func change(t *rapid.T, whole []byte) []byte {
	lines := bytes.SplitAfter(bytes.Clone(whole), []byte("\n"))
	lines = lines[:len(lines)-1]
	i := rapid.IntRange(0, len(lines)-1).Draw(t, "line")
	j := rapid.IntRange(0, len(lines)-1).Draw(t, "other line")
	at := rapid.IntRange(0, len(lines[i])-1).Draw(t, "byte")
	switch rapid.SampledFrom([]string{"edit", "insert", "delete", "cut", "remove", "swap", "repeat"}).Draw(t, "change") {
	case "edit":
		lines[i][at] ^= rapid.ByteRange(1, 255).Draw(t, "bits")
	case "insert":
		lines[i] = append(lines[i][:at:at], append([]byte{rapid.Byte().Draw(t, "new")}, lines[i][at:]...)...)
	case "delete":
		lines[i] = append(lines[i][:at:at], lines[i][at+1:]...)
	case "cut":
		lines = append(lines[:i], lines[i][:at])
	case "remove":
		lines = append(lines[:i], lines[i+1:]...)
	case "swap":
		lines[i], lines[j] = lines[j], lines[i]
	case "repeat":
		lines = append(lines[:i:i], append([][]byte{lines[j]}, lines[i:]...)...)
	}
	return bytes.Join(lines, nil)
}

func FuzzALogThatIsReadIsCanonical(f *testing.F) {
	path := filepath.Join(f.TempDir(), "audit.jsonl")
	log, err := Open(path)
	if err != nil {
		f.Fatal(err)
	}
	for _, kind := range Types() {
		if _, err := log.Append(kind, map[string]string{"x": "<\u2028\x1b"}); err != nil {
			f.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(read(f, path), read(f, LastPath(path)))
	f.Add(read(f, "testdata/before-ends.jsonl"), []byte{})
	f.Add([]byte(`{"seq":0}`+"\n"), []byte("0"))
	f.Fuzz(func(t *testing.T, data, recorded []byte) {
		c := chain{recorded: parseMark(recorded)}
		var written []byte
		err := c.read(bytes.NewReader(data), func(e Event) error {
			line, hash, err := e.encode()
			if err != nil || hash != e.Hash {
				t.Errorf("event %d: %v", e.Seq, err)
			}
			written = append(append(written, line...), '\n')
			return nil
		})
		if !bytes.HasPrefix(data, written) || err == nil && c.end != int64(len(written)) {
			t.Errorf("%q was read as %q", data, written)
		}
		if err != nil && !errors.Is(err, ErrBroken) {
			t.Errorf("the error is %v", err)
		}
		if cut, err := c.checkEnd(); cut != nil && err != nil {
			t.Error("both cut and replaced")
		}
		if m := parseMark(recorded); m != unknown && !bytes.Equal(m.encode(), recorded) {
			t.Errorf("%q is %+v", recorded, m)
		}
	})
}
