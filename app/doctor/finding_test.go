package doctor

import (
	"slices"
	"testing"
)

func TestWhatIsBetterThanBeforeIsFixed(t *testing.T) {
	before := []Finding{{Name: "a", State: Missing}, {Name: "b", State: Warning}, {Name: "c", State: OK}, {Name: "d", State: OK}, {Name: "gone", State: Missing}}
	after := []Finding{{Name: "a", State: Warning}, {Name: "b", State: Warning}, {Name: "c", State: OK}, {Name: "d", State: Missing}, {Name: "new", State: OK}, {Name: "poor", State: Warning}}
	if got := Fixed(before, after); !slices.Equal(got, []string{"a", "new"}) {
		t.Errorf("mended %q", got)
	}
}
