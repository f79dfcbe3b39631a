package doctor

import (
	"slices"
	"testing"

	"aibox/internal/probe"
)

func TestAProofInProgressReportsWhichProbesHaveEnded(t *testing.T) {
	var p Probing
	if p.Over() {
		t.Error("over before it has begun")
	}
	p.Take(probe.Result{Name: "a"}, false)
	p.Take(probe.Result{Name: "b"}, false)
	p.Take(probe.Result{Name: "b", OK: true}, true)
	if p.Over() || p.Ended(0) || !p.Ended(1) {
		t.Errorf("got %+v", p)
	}
	p.Take(probe.Result{Name: "a", Detail: "connected"}, true)
	if want := []probe.Result{{Name: "a", Detail: "connected"}, {Name: "b", OK: true}}; !p.Over() || !slices.Equal(p.Results, want) {
		t.Errorf("got %+v", p)
	}
	if proof := NewProof("4.4", p.Results); proof.Failed != 1 || proof.Kernel != "4.4" {
		t.Errorf("proved %+v", proof)
	}
}
