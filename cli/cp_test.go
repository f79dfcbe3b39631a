package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aibox/internal/archive"
	"aibox/internal/fault"
)

func TestTheEndsOfACopyAreParsed(t *testing.T) {
	for _, c := range []struct {
		source, dest string
		want         copyPlaces
	}{
		{"0dq4f:a:b", "out", copyPlaces{"0dq4f", "a:b", "out", false}},
		{"./a:b", "0dq4f:.", copyPlaces{"0dq4f", "./a:b", ".", true}},
		{"-", "0dq4f:/tmp", copyPlaces{"0dq4f", "-", "/tmp", true}},
	} {
		if got, err := parseCopy("aibox cp", c.source, c.dest); err != nil || got != c.want {
			t.Errorf("%s %s: %+v, %v", c.source, c.dest, got, err)
		}
	}
}

func TestWrongEndsOfACopyAreRefusedWithWhatToWrite(t *testing.T) {
	for _, c := range []struct{ source, dest, text, hint string }{
		{"a", "b", "one of the source and the destination must be ID:PATH, in a sandbox", "`aibox sandbox cp file 0dq4f:.` copies a file into it"},
		{"a:b", "0dq4f:.", "one of the source and the destination must be ID:PATH, in a sandbox", "a path on this machine that contains a colon begins with ./ or /"},
		{"a", "0dq4f:", "a path is missing after 0dq4f:", "0dq4f:. is the folder in which commands in the sandbox start"},
		{"0dq4f:", "b", "a path is missing after 0dq4f:", "0dq4f:. is the folder in which commands in the sandbox start"},
	} {
		_, err := parseCopy("aibox sandbox cp", c.source, c.dest)
		if fault.KindOf(err) != fault.Usage || err.Error() != c.text || !slices.Contains(fault.Hints(err), c.hint) {
			t.Errorf("%s %s: %v, %q", c.source, c.dest, err, fault.Hints(err))
		}
	}
}

func TestACopyThatThisMachineDoesNotTakeIsAnErrorOfTheMachine(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root can write to every folder")
	}
	a, _, _ := testApp(t)
	source, dest := filepath.Join(t.TempDir(), "a"), t.TempDir()
	if err := errors.Join(os.WriteFile(source, []byte("text"), 0o600), os.Chmod(dest, 0o500)); err != nil {
		t.Fatal(err)
	}
	for read, want := range map[*func(io.Writer) error]fault.Kind{
		new(func(w io.Writer) error { return archive.Pack(w, source, nil) }):                   fault.Environment,
		new(func(w io.Writer) error { _, err := io.WriteString(w, "no archive"); return err }): fault.AgentFailed,
	} {
		err := a.unpack(t.Context(), "0dq4f-shell", "/a", dest, archive.Options{Git: true}, *read)
		if fault.KindOf(err) != want {
			t.Errorf("%v is %s, not %s", err, fault.KindOf(err), want)
		}
	}
}

func TestACopyOfTooManyFoldersSaysHowToCopyTheArchive(t *testing.T) {
	a, _, _ := testApp(t)
	source := t.TempDir()
	if err := os.MkdirAll(filepath.Join(source, strings.Repeat("x/", 200)), 0o700); err != nil {
		t.Fatal(err)
	}
	err := a.unpack(t.Context(), "0dq4f-shell", "/a/.", t.TempDir(), archive.Options{Git: true}, func(w io.Writer) error { return archive.Pack(w, source+"/.", nil) })
	if err == nil || strings.Contains(err.Error(), "too large") || !strings.HasPrefix(strings.Join(fault.Hints(err), " "), "with - in place of ") {
		t.Errorf("it says %v, with the hints %q", err, fault.Hints(err))
	}
}
