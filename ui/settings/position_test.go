package settings

import (
	"fmt"
	"testing"
)

func TestALongListShowsWhichSettingsAreHidden(t *testing.T) {
	p, m := newUser(t, newFake(), 80, 24)
	p.Scrolls(len(m.overview.Held), "end")
	for range 3 {
		p.Press("down")
	}
	p.Sees(fmt.Sprintf(" of %d ", len(m.overview.Held)))
}

func TestALongListOfValuesShowsWhichAreHidden(t *testing.T) {
	p, m := newUser(t, newFake(), 80, 24)
	p.Press("enter")
	m.edit.choices, m.edit.picked = nil, nil
	for i := range 30 {
		m.edit.choices, m.edit.picked = append(m.edit.choices, fmt.Sprintf("value%02d", i)), append(m.edit.picked, false)
	}
	m.edit.narrow()
	for _, size := range [][2]int{{80, 24}, {120, 30}} {
		p.Resize(size[0], size[1])
		p.Sees("1-")
		p.Sees(" of 30\n")
	}
	p.Resize(120, 60)
	p.DoesNotSee(" of 30\n")
}
