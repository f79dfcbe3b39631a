package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"aibox/internal/health"
	"aibox/internal/probe"
	"aibox/session"
)

// probing are two probes that have begun.
func probing() (p health.Probing, lines *proofTable, printed *bytes.Buffer) {
	printed = new(bytes.Buffer)
	lines = &proofTable{out: printed}
	for _, r := range []probe.Result{{Name: "own name", Target: "gateway", Want: probe.Answers}, {Name: "public address", Target: "1.1.1.1:443", Want: probe.Refused}} {
		p.Take(r, false)
		lines.take(session.Step{Probe: &r})
	}
	return p, lines, printed
}

func TestEachProbeIsPrintedAsItEnds(t *testing.T) {
	_, lines, printed := probing()
	if printed.Len() > 0 {
		t.Errorf("before one has ended: %q", printed)
	}
	for _, r := range []probe.Result{
		{Name: "public address", Target: "1.1.1.1:443", Want: probe.Refused, OK: true, Took: 1234, Detail: "connection \x1b[2Jrefused"},
		{Name: "own name", Target: "gateway", Want: probe.Answers, Took: (5 * time.Second).Microseconds(), Detail: "no answer in time"},
	} {
		lines.take(session.Step{Probe: &r, Done: true})
		want := map[string]string{
			"public address": "✓ public address  1.1.1.1:443  must be refused    1.2ms  connection \\x1b[2Jrefused\n",
			"own name":       "✗ own name        gateway      must answer           5s  no answer in time\n",
		}[r.Name]
		if got := printed.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		printed.Reset()
	}
}

func TestAStartThatAProbeStoppedIsAProofAndAnyOtherFailureIsNone(t *testing.T) {
	failure := errors.New("1 of 2 probes failed")
	p, _, _ := probing()
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

func TestTheEndOfAProofSaysWhatItComesTo(t *testing.T) {
	a, _ := quietApp(t)
	var printed bytes.Buffer
	a.out = &printed
	a.printProof(health.NewProof("4.4 \x1b[31m", []probe.Result{{OK: true}, {}}))
	a.printProof(health.NewProof("", []probe.Result{{OK: true}}))
	if got := printed.String(); !strings.HasPrefix(got, "1 of 2 passed, in a sandbox with kernel 4.4 \\x1b[31m\n") || !strings.HasSuffix(got, "\n1 of 1 passed\n") {
		t.Errorf("%q", got)
	}
}
