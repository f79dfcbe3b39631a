package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"aibox/app/doctor"
	"aibox/internal/probe"
	"aibox/session"
)

// probing returns two probes that have started.
func probing() (p doctor.Probing, lines *proofTable, printed *bytes.Buffer) {
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

func TestAProofEndsWithASummary(t *testing.T) {
	a, _ := quietApp(t)
	var printed bytes.Buffer
	a.out = &printed
	a.printProof(doctor.NewProof("4.4 \x1b[31m", []probe.Result{{OK: true}, {}}))
	a.printProof(doctor.NewProof("", []probe.Result{{OK: true}}))
	if got := printed.String(); !strings.HasPrefix(got, "1 of 2 passed, in a sandbox with kernel 4.4 \\x1b[31m\n") || !strings.HasSuffix(got, "\n1 of 1 passed\n") {
		t.Errorf("%q", got)
	}
}
