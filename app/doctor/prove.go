package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"aibox/audit"
	"aibox/internal/command"
	"aibox/internal/health"
	"aibox/internal/probe"
	"aibox/netguard"
	"aibox/session"
	"aibox/session/output"
)

// prove starts a session like any other, with a command that does nothing, and
// reads from its log what the probes found. bake may bake a missing image; step is
// told of the stages of the start and of each probe. The session is gone afterwards,
// also when ctx ends. Where a probe comes out wrong no agent starts: that is a proof,
// too, and no error.
func (a *cli) prove(ctx context.Context, bake baker, step func(session.Step)) (*health.Proof, error) {
	service, err := a.app.Sessions()
	if err != nil {
		return nil, err
	}
	repo, err := os.MkdirTemp("", "aibox-probe-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(repo)
	if err := sampleRepository(ctx, repo); err != nil {
		return nil, err
	}
	spec := session.Spec{
		Agent: "shell", Args: []string{"true"}, Repository: repo, Hide: []string{},
		Network: netguard.Local, Inference: "scripted", Timeout: session.Duration(time.Minute),
		AllowDegraded: a.app.AllowsDegraded(),
	}
	image, err := a.imageOf(ctx, &spec, bake)
	if err != nil {
		return nil, err
	}
	var probing health.Probing
	id, err := service.Launch(ctx, session.Launch{Spec: spec, ImageID: image, TellProbes: true}, func(s session.Step) {
		if s.Probe != nil {
			probing.Take(*s.Probe, s.Done)
		}
		step(s)
	})
	if err != nil {
		return notStarted(probing, err)
	}
	found := new(health.Proof)
	_, err = service.Follow(ctx, id, 0, func(output.Chunk) error { return nil })
	if err == nil {
		err = service.Events(id, func(e audit.Event) error { return readProof(found, e) })
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if _, stopErr := service.Stop(ctx, id, "the probes are done"); stopErr != nil {
		return nil, errors.Join(err, stopErr)
	}
	if err := errors.Join(err, service.Remove(ctx, id, true)); err != nil {
		return nil, err
	}
	return found, nil
}

// notStarted is what is known where the start failed with err.
func notStarted(probing health.Probing, err error) (*health.Proof, error) {
	if proof := health.NewProof("", probing.Results); probing.Over() && proof.Failed > 0 {
		return proof, nil
	}
	return nil, err
}

// readProof takes what one event of the log tells.
func readProof(p *health.Proof, e audit.Event) error {
	switch e.Type {
	case audit.BoxStarted:
		var box struct{ Kernel string }
		err := json.Unmarshal(e.Data, &box)
		p.Kernel = box.Kernel
		return err
	case audit.ProbesRan:
		if err := json.Unmarshal(e.Data, p); err != nil {
			return err
		}
		p.Failed = len(probe.Failed(p.Results))
	}
	return nil
}

// sampleRepository makes a repository with one commit.
func sampleRepository(ctx context.Context, dir string) error {
	if err := os.WriteFile(filepath.Join(dir, "README"), []byte("a repository for probes\n"), 0o600); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"init", "-q"},
		{"add", "README"},
		{"-c", "user.name=aibox", "-c", "user.email=aibox@localhost", "-c", "commit.gpgSign=false", "commit", "-q", "-m", "Probe"},
	} {
		if err := (command.Cmd{Name: "git", Args: append([]string{"-C", dir}, args...)}).Run(ctx); err != nil {
			return err
		}
	}
	return nil
}

// proofTable prints the probes of a proof as a table that grows by a line as each
// ends. Its columns are known by then: all have begun.
type proofTable struct {
	out     io.Writer
	term    terminal
	probing health.Probing
}

// take takes a step of a probe and prints the line of one that has ended.
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

// printProof says what the lines of a proof come to.
func (a *cli) printProof(p *health.Proof) {
	where := ""
	if p.Kernel != "" {
		where = ", in a sandbox with kernel " + safe(p.Kernel)
	}
	fmt.Fprintf(a.out, "%d of %d passed%s\n", len(p.Results)-p.Failed, len(p.Results), where)
}
