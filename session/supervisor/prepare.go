package supervisor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"strings"

	"aibox/agents"
	"aibox/agents/spec"
	"aibox/audit"
	"aibox/internal/amount"
	"aibox/internal/diskuse"
	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/netguard"
	"aibox/runtime"
	"aibox/session"
	"aibox/session/manager"
	"aibox/workspace"
)

// resources holds the parts from which a session's sandbox is made.
type resources struct {
	agent          agents.Agent
	docker         daemon
	network        runtime.Network
	awaitSockets   func() (manager.Sockets, error)      // waits until the network's bridge is closed
	sockets        manager.Sockets                      // set by awaitSockets
	awaitProcess   func() (runtime.Process, error)      // waits until the daemon reports that the sandbox runs
	kernel         string                               // version of the sandbox's kernel, as its PID 1 reported it
	state          []string                             // the agent's state folders on the host
	volumes        []string                             // folders of volumes on the host that the sandbox can write to
	volumesLimit   *limitedFolders                      // of volumes, measured before a program runs; nil without one
	folder         string                               // the workspace's folder, which exists but may not be filled yet
	awaitWorkspace func() (*workspace.Workspace, error) // waits until it is filled
	workspace      *workspace.Workspace                 // set by awaitWorkspace
	workspaceUse   diskuse.Usage                        // size of the workspace at the start; set before awaitWorkspace returns
	model          modelServer
	command        agents.Invocation
}

// daemon is a container daemon with the guard of its networks.
type daemon struct {
	manager.Docker
	guard manager.Guard
}

func openDaemon(ctx context.Context, deps manager.Deps) (daemon, error) {
	docker, err := deps.Docker(ctx)
	if err != nil {
		return daemon{}, err
	}
	guard, err := docker.Guard(ctx)
	return daemon{docker, guard}, err
}

// preparation prepares a session before its sandbox starts.
type preparation struct {
	*modelWatch
	policy *policy
	docker func() (daemon, error) // waits for the daemon
}

// prepare prepares workspace, network and inference concurrently, because they wait for
// different things: the disk, the kernel, a server. When it returns, the network is still
// being closed and the workspace still being filled: the sandbox's start waits for the
// network, and the agent's start for the workspace.
func (s *preparation) prepare(working context.Context) (*resources, error) {
	ctx, cancel := context.WithCancel(working)
	defer cancel()
	res := new(resources)
	var err error
	if res.agent, err = s.configuredAgent(); err != nil {
		return nil, err
	}
	if err := s.policy.start(); err != nil {
		return nil, err
	}
	if spec := &s.launch.Spec; spec.Mode() == netguard.Public || len(spec.CloudHosts) > 0 {
		for _, text := range spec.ReachNotices() {
			s.postNotice(text)
		}
	}
	network := async(func() (*resources, error) { return s.network(ctx, working) })
	inference := async(func() (modelServer, error) { return s.inference(ctx, working, res.agent) })
	wsErr := s.beginWorkspace(working, res)
	if wsErr != nil {
		cancel()
	}
	n, netErr := network()
	m, modelErr := inference()
	if err := firstCause(wsErr, netErr, modelErr); err != nil {
		return nil, err
	}
	res.model, res.docker, res.network, res.awaitSockets = m, n.docker, n.network, n.awaitSockets
	output := agents.OutputOf(res.agent, s.task(res, agents.Inference{}))
	err = s.save(func(st *session.State) {
		st.Network, st.Output = &n.network, output
		if s.launch.Spec.Interactive {
			st.Terminal = session.TerminalSize(s.launch.Size)
		}
	})
	if err != nil {
		return nil, err
	}
	if err := res.model.err(); err != nil {
		return nil, err
	}
	// The command is built once and discarded, so that an invalid task is detected before a
	// sandbox is created.
	_, err = s.invocation(res, res.model.preview(s.launch.Spec.Model))
	return res, err
}

// invocation returns the agent's command line for a model.
func (s *preparation) invocation(res *resources, inference agents.Inference) (agents.Invocation, error) {
	return res.agent.Command(s.task(res, inference))
}

// task returns the agent's task with a model.
func (s *preparation) task(res *resources, inference agents.Inference) agents.Task {
	asked := s.launch.Spec
	return agents.Task{
		Prompt: asked.Task(), Args: asked.Args, Interactive: asked.Interactive, Workdir: res.workdir(), Root: sandboxWorkdir,
		Resume:       asked.Continues() != "" && s.hasConversation(res.agent.Info().StateDirs),
		Instructions: instructions(asked),
		MCP:          ownServers(&asked),
		Inference:    inference,
	}
}

// async runs f in a goroutine and returns a function that waits for it.
func async[T any](f func() (T, error)) (wait func() (T, error)) {
	var value T
	var err error
	done := make(chan struct{})
	go func() { defer close(done); value, err = f() }()
	return func() (T, error) { <-done; return value, err }
}

// unlessCanceled calls wait, and returns earlier if ctx ends.
func unlessCanceled[T any](ctx context.Context, wait func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := wait()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// firstCause returns the first error that is not a cancellation caused by another error.
func firstCause(errs ...error) error {
	var canceled error
	for _, err := range errs {
		switch {
		case errors.Is(err, context.Canceled):
			canceled = err
		case err != nil:
			return err
		}
	}
	return canceled
}

// checkCloud refuses an agent that needs its vendor's servers and cannot reach them.
func checkCloud(info agents.Info, spec *session.Spec) error {
	switch {
	case !info.UsesCloud(spec.Inference):
		return nil
	case !spec.Mode().HasProxy():
		return fault.New(fault.Refused, "%s talks to its vendor's servers, and the network policy %s has no way out of the sandbox", info.Title, spec.Network).
			Hint("use --network allowlist")
	case len(spec.CloudHosts) == 0:
		return fault.New(fault.Refused, "%s talks to its vendor's servers, which you have not accepted", info.Title)
	default:
		return info.CheckCloud()
	}
}

// configuredAgent returns the agent with the user's options.
func (s *preparation) configuredAgent() (agents.Agent, error) {
	if s.launch.Spec.IsSandbox() {
		return &agents.None{}, nil
	}
	agent, err := s.deps.Agents.Find(s.launch.Spec.Agent)
	if err != nil {
		return nil, err
	}
	if err := checkCloud(agent.Info(), &s.launch.Spec); err != nil {
		return nil, err
	}
	options := agents.Options(agent)
	fields, err := spec.Of(options)
	if err != nil {
		return nil, err
	}
	values := maps.Clone(s.launch.Spec.Options)
	if values == nil {
		values = map[string]string{}
	}
	maps.Copy(values, s.launch.Secrets)
	for key, value := range values {
		field, err := spec.Find(fields, key)
		if err != nil {
			return nil, err
		}
		if err := field.Set(options, value); err != nil {
			return nil, err
		}
	}
	return agent, nil
}

// beginWorkspace returns when the workspace's folder exists; the folder is filled in the
// background.
func (s *preparation) beginWorkspace(ctx context.Context, res *resources) error {
	if s.launch.Spec.IsSandbox() { // a sandbox has none
		res.awaitWorkspace = func() (*workspace.Workspace, error) { return nil, nil } //nolint:nilnil // see above
		return nil
	}
	if s.launch.Spec.Resumes != "" {
		ws, err := s.takeOver(ctx, res.agent.Info().Scratch)
		if err != nil {
			res.awaitWorkspace = func() (*workspace.Workspace, error) { return nil, err }
			return err
		}
		res.folder, res.awaitWorkspace = ws.Path, async(func() (*workspace.Workspace, error) { s.measureWorkspace(res, ws); return ws, nil })
		return nil
	}
	if s.launch.Spec.Forks != "" { // undone after the workspace, so that nothing is still being copied
		s.onUndo(func(ctx context.Context) error { return manager.New(s.deps.Deps).UndoFork(ctx, s.id) })
	}
	folder := make(chan string, 1)
	res.awaitWorkspace = async(func() (*workspace.Workspace, error) {
		defer close(folder)
		ws, err := s.makeWorkspace(ctx, res, func(path string) { folder <- path })
		if err == nil {
			s.measureWorkspace(res, ws)
		}
		return ws, err
	})
	s.onUndo(func(ctx context.Context) error {
		ws, err := res.awaitWorkspace()
		if err != nil { // already reported, and Prepare has cleaned up, except after a canceled git
			if made := s.state().Workspace; made != nil {
				if err := workspace.RemoveTorn(made.GitDir); err != nil && !errors.Is(err, workspace.ErrBusy) {
					return err
				}
			}
			return nil
		}
		if s.launch.Spec.Verifies != nil {
			return workspace.Remove(ctx, ws)
		}
		return workspace.Undo(ctx, ws)
	})
	if res.folder = <-folder; res.folder != "" {
		return nil
	}
	_, err := res.awaitWorkspace()
	return err
}

// makeWorkspace makes the workspace, and passes its path to made when it exists.
func (s *preparation) makeWorkspace(ctx context.Context, res *resources, made func(path string)) (*workspace.Workspace, error) {
	switch spec := &s.launch.Spec; {
	case spec.Verifies != nil:
		return s.copyWorkspace(ctx, made)
	case spec.Forks != "":
		return s.forkWorkspace(ctx, res.agent.Info().Scratch, made)
	}
	return s.prepareWorkspace(ctx, res.agent.Info().Scratch, made)
}

// measureWorkspace measures the size of the workspace before the agent starts, if its
// growth is limited. Content that cannot be measured counts as growth.
func (s *preparation) measureWorkspace(res *resources, ws *workspace.Workspace) {
	if s.launch.Spec.Disk == 0 {
		return
	}
	var err error
	res.workspaceUse, err = diskuse.Of([]string{ws.Path}, diskuse.Limits{Bytes: math.MaxInt64, Entries: math.MaxInt})
	if err != nil {
		fmt.Fprintln(os.Stderr, "measuring the workspace:", err)
	}
}

// saveWorkspace stores a workspace in the record before its folder exists, and passes its
// path to made when the folder exists.
func (s *preparation) saveWorkspace(made func(path string)) workspace.Observer {
	return workspace.Observer{
		Record: func(begun workspace.Workspace) error {
			return s.save(func(st *session.State) { st.Workspace = &begun })
		},
		Made: made,
	}
}

// prepareWorkspace makes the workspace, and passes its path to made when it exists.
// scratch are the agent's own folders in it.
func (s *preparation) prepareWorkspace(ctx context.Context, scratch []string, made func(path string)) (*workspace.Workspace, error) {
	done := s.report.step("workspace")
	spec := s.launch.Spec
	ws, err := workspace.Prepare(ctx, workspace.Request{
		Repo: spec.Repository, Branch: spec.Branch, Clean: spec.Clean, Hide: spec.Hide, ReadOnly: spec.ReadOnly,
		Scratch: scratch, Session: string(s.id), Dirs: s.deps.Dirs,
		Observer: s.saveWorkspace(made),
	})
	if err != nil {
		return nil, err
	}
	if err := s.save(func(st *session.State) { st.Workspace = ws }); err != nil {
		return nil, errors.Join(err, workspace.Undo(ctx, ws))
	}
	s.audit(audit.WorkspacePrepared, map[string]any{
		"path": ws.Path, "head": ws.Head, "base_tree": ws.BaseTree, "files": ws.Files, "bytes": ws.Bytes, "hidden": ws.HiddenFiles,
	})
	detail := fmt.Sprintf("%s, %s", ws.Path, amount.Of(ws.Files, "file"))
	if len(ws.Hidden) > 0 {
		detail += ", " + hiddenFiles(ws)
	}
	if ws.Start != "" {
		detail += ", starts in " + termtext.Escape(ws.Start)
	}
	done(strings.Join(append([]string{detail}, ws.Notes...), "; "))
	if len(ws.Unmatched) > 0 {
		s.report.warn("workspace", fmt.Sprintf("no file here matches the hide patterns %s (they are as in .gitignore)", codeList(ws.Unmatched)))
	}
	if len(ws.UnmatchedReadOnly) > 0 {
		s.report.warn("workspace", fmt.Sprintf("no file here matches the read-only patterns %s (they are as in .gitignore)", codeList(ws.UnmatchedReadOnly)))
	}
	return ws, nil
}

// maxNamedHidden is the maximum number of hidden files that the workspace step names.
const maxNamedHidden = 3

// hiddenFiles describes the hidden files: their number and the first names.
func hiddenFiles(ws *workspace.Workspace) string {
	named := ws.Hidden[:min(len(ws.Hidden), maxNamedHidden)]
	words := strings.Join(named, ", ")
	if more := ws.HiddenFiles - len(named); more > 0 {
		words += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%d hidden (%s)", ws.HiddenFiles, words)
}

// network takes a bridge from the pool and starts to close it, which continues until
// awaitSockets returns or guarding ends.
func (s *preparation) network(ctx, guarding context.Context) (*resources, error) {
	done := s.report.step("network")
	docker, err := unlessCanceled(ctx, s.docker)
	if err != nil {
		return nil, err
	}
	if err := s.checkDaemonLimits(ctx, docker.Backend); err != nil {
		return nil, err
	}
	network, err := docker.Networks.Acquire(ctx, string(s.id))
	if err != nil {
		return nil, fmt.Errorf("taking a network: %w", err)
	}
	s.onUndo(func(ctx context.Context) error { return docker.Networks.Release(ctx, network) })
	guarded := async(func() (manager.Sockets, error) {
		sockets, err := s.closeNetwork(guarding, docker.guard, network.Bridge)
		if err == nil {
			done(s.launch.Spec.Reach())
		}
		return sockets, err
	})
	s.onUndo(func(ctx context.Context) error {
		sockets, err := guarded()
		if err != nil {
			return nil //nolint:nilerr // reported already, and nothing was made
		}
		return errors.Join(sockets.Close(), docker.guard.Release(ctx, network.Bridge))
	})
	return &resources{docker: docker, network: network, awaitSockets: guarded}, nil
}

// closeNetwork closes a bridge to everything but the session's sockets.
func (s *preparation) closeNetwork(ctx context.Context, guard manager.Guard, bridge string) (manager.Sockets, error) {
	policy := s.launch.Spec.Mode()
	sockets, err := guard.Guard(ctx, bridge, s.launch.Spec.TCPPorts(), policy.UDPPorts())
	if err != nil {
		return nil, fault.New(fault.Refused, "the network could not be closed, so nothing was started: %w", err).
			Hint("`aibox netguard status` shows which locks are missing")
	}
	s.audit(audit.NetworkGuarded, map[string]any{"bridge": bridge, "policy": policy, "tcp": s.launch.Spec.TCPPorts(), "udp": policy.UDPPorts()})
	return sockets, nil
}
