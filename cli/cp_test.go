package cli

import (
	"slices"
	"testing"

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
		{"a", "b", "one of the source and the destination must be ID:PATH, in a sandbox", "`aibox sandbox cp file 0dq4f:/workspace/` copies a file into it"},
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
