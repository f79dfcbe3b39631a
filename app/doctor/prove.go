package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"aibox/audit"
	"aibox/config"
	"aibox/internal/amount"
	"aibox/internal/command"
	"aibox/internal/probe"
	"aibox/netguard"
	"aibox/runtime"
	"aibox/session"
	"aibox/session/manager"
	"aibox/session/output"
)

// Image finds the image of a session.
type Image func(context.Context, *session.Spec) (runtime.ImageID, error)

// proofTime is how long each session of a proof may take. They need seconds; on a machine that is busy
// with other work, one whose memory was used up took more than a minute.
const proofTime = 5 * time.Minute

// Prove starts a session under each network policy like any other, with a command that does
// nothing, and reads the results of its probes from its log. The names of the results begin
// with the policy. Unless a probe failed, it also starts sessions whose programs exceed a
// limit. image may build a missing image; step receives the stages of the first start, and
// each probe. The sessions are removed afterwards, also when ctx ends. If a probe has a
// wrong result, no agent starts: that is also a proof, and not an error.
func (d *Doctor) Prove(ctx context.Context, service *manager.Manager, image Image, step func(session.Step)) (*Proof, error) {
	repo, err := os.MkdirTemp("", "aibox-probe-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(repo)
	if err := SampleRepository(ctx, repo); err != nil {
		return nil, err
	}
	own, err := d.sources.UserSettings()
	run := config.Defaults().Run
	run.Hide, run.Inference, run.Memory, run.CPUs, run.Disk, run.Pids, run.Timeout = []string{}, "scripted", 0, 0, 0, 0, amount.Duration(proofTime)
	run.AllowDegraded = err == nil && own.Settings.AllowDegraded
	spec := session.Spec{Agent: "shell", Args: []string{"true"}, Repository: repo, Run: run}
	imageID, err := image(ctx, &spec)
	if err != nil {
		return nil, err
	}
	whole := NewProof("", nil)
	launch := session.Launch{Spec: spec, ImageID: imageID}
	for i, mode := range netguard.Modes() {
		spec.Network = mode.String()
		found, err := provePolicy(ctx, service, session.Launch{Spec: spec, ImageID: imageID, ReportProbes: true}, func(s session.Step) {
			if s.Probe != nil {
				named := *s.Probe
				named.Name = policyProbe(mode, named.Name)
				s.Probe = &named
			} else if i > 0 {
				return
			}
			step(s)
		})
		if err != nil {
			return nil, fmt.Errorf("under the network policy %s: %w", mode, err)
		}
		for _, result := range found.Results {
			result.Name = policyProbe(mode, result.Name)
			whole.Results = append(whole.Results, result)
		}
		whole.Kernel, whole.Failed = cmp.Or(whole.Kernel, found.Kernel), whole.Failed+found.Failed
	}
	if whole.Failed > 0 {
		return whole, nil
	}
	limits, err := proveLimits(ctx, service, launch, step)
	if err != nil {
		return nil, err
	}
	return NewProof(whole.Kernel, append(whole.Results, limits...)), nil
}

func policyProbe(mode netguard.Mode, name string) string { return mode.String() + ": " + name }

// provePolicy proves the isolation under the network policy of one launch.
func provePolicy(ctx context.Context, service *manager.Manager, launch session.Launch, step func(session.Step)) (*Proof, error) {
	var probing Probing
	id, err := service.Launch(ctx, launch, func(s session.Step) {
		if s.Probe != nil {
			probing.Take(*s.Probe, s.Done)
		}
		step(s)
	})
	if err != nil {
		return notStarted(probing, err)
	}
	found := new(Proof)
	_, err = service.Follow(ctx, id, 0, func(output.Chunk) error { return nil })
	if err == nil {
		err = service.Events(id, func(e audit.Event) error { return readProof(found, e) })
	}
	if err := errors.Join(err, removeProbe(ctx, service, id)); err != nil {
		return nil, err
	}
	return found, nil
}

// removeProbe ends and removes the session of a probe, also after ctx has ended.
func removeProbe(ctx context.Context, service *manager.Manager, id session.ID) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if _, err := service.Stop(ctx, id, "the probes are complete"); err != nil {
		return err
	}
	return service.Remove(ctx, id, true)
}

// notStarted returns the proof of a start that failed with err, if a probe stopped it.
func notStarted(probing Probing, err error) (*Proof, error) {
	if proof := NewProof("", probing.Results); probing.Over() && proof.Failed > 0 {
		return proof, nil
	}
	return nil, err
}

// readProof adds the data of one event of the log.
func readProof(p *Proof, e audit.Event) error {
	switch e.Type {
	case audit.SandboxStarted:
		var sandbox struct{ Kernel string }
		err := json.Unmarshal(e.Data, &sandbox)
		p.Kernel = sandbox.Kernel
		return err
	case audit.ProbesRan:
		if err := json.Unmarshal(e.Data, p); err != nil {
			return err
		}
		p.Failed = len(probe.Failed(p.Results))
	}
	return nil
}

// SampleRepository creates a repository with one commit.
func SampleRepository(ctx context.Context, dir string) error {
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
