package supervisor

import (
	"context"
	"crypto/subtle"
	"strings"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/internal/lifeline"
	"aibox/runtime"
	"aibox/session/snapshot"
)

// openSnapshot finds and checks the snapshot that the sandbox continues from, if there is
// one, and adds it to the definition of the sandbox.
func (s *sandbox) openSnapshot(ctx context.Context, res *resources, spec *runtime.Spec) error {
	own := s.launch.Spec.Sandbox
	if own == nil || own.Snapshot == "" {
		return nil
	}
	done := s.report.step("snapshot")
	info, err := res.docker.Backend.Info(ctx)
	if err != nil {
		return err
	}
	facts, err := snapshot.FactsOf(info, spec.Init)
	if err != nil {
		return err
	}
	opened, err := snapshot.NewStore(s.deps.Dirs).Open(ctx, s.launch.ImageID, &s.launch.Spec, facts)
	if err != nil {
		return err
	}
	s.restored = opened
	s.onUndo(s.closeSnapshot)
	spec.Checkpoint = opened.State
	done("the digests of its files are right")
	return nil
}

// checkProof refuses a connection that is not from PID 1 of the requested sandbox: a
// restored sandbox already has processes, but only PID 1 knows the proof. In a newly
// started sandbox PID 1 has no proof.
func (s *sandbox) checkProof(hello lifeline.Hello) error {
	var want []byte
	if s.restored != nil {
		want = s.restored.Proof
	}
	if subtle.ConstantTimeCompare(hello.Proof, want) == 1 && (s.restored == nil || len(want) == lifeline.ProofSize) {
		return nil
	}
	return fault.New(fault.Refused, "the sandbox did not continue from its snapshot, or something else in it connected")
}

// continueRestored sends PID 1 of a restored sandbox its new identity, and continues its
// processes. The probes have passed.
func (s *sandbox) continueRestored(ctx context.Context, begin lifeline.Start) error {
	spec := s.launch.Spec.Sandbox
	s.audit(audit.AgentStarted, map[string]any{"agent": s.launch.Spec.Agent, "tenant": spec.Tenant, "template": spec.Template, "user": spec.User})
	request := lifeline.Restore{Env: begin.Env, Files: begin.Files}
	if !s.launch.Spec.Mode().HasProxy() {
		request.Unset = names(proxyEnv())
	}
	flows := make([]uint32, 0, len(s.restored.Processes))
	for _, p := range s.restored.Processes {
		flows = append(flows, p.Flow)
	}
	restored, live, err := s.line.Restore(ctx, request, flows)
	if err != nil {
		return lineFault(ctx, "continuing the sandbox", err)
	}
	s.agentFolder = begin.Dir
	if s.agentFolder == "" {
		s.agentFolder = restored.Home
	}
	adopted := s.adoptProcesses(s.line, s.restored.Processes, live)
	s.audit(audit.SandboxRestored, map[string]any{
		"snapshot": s.restored.ID, "sandbox": s.restored.Sandbox, "taken": s.restored.Created, "processes": adopted,
	})
	return nil
}

// names returns the names of variables.
func names(env []string) []string {
	all := make([]string, 0, len(env))
	for _, setting := range env {
		name, _, _ := strings.Cut(setting, "=")
		all = append(all, name)
	}
	return all
}
