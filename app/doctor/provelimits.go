package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"aibox/config"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/probe"
	"aibox/netguard"
	"aibox/runtime/limit"
	"aibox/session"
	"aibox/session/manager"
	"aibox/session/output"
)

// limitProbe is a program that exceeds one limit of its sandbox.
type limitProbe struct {
	name, target string
	set          func(run *config.Run) // sets the limit
	script       string                // for sh; bounded in case the limit is not enforced
	measured     bool                  // measure the use of processors, then end the run
	// judge decides whether the limit was enforced.
	judge func(limitTrial) (ok bool, detail string)
}

// limitTrial is the outcome of a limitProbe.
type limitTrial struct {
	result  *session.Result // nil if the session has none
	printed string
	cpu     float64 // percent of one processor, if it was measured
}

// These limits are small, so that a probe is quick and harmless if a limit is not enforced.
const (
	probeMemory    = 128 // MiB
	probeDisk      = 8   // MiB
	probeProcesses = 40
	// probeCPU is the maximum use in the probe of one processor, in percent, since a
	// measurement is not exact.
	probeCPU = 130
	// provingCPU is the minimum use that proves the limit. A lower use may be caused by other
	// programs.
	provingCPU = 80
)

// limitProbes returns the probes for a machine with that many processors.
func limitProbes(processors int) []limitProbe {
	return []limitProbe{
		{
			name: "memory", target: amount.Bytes(probeMemory << 20),
			set:    func(run *config.Run) { run.Memory = probeMemory },
			script: "head -c 400000000 /dev/zero >/tmp/fill; echo not limited",
			judge:  endedBy("memory limit"),
		},
		{
			name: "disk", target: amount.Bytes(probeDisk << 20),
			set: func(run *config.Run) { run.Disk = probeDisk },
			// Below .git, where it is no change, so that no state with it is saved for a recovery.
			script: "head -c 64000000 /dev/zero >.git/fill; sleep 20; echo not limited",
			judge:  endedBy("workspace has grown"),
		},
		{
			name: "processes", target: amount.Of(probeProcesses, "process"),
			set:    func(run *config.Run) { run.Pids = probeProcesses },
			script: fmt.Sprintf("i=0; while [ $i -lt %d ]; do sleep 60 & i=$((i+1)); echo $i; done", 3*probeProcesses),
			judge:  refusedProcesses,
		},
		{
			name: "processors", target: "1 processor",
			set:      func(run *config.Run) { run.CPUs = amount.Decimal(100) },
			script:   "for i in 1 2 3 4; do while :; do :; done & done; sleep 60",
			measured: true,
			judge:    func(t limitTrial) (bool, string) { return heldProcessors(t, processors) },
		},
	}
}

// endedBy returns a judge for a limit that ends the session; text is in the message.
func endedBy(text string) func(limitTrial) (bool, string) {
	return func(t limitTrial) (bool, string) {
		switch r := t.result; {
		case r == nil:
			return false, "the session has no result"
		case r.Fault == nil:
			return false, "the session was not ended"
		default:
			return r.Fault.Kind == fault.Limit.String() && strings.Contains(r.Fault.Message, text), r.Fault.Message
		}
	}
}

// refusedProcesses judges a program that starts too many processes and prints their number.
func refusedProcesses(t limitTrial) (bool, string) {
	lines := strings.Fields(t.printed)
	switch {
	case t.result == nil || len(lines) == 0:
		return false, "no process was started"
	case t.result.ExitCode == 0 || len(lines) > probeProcesses:
		return false, amount.Of(len(lines), "process") + " were started"
	default:
		return true, "a process after the first " + fmt.Sprint(len(lines)) + " was refused"
	}
}

// heldProcessors judges four programs that are busy without a pause.
func heldProcessors(t limitTrial, processors int) (bool, string) {
	detail := fmt.Sprintf("busy programs use %.0f%% of a processor", t.cpu)
	switch {
	case processors < 2:
		detail += "; this machine has only one"
	case t.cpu > 0 && t.cpu < provingCPU: // they would not have received a whole processor without the limit either
		detail += "; this machine is too busy to show that they could not use more"
	}
	return t.cpu > 0 && t.cpu <= probeCPU, detail
}

// proveLimits starts a session for each limit at the same time, with a program that exceeds
// it, and returns the results.
func proveLimits(ctx context.Context, service *manager.Manager, launch session.Launch, step func(session.Step)) ([]probe.Result, error) {
	probes := limitProbes(limit.ThisMachine().CPUs)
	results, errs := make([]probe.Result, len(probes)), make([]error, len(probes))
	var mu sync.Mutex // guards step
	report := func(r probe.Result, done bool) {
		mu.Lock()
		defer mu.Unlock()
		step(session.Step{Probe: &r, Done: done})
	}
	for i, p := range probes {
		results[i] = probe.Result{Name: "limit: " + p.name, Kind: probe.Limit, Target: p.target, Want: probe.Limited}
		report(results[i], false)
	}
	var running sync.WaitGroup
	for i, p := range probes {
		running.Go(func() {
			begin := time.Now()
			trial, err := p.try(ctx, service, launch)
			if err != nil {
				errs[i] = fmt.Errorf("the limit of %s: %w", p.name, err)
				return
			}
			results[i].OK, results[i].Detail = p.judge(trial)
			results[i].Took = time.Since(begin).Microseconds()
			report(results[i], true)
		})
	}
	running.Wait()
	return results, errors.Join(errs...)
}

// try runs the program in a separate session, and removes the session.
func (p *limitProbe) try(ctx context.Context, service *manager.Manager, launch session.Launch) (trial limitTrial, err error) {
	launch.ReportProbes, launch.AsksNothing = false, true
	launch.Spec.Network, launch.Spec.Args = netguard.None.String(), []string{"sh", "-c", p.script}
	p.set(&launch.Spec.Run)
	id, err := service.Launch(ctx, launch, func(session.Step) {})
	if err != nil {
		return trial, err
	}
	defer func() { err = errors.Join(err, removeProbe(ctx, service, id)) }()
	if p.measured {
		trial.cpu, err = measureProcessors(ctx, service, id)
		return trial, err
	}
	var printed strings.Builder
	ended, err := service.Follow(ctx, id, 0, func(chunk output.Chunk) error {
		if chunk.Stream == output.Stdout {
			printed.Write(chunk.Data)
		}
		return nil
	})
	trial.result, trial.printed = ended.State.Result, printed.String()
	return trial, err
}

// measureTime is the time between the two measurements of the use of processors.
const measureTime = time.Second

// measureProcessors measures the use of processors for a while, in percent of one.
func measureProcessors(ctx context.Context, service *manager.Manager, id session.ID) (float64, error) {
	first, err := service.Usage(ctx, id)
	if err != nil {
		return 0, err
	}
	select {
	case <-time.After(measureTime):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	second, err := service.Usage(ctx, id)
	if err != nil {
		return 0, err
	}
	return (second.CPUSeconds - first.CPUSeconds) / second.Measured.Sub(first.Measured).Seconds() * 100, nil
}
