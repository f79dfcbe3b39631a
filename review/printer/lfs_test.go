package printer_test

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"aibox/review"
	"aibox/review/printer"
	"aibox/review/reviewtest"
)

func TestFilesInGitLFSAreComparedBySizeAndID(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{".gitattributes": "*.csv filter=lfs -text\n*.bin filter=lfs -text\n"}).UseLFS()
	b.Commit(map[string]string{"a.csv": "1,2\n", "b.bin": "\x00" + strings.Repeat("x", 1_199_999), "gone.bin": "\x00away", "plain.txt": "one\n"}).Prepare()
	b.Write("a.csv", "1,2\n3,4\n")
	b.Write("b.bin", "\x00"+strings.Repeat("y", 1_299_999))
	b.Write("plain.txt", "two\n")
	reviewtest.Must(t, os.Remove(b.Path("gone.bin")))
	cs := b.Compute()

	var out bytes.Buffer
	if err := printer.Diff(t.Context(), cs, &out, printer.DiffOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`Git LFS: 4 B → 8 B, [0-9a-f]{10} → [0-9a-f]{10}\n`, `\+1,2\n\+3,4\n`,
		`Git LFS: 1\.1 MiB → 1\.2 MiB, [0-9a-f]{10} → [0-9a-f]{10}\nbinary, 1300000 bytes\n`,
		`Git LFS: 5 B, [0-9a-f]{10}\ndeleted file\n`, `-one\n\+two\n`,
	} {
		if !regexp.MustCompile(want).Match(out.Bytes()) {
			t.Errorf("the diff lacks %s:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "git-lfs.github.com") {
		t.Errorf("the diff compares a pointer:\n%s", out.String())
	}
	out.Reset()
	if err := printer.Stat(cs, &out, 100); err != nil || !strings.Contains(out.String(), "| Git LFS: 1.1 MiB → 1.2 MiB, ") {
		t.Errorf("%v, %s", err, out.String())
	}
	err := cs.Files(t.Context(), func(d review.FileDiff) error {
		if h := d.Shown()[0]; len(h.Lines) != 2 || h.Lines[0].Op != '+' || len(d.Hunks[0].Lines) != 5 || h.ID != d.Hunks[0].ID {
			t.Errorf("%+v of %+v", h, d.Hunks)
		}
		return nil
	}, "a.csv")
	if err != nil {
		t.Error(err)
	}
}
