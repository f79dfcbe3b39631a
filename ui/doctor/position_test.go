package doctor

import (
	"fmt"
	"testing"

	"aibox/app/doctor"
	"aibox/internal/probe"
)

func TestLongListsShowWhichChecksAndProbesAreHidden(t *testing.T) {
	m := &machine{proof: &doctor.Proof{}}
	for i := range 70 {
		m.checks = append(m.checks, check(doctor.Tools, doctor.Finding{Name: fmt.Sprintf("tool %02d", i), State: doctor.OK}))
		m.proof.Results = append(m.proof.Results, probe.Result{Name: fmt.Sprintf("probe %02d", i), Want: probe.Refused, OK: true})
	}
	p := newUser(t, m, 80, 24)
	p.Scrolls(70, "end")
	p.Press("p")
	p.Scrolls(70, "end")
}
