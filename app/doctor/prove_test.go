package doctor

import (
	"errors"
	"testing"

	"aibox/internal/probe"
)

func TestOnlyAStartThatAProbeStoppedIsAProof(t *testing.T) {
	failure := errors.New("1 of 2 probes failed")
	var p Probing
	for _, r := range []probe.Result{{Name: "own name", Target: "gateway", Want: probe.Answers}, {Name: "public address", Target: "1.1.1.1:443", Want: probe.Refused}} {
		p.Take(r, false)
	}
	p.Take(probe.Result{Name: "own name", OK: true}, true)
	if proof, err := notStarted(p, failure); proof != nil || !errors.Is(err, failure) {
		t.Errorf("with a probe under way: %+v, %v", proof, err)
	}
	p.Take(probe.Result{Name: "public address", Detail: "connected"}, true)
	if proof, err := notStarted(p, failure); err != nil || proof.Failed != 1 || len(proof.Results) != 2 {
		t.Errorf("with one that came out wrong: %+v, %v", proof, err)
	}
	p.Take(probe.Result{Name: "public address", OK: true}, true)
	if proof, err := notStarted(p, failure); proof != nil || !errors.Is(err, failure) {
		t.Errorf("with all passed: %+v, %v", proof, err)
	}
}
