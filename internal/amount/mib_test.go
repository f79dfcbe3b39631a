package amount

import (
	"testing"

	"pgregory.net/rapid"
)

func TestSizesParseAsUsersWriteThem(t *testing.T) {
	for text, want := range map[string]MiB{
		"512": 512, "512MiB": 512, "512m": 512, "512 MB": 512, "4g": 4096, "4GiB": 4096, "4 gb": 4096, "1.5G": 1536, "0.5tib": 524288, "2T": 2 << 20,
		"0": 0, "0GiB": 0, "-1": -1, "0.1": 1, " 7 ": 7,
	} {
		if got, err := ParseMiB(text); err != nil || got != want {
			t.Errorf("%q is %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "MiB", "4k", "4kb", "4 gigabytes", "4gg", "4bi", "1e3", "0x10", "1_000", "nan", "inf", "4GiB4", "9999999999g", "4i"} {
		if got, err := ParseMiB(text); err == nil {
			t.Errorf("%q is accepted as %d", text, got)
		}
	}
}

func TestSizesHaveTheirLargestUnit(t *testing.T) {
	for size, want := range map[MiB]string{0: "0", 1: "1MiB", 1023: "1023MiB", 1024: "1GiB", 1536: "1536MiB", 6026: "6026MiB", 1 << 20: "1TiB", 5 << 30: "5120TiB"} {
		if got := size.String(); got != want {
			t.Errorf("%d is %q", int(size), got)
		}
	}
}

func TestEachSizeCanBeReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := MiB(rapid.IntRange(0, 1<<34).Draw(t, "size"))
		if got, err := ParseMiB(size.String()); err != nil || got != size {
			t.Errorf("%d is shown as %q, which is %d, %v", int(size), size, int(got), err)
		}
	})
}
