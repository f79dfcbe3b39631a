package process

import (
	"slices"
	"strings"
	"testing"
)

func TestALongCommandIsCutInLists(t *testing.T) {
	long := strings.Repeat("ä", maxListedCommand/2)
	for name, c := range map[string]struct{ argv, want []string }{
		"short":          {[]string{"ls", "-l"}, []string{"ls", "-l"}},
		"without words":  {nil, nil},
		"a long word":    {[]string{"sh", long, "x"}, []string{"sh", strings.Repeat("ä", maxListedCommand/2-4) + "…"}},
		"no room for it": {[]string{strings.Repeat("x", maxListedCommand-1), "rest"}, []string{strings.Repeat("x", maxListedCommand-1), "…"}},
	} {
		whole := slices.Clone(c.argv)
		got := Info{Argv: c.argv}.Listed().Argv
		if !slices.Equal(got, c.want) || !slices.Equal(c.argv, whole) {
			t.Errorf("%s: %d words, the last is %.20q with %d bytes", name, len(got), got[len(got)-1:], len(strings.Join(got[len(got)-1:], "")))
		}
	}
}
