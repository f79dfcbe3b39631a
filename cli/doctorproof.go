package cli

import (
	"fmt"
	"io"
	"time"

	"aibox/app/doctor"
	"aibox/internal/probe"
	"aibox/session"
)

// proofTable prints the probes of a proof, each on a line when it ends. The widths of the columns
// are known by then, because all probes have started.
type proofTable struct {
	out     io.Writer
	term    terminal
	probing doctor.Probing
}

// take records a step of a probe, and prints the line of one that has ended.
func (t *proofTable) take(step session.Step) {
	t.probing.Take(*step.Probe, step.Done)
	if step.Done {
		t.line(*step.Probe)
	}
}

func (t *proofTable) line(r probe.Result) {
	name, target := 0, 0
	for _, other := range t.probing.Results {
		name, target = max(name, len(other.Name)), max(target, len(safe(other.Target)))
	}
	mark := t.term.good("✓")
	if !r.OK {
		mark = t.term.style("31", "✗")
	}
	took := (time.Duration(r.Took) * time.Microsecond).Round(100 * time.Microsecond)
	fmt.Fprintf(t.out, "%s %-*s  %-*s  %-*s  %7s  %s\n", mark, name, r.Name, target, safe(r.Target), len(probe.Refused.Must()), r.Want.Must(), took, safe(r.Detail))
}

// printProof prints the summary of a proof.
func (c *console) printProof(p *doctor.Proof) {
	where := ""
	if p.Kernel != "" {
		where = ", in a sandbox with kernel " + safe(p.Kernel)
	}
	fmt.Fprintf(c.out, "%d of %d passed%s\n", len(p.Results)-p.Failed, len(p.Results), where)
}
