package changes

import (
	"errors"
	"testing"

	"aibox/review"
)

// sit puts a person before the review of what an agent worked.
func sit(t testing.TB) (*person, *recorded) {
	services := &recorded{set: worked(t)}
	return newPerson(t, services, 120, 40), services
}

// accept answers the last question with yes, once it can be read.
func (p *person) accept() {
	p.T.Helper()
	p.wait()
	p.Press("ctrl+s")
}

// goTo brings the person to a file.
func (p *person) goTo(path review.Path) {
	p.T.Helper()
	for range p.m.files {
		if p.m.file().change.Path == path {
			return
		}
		p.Press("tab")
	}
	p.T.Fatalf("there is no %s", path)
}

func TestAnAnswerForAnotherScreenIsDropped(t *testing.T) {
	p, _ := sit(t)
	other, _ := sit(t)
	before := p.View()
	p.Send(computed{sent: sent{other.m}, err: errors.New("old")})
	p.Send(read{sent: sent{other.m}, err: errors.New("old")})
	p.Send(found{sent: sent{p.m}, serial: 99, hits: []hit{{path: "Makefile"}}})
	p.Send(delivered{sent: sent{other.m}, err: errors.New("old")})
	if p.View() != before || len(p.Asked) > 0 {
		t.Errorf("%v\n%s", p.Asked, p.View())
	}
}
