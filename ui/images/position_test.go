package images

import (
	"fmt"
	"testing"

	"aibox/bakery"
)

func TestALongListShowsWhichImagesAreHidden(t *testing.T) {
	k := &builder{}
	for i := range 70 {
		k.states = append(k.states, status(fmt.Sprintf("image%02d", i), bakery.Fresh, "1", 1e6))
	}
	newUser(t, k, 80, 24).Scrolls(70, "end")
}

func TestALongLogShowsWhichLinesAreHidden(t *testing.T) {
	p := watch(t)
	p.goTo("claude")
	p.Press("enter", "home")
	p.Scrolls(46, "end")
}
