package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"aibox/audit"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/lifeline"
	"aibox/internal/probe"
	"aibox/internal/termtext"
	"aibox/internal/watchdog"
	"aibox/netguard"
	"aibox/runtime"
	"aibox/runtime/limit"
	"aibox/session"
	"aibox/session/snapshot"
)

const (
	sandboxWorkdir = "/workspace" // the workspace in the sandbox
	sandboxHome    = "/root"      // HOME in the images

	sandboxHostname = "aibox"
)

// sandbox is the session's sandbox, with its services and its watchdog.
type sandbox struct {
	*preparation
	init     func() (string, error) // waits for the host path of PID 1's program
	line     *lifeline.Conn         // nil until the sandbox has connected
	ports    *openPorts
	watchdog *watchdog.Watchdog // nil until it guards the sandbox
	meter    *limit.Meter       // nil until the limits are applied to the sandbox
	control  limit.Control      // nil until then, and at the end
	tasks    *taskWatch         // nil until then

	warm     warmSandbox
	wasWarm  bool             // it was claimed
	restored *snapshot.Opened // the snapshot from which it continues; nil if there is none
	storing  *storing         // keeps requests out of its stored state
	// adoptProcesses registers the running processes of a restored sandbox, and returns their
	// number.
	adoptProcesses func(line *lifeline.Conn, stored []snapshot.Process, live map[uint32]*lifeline.Flow) int
	// serveOwn serves the sandboxes that the agent creates.
	serveOwn func(ctx context.Context, listener net.Listener) error
	loans    loans // the parts of the session's limits that are lent to those sandboxes
	// stopProxy ends the egress proxy and its connections, so that all of them are recorded.
	stopProxy func()

	agentFolder string   // the agent's working folder; set before it runs
	registries  []string // the user's package registries, as NAME=VALUE; set before it runs
}

// startSandbox creates the sandbox while its network is being closed, starts it afterwards,
// and waits until its PID 1 has connected. Then the lifeline's listener is paused, before
// any agent exists, so nothing in the sandbox can pose as PID 1. Later it listens only for
// connections that were requested from PID 1 (see openPorts).
func (s *sandbox) startSandbox(ctx, services context.Context, res *resources) (runtime.Sandbox, error) {
	done := s.report.step("sandbox")
	spec, err := s.sandboxSpec(res)
	if err != nil {
		return nil, err
	}
	if err := s.openSnapshot(ctx, res, &spec); err != nil {
		return nil, err
	}
	watched := async(func() (*watchdog.Watchdog, error) { return s.startWatchdog(spec.Init) })
	s.onUndo(func(context.Context) error { return s.releaseWatchdog(watched) })
	container, err := res.docker.Backend.Create(ctx, spec)
	if err != nil {
		return nil, err
	}
	s.onUndo(container.Destroy)
	if res.sockets, err = res.awaitSockets(); err != nil { // no sandbox starts before this point
		return nil, err
	}
	if err := s.serve(services, res); err != nil {
		return nil, err
	}
	listener := res.sockets.Listener(netguard.PortLifeline)
	res.awaitProcess = async(func() (runtime.Process, error) { return s.launchSandbox(ctx, container, listener, watched) })
	s.onUndo(func(context.Context) error { _, _ = res.awaitProcess(); return nil })
	conn, hello, err := s.awaitLine(ctx, listener, res.awaitProcess)
	if err != nil {
		if _, startErr := res.awaitProcess(); startErr != nil {
			return nil, startErr
		}
		return nil, errors.Join(err, sandboxFailure(ctx, container))
	}
	s.onUndo(func(context.Context) error { return conn.Close() })
	info, err := res.docker.Backend.Info(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkKernel(hello.Kernel, info); err != nil {
		return nil, err
	}
	res.kernel = hello.Kernel
	if s.restored != nil {
		if err := s.restored.Close(); err != nil { // all of it has been read
			return nil, err
		}
	}
	s.ports.prepare(listener, conn)
	s.mu.Lock()
	s.line = conn
	s.mu.Unlock()
	done("gVisor's kernel answers" + limitsText(s.resourceLimits()) + scratchText(container) + mountsText(&s.launch.Spec))
	return container, nil
}

// limitsText lists the limits of memory and processors, after a semicolon.
func limitsText(l limit.Limits) string {
	if text := l.String(); text != "" {
		return "; at most " + text
	}
	return ""
}

// scratchText names the folders of the image that are in memory, after a semicolon.
func scratchText(container runtime.Sandbox) string {
	scratch, ok := container.(runtime.Scratch)
	if !ok {
		return ""
	}
	folders, size := scratch.Scratch()
	if len(folders) == 0 {
		return ""
	}
	return fmt.Sprintf("; volumes of the image, empty and in memory, up to %s each: %s", amount.Bytes(size), strings.Join(folders, ", "))
}

// mountsText names the folders and files of the user in the sandbox, after a semicolon.
func mountsText(asked *session.Spec) string {
	var parts []string
	for _, m := range mountsOf(asked) {
		parts = append(parts, fmt.Sprintf("%s at %s", termtext.Escape(m.Source), m.Target))
	}
	if len(parts) == 0 {
		return ""
	}
	return "; read-only: " + strings.Join(parts, ", ")
}

// checkKernel refuses a sandbox that runs on the host's own kernel, regardless of the
// runtime's name in the daemon's configuration.
func checkKernel(inside string, daemon runtime.Info) error {
	var host unix.Utsname
	if err := unix.Uname(&host); err != nil {
		return fmt.Errorf("reading the host's kernel version: %w", err)
	}
	version := unix.ByteSliceToString(host.Version[:])
	if inside != "" && !strings.HasSuffix(inside, version) {
		return nil
	}
	return fault.New(fault.Refused, "the sandbox runs on the host's own kernel (%q), so there is no gVisor around it", inside).
		Hint("Docker's runtime runsc is not gVisor's: %s", daemon.Hint("`aibox doctor --fix` registers it", runtime.SystemRegistration))
}

// launchSandbox starts the sandbox and its watchdog, and stores the sandbox's process, so
// that it can be ended without the daemon. The sandbox may connect before this returns, but
// no agent runs in it yet.
func (s *sandbox) launchSandbox(ctx context.Context, container runtime.Sandbox, listener net.Listener, watched func() (*watchdog.Watchdog, error)) (runtime.Process, error) {
	if err := container.Start(ctx); err != nil {
		_ = listener.Close() // no connection will arrive
		return runtime.Process{}, err
	}
	state, err := container.State(ctx)
	if err != nil {
		return runtime.Process{}, fmt.Errorf("inspecting the sandbox's process: %w", err)
	}
	if state.Process.PID == 0 {
		// The end of the process shows that the sandbox has ended, so that its work can be read.
		_ = listener.Close()
		return runtime.Process{}, errors.Join(fault.New(fault.Environment, "Docker does not report the sandbox's process"), sandboxFailure(ctx, container))
	}
	err = s.save(func(st *session.State) { st.ContainerID, st.Sandbox = container.ID(), state.Process })
	if err == nil {
		err = s.guardSandbox(container.ID(), state.Process, watched)
	}
	if err == nil {
		err = s.enforceLimits(ctx, container.ID(), state.Process)
	}
	if err != nil {
		_ = listener.Close()
	}
	return state.Process, err
}

// workdir returns the folder where the agent starts: the one in which the run was started,
// or the top folder if that is not in the workspace.
func (res *resources) workdir() string {
	if res.workspace == nil {
		return sandboxWorkdir
	}
	return path.Join(sandboxWorkdir, res.workspace.StartFolder())
}

// startAgent probes the network, measures the volumes and waits for the workspace before it starts
// the agent.
func (s *sandbox) startAgent(ctx context.Context, res *resources, container runtime.Sandbox) error {
	proven := async(func() ([]probe.Result, error) { return s.prove(ctx, res) })
	measured := async(func() (*limitedFolders, error) { return volumesLimit(&s.launch.Spec, res.volumes), nil })
	process, err := res.awaitProcess()
	if err != nil {
		_ = s.line.Close() // ends the probes
	} else {
		s.audit(audit.SandboxStarted, map[string]any{"id": container.ID(), "image": s.launch.ImageID, "sandbox": process, "kernel": res.kernel, "limits": s.resourceLimits().String(), "limited_by": s.deps.Limits().Name()})
	}
	results, proofErr := proven()
	res.volumesLimit, _ = measured()
	if results != nil {
		s.audit(audit.ProbesRan, map[string]any{"results": results})
	}
	if err := cmp.Or(err, proofErr); err != nil {
		return err
	}
	if err := s.resolvePresets(ctx); err != nil {
		return err
	}
	if res.workspace, err = res.awaitWorkspace(); err != nil {
		return err
	}
	inference, err := res.model.forAgent(s.launch.Spec.Model)
	if err != nil {
		return err
	}
	if res.command, err = s.invocation(res, inference); err != nil {
		return err
	}
	if spec := s.launch.Spec.Sandbox; spec != nil && spec.Warm != nil {
		if err := s.awaitClaim(ctx, res, container); err != nil {
			return err
		}
	}
	stage := session.StageAgent
	switch {
	case s.restored != nil:
		stage = session.StageRestore
	case s.launch.Spec.IsSandbox():
		stage = session.StageStart
	}
	done := s.report.step(stage)
	s.counters.start()
	s.policy.agentStarts()
	begin := s.startMessage(res)
	switch {
	case s.restored != nil:
		err = s.continueRestored(ctx, begin)
	case s.launch.Spec.IsSandbox():
		err = s.startIdle(ctx, begin)
	default:
		err = s.startProgram(ctx, begin)
	}
	if err != nil {
		return err
	}
	done(string(s.id))
	s.began = time.Now()
	s.ports.start() // before a client is notified that the sandbox runs
	return nil
}

// startProgram starts the agent.
func (s *sandbox) startProgram(ctx context.Context, begin lifeline.Start) error {
	s.agentFolder = begin.Dir
	s.term.Prepare(&begin)
	// The event is logged first: if this process is killed before it has stored that the agent
	// runs, the repair must know that there may be work to keep.
	s.audit(audit.AgentStarted, map[string]any{"agent": s.launch.Spec.Agent, "program": begin.Argv[0]})
	if err := s.line.Start(begin); err != nil {
		return lineFault(ctx, "starting the agent", err)
	}
	s.term.Connect(s.line)
	return nil
}

// startMessage returns the message that starts the agent, or the processes of a sandbox
// without one.
func (s *sandbox) startMessage(res *resources) lifeline.Start {
	var files []lifeline.File
	env := []string{"TERM=dumb"}
	if s.launch.Spec.Mode().HasProxy() {
		files, env = proxyFiles(s.policy.hostKeys(), s.registries), slices.Concat(env, proxyEnv(), s.registries)
	}
	if text := s.policy.inspectionNotice(); text != "" {
		s.postNotice(text)
	}
	for _, file := range res.command.Files {
		files = append(files, lifeline.File{Path: file.Path, Mode: uint32(file.Mode.Perm()), Data: file.Data})
	}
	agent, agentEnv := sshAgent(&s.launch.Spec)
	processes, _ := s.launch.Spec.ProcessShares()
	begin := lifeline.Start{
		Argv: res.command.Argv, Env: slices.Concat(env, agentEnv, ownSandboxesEnv(&s.launch.Spec), s.loginEnv(res), res.command.Env, s.launch.Env), Dir: res.workdir(), Files: files,
		Nproc: uint64(max(processes, 0)), Authority: s.policy.authority(), SSHAgent: agent,
	}
	if spec := s.launch.Spec.Sandbox; spec != nil {
		begin.Account, begin.Dir = accountOf(spec), spec.Dir
		return begin
	}
	begin.Baseline = res.workspace.AgentHead
	return begin
}

// loginEnv returns the variable with the key of the user's account, if the agent uses its
// vendor's servers. What the user sets for this session comes later and overrides it.
func (s *sandbox) loginEnv(res *resources) []string {
	if s.launch.Login == "" || !res.agent.Info().UsesCloud(s.launch.Spec.Inference) {
		return nil
	}
	return []string{s.launch.Login}
}

// lineFault explains an error of the lifeline during the start. The sandbox was killed or
// stopped, unless the start was canceled.
func lineFault(ctx context.Context, doing string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return fault.New(fault.Environment, "the sandbox ended or stopped answering before the agent ran (%s: %w)", doing, err).
		Hint("the machine may have run out of memory, or something killed the sandbox; `aibox doctor` checks Docker and runsc")
}

// prove runs the probes in the sandbox. A probe with an unexpected result is an error,
// returned with all results.
func (s *sandbox) prove(ctx context.Context, res *resources) ([]probe.Result, error) {
	done := s.report.step(probesStage)
	plan := ProbePlan(&s.launch.Spec, res.model.server != nil, res.network, hostAddress())
	var ended func(int, probe.Result)
	if s.launch.ReportProbes {
		for _, p := range plan.Probes {
			s.report.probe(p.Pending(), false)
		}
		ended = func(_ int, result probe.Result) { s.report.probe(result, true) }
	}
	results, err := s.line.Probe(ctx, plan, ended)
	if err != nil {
		return nil, lineFault(ctx, "probing the sandbox", err)
	}
	failed := probe.Failed(results)
	if len(failed) > 0 {
		refusal := fault.New(fault.Refused, "%d of %d probes failed, so the agent was not started", len(failed), len(results))
		for _, f := range failed {
			refusal = refusal.Hint("%s (%s): %s, %s", f.Name, f.Target, f.Detail, f.Want.Must())
		}
		return results, refusal.Hint("`aibox doctor --probe` shows them all")
	}
	done(fmt.Sprintf("%d of %d passed", len(results), len(results)))
	return results, nil
}
