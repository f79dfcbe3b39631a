package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/internal/lifeline"
	"aibox/session"
	"aibox/session/process"
)

// userRoot is the default user of sandboxes.
const userRoot = "root"

// startIdle prepares a sandbox without an agent, and returns when processes can be started in
// it.
func (s *sandbox) startIdle(ctx context.Context, begin lifeline.Start) error {
	spec := s.launch.Spec.Sandbox
	// The event comes first, like that of an agent.
	s.audit(audit.AgentStarted, map[string]any{"agent": s.launch.Spec.Agent, "tenant": spec.Tenant, "template": spec.Template, "user": spec.User})
	started, err := s.line.StartIdle(ctx, begin)
	if err != nil {
		return lineFault(ctx, "preparing the sandbox", err)
	}
	s.agentFolder = begin.Dir
	if s.agentFolder == "" {
		s.agentFolder = started.Home
	}
	return nil
}

// accountOf returns the user of a sandbox with its file access; nil if it is root.
func accountOf(spec *session.SandboxSpec) *lifeline.Account {
	if spec.User == userRoot {
		return nil
	}
	files := &spec.Permissions.Files
	account := &lifeline.Account{Name: spec.User, Hidden: files.Hidden, Confine: files.Write != nil}
	for _, mount := range spec.Volumes {
		if !mount.ReadOnly {
			account.Folders = append(account.Folders, mount.Path)
		}
	}
	account.Folders = append(account.Folders, files.Write...)
	return account
}

// userOf returns the user of the sandbox for a request of a client: to start a process, to copy a
// tree, or to access files. It refuses a user that the permissions of a sandbox do not allow. A
// request that names no user is for the sandbox's user. spec is nil in a session with an agent,
// whose requests can be for any user.
func userOf(spec *session.SandboxSpec, requested string) (string, error) {
	switch {
	case spec == nil:
		return requested, nil
	case requested == "" || requested == spec.User:
		return spec.User, nil
	case !spec.Permissions.Root:
		return "", fault.New(fault.Refused, "the permissions of this sandbox allow processes and files only as %s, not as %q", spec.User, requested).
			Hint("create the sandbox with the permission root")
	default:
		return requested, nil
	}
}

// nproc returns the limit of processes of one user of the sandbox; 0 means none.
func nproc(spec *session.Spec) uint64 {
	limit, _ := spec.ProcessShares()
	limit = max(limit, 0)
	if spec.Sandbox != nil {
		if own := spec.Sandbox.Permissions.Processes.Max; own > 0 && (limit == 0 || own < limit) {
			limit = own
		}
	}
	return uint64(limit)
}

// startServices starts the programs of the template. If one cannot be started, the sandbox
// ends, because it would be useless.
func (s *supervisor) startServices(ctx context.Context) {
	if !s.launch.Spec.IsSandbox() || s.restored != nil { // restored services continue, or have ended
		return
	}
	for _, service := range s.launch.Spec.Sandbox.Services {
		_, err := s.processes.Start(ctx, process.Request{Argv: service.Argv, Overflow: process.Drop})
		switch {
		case err == nil:
		case errors.Is(err, context.Canceled), s.isEnding():
			return
		default:
			fmt.Fprintln(os.Stderr, "starting the template's program:", err)
			s.end(fault.New(fault.Environment, "the template's program %q could not be started: %w", service.Argv[0], err))
			return
		}
	}
}
