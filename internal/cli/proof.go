package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"aibox/audit"
	"aibox/internal/command"
	"aibox/internal/health"
	"aibox/internal/probe"
	"aibox/netguard"
	"aibox/session"
)

// prove starts a session like any other, with a command that does nothing, and
// reads from its log what the probes found. bake may bake a missing image; step is
// told of the stages of the start. The session is gone afterwards, also when ctx ends.
func (a *app) prove(ctx context.Context, bake baker, step func(session.Step)) (*health.Proof, error) {
	service, err := a.service()
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
	}
	image, err := a.imageOf(ctx, &spec, bake)
	if err != nil {
		return nil, err
	}
	id, err := service.Launch(ctx, session.Launch{Spec: spec, ImageID: image}, step)
	if err != nil {
		return nil, err
	}
	found := new(health.Proof)
	_, err = service.Follow(ctx, id, 0, func(session.Chunk) error { return nil })
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

func (a *app) printProof(p *health.Proof) {
	if p == nil {
		return
	}
	fmt.Fprintf(a.out, "\nIn a box with kernel %s:\n", safe(p.Kernel))
	var rows [][]string
	for _, r := range p.Results {
		mark := a.term.good("✓")
		if !r.OK {
			mark = a.term.style("31", "✗") // the table counts escapes, so all are of one length
		}
		took := time.Duration(r.Took) * time.Microsecond
		rows = append(rows, []string{mark + " " + r.Name, safe(r.Target), r.Want.Must(), safe(r.Detail), took.Round(100 * time.Microsecond).String()})
	}
	_ = table(a.out, "", rows)
}
