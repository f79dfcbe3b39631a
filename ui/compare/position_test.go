package compare

import (
	"fmt"
	"testing"

	"aibox/review"
	"aibox/session"
)

func TestLongListsShowWhichSessionsAndFilesAreHidden(t *testing.T) {
	s := &scene{sets: map[session.ID]*review.ChangeSet{}}
	var changes []review.Change
	for i := range 90 {
		changes = append(changes, changed(fmt.Sprintf("file%02d.go", i), fmt.Sprint(i), i, 0))
	}
	for i := range 60 {
		s.add(session.ID(fmt.Sprintf("0dq%02d-shell", i)), "", changes...)
	}
	p := newUser(t, s, 80, 24)
	p.Sees("1-8 of 60")
	p.Press("tab")
	p.Sees("1-8 of 90")
	p.Press("end")
	p.Sees("83-90 of 90")
	p.Press("tab", "end")
	p.Sees("53-60 of 60")
	p.Resize(120, 40)
	p.Sees("-60 of 60")
	p.Sees("-90 of 90")
	p.Resize(200, 200)
	p.DoesNotSee("of 60")
	p.DoesNotSee("of 90")
}
