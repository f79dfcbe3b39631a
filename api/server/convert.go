package server

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/setting"
	"aibox/app/sandbox"
	"aibox/internal/fault"
	"aibox/netguard"
	"aibox/session"
	"aibox/session/snapshot"
)

// toTime returns a time of the schema; nil for the zero time.
func toTime(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// states are the states of sandboxes in the schema.
var states = map[sandbox.State]aiboxv1.SandboxState{
	sandbox.Creating: aiboxv1.SandboxState_SANDBOX_STATE_STARTING,
	sandbox.Running:  aiboxv1.SandboxState_SANDBOX_STATE_RUNNING,
	sandbox.Paused:   aiboxv1.SandboxState_SANDBOX_STATE_PAUSED,
	sandbox.Ending:   aiboxv1.SandboxState_SANDBOX_STATE_ENDING,
	sandbox.Ended:    aiboxv1.SandboxState_SANDBOX_STATE_ENDED,
}

// toSandbox returns a sandbox of the schema.
func toSandbox(s *sandbox.Sandbox) *aiboxv1.Sandbox {
	out := &aiboxv1.Sandbox{
		SandboxId: string(s.ID), Name: s.Name, Template: s.Template, State: states[s.State], Metadata: s.Metadata,
		CreateTime: toTime(s.Created), ExpireTime: toTime(s.Expires), EndTime: toTime(s.Ended),
		OnTimeout: aiboxv1.OnTimeout_ON_TIMEOUT_DESTROY, Network: toNetwork(&s.Network), Limits: toLimits(s.Limits),
		Permissions: toPermissions(&s.Permissions), Image: string(s.ImageID), User: s.User, Dir: s.Dir,
		ModelServer: s.Network.Model, Degraded: s.Degraded, SnapshotId: s.Snapshot, ParentId: string(s.Parent), Warm: s.Warm,
	}
	if s.OnTimeout == session.Pause {
		out.OnTimeout = aiboxv1.OnTimeout_ON_TIMEOUT_PAUSE
	}
	if s.IdleTimeout > 0 {
		out.IdleTimeout = durationpb.New(s.IdleTimeout)
	}
	if s.Failure != nil {
		out.EndReason = s.Failure.Message
	}
	for _, mount := range s.Volumes {
		out.Volumes = append(out.Volumes, &aiboxv1.VolumeMount{Volume: mount.Volume, Path: mount.Path, ReadOnly: mount.ReadOnly})
	}
	return out
}

// toSnapshot returns a snapshot of the schema. It contains nothing from the snapshot's
// files and memory.
func toSnapshot(s *snapshot.Snapshot) *aiboxv1.Snapshot {
	return &aiboxv1.Snapshot{
		SnapshotId: s.ID, SandboxId: string(s.Sandbox), Name: s.Name, CreateTime: toTime(s.Created), SizeBytes: s.Bytes,
		Template: s.Spec.Sandbox.Template, ExpireTime: toTime(s.Expires),
	}
}

func toLimits(l sandbox.Limits) *aiboxv1.Limits {
	memory, cpus, processes := l.Memory>>20, l.CPUs, int32(l.Processes)
	return &aiboxv1.Limits{MemoryMib: &memory, Cpus: &cpus, Processes: &processes}
}

func toPermissions(p *session.Permissions) *aiboxv1.Permissions {
	out := &aiboxv1.Permissions{Root: p.Root, NoChildProcesses: p.Processes.NoChildren, MaxProcesses: int32(p.Processes.Max)}
	if p.Files.Write != nil {
		out.Write = &aiboxv1.PatternList{Patterns: p.Files.Write}
	}
	if p.Files.Hidden != nil {
		out.Hidden = &aiboxv1.PatternList{Patterns: p.Files.Hidden}
	}
	if p.Inbound != nil {
		out.InboundPorts = &aiboxv1.PortList{}
		for _, port := range p.Inbound {
			out.InboundPorts.Ports = append(out.InboundPorts.Ports, uint32(port))
		}
	}
	return out
}

// fromPermissions returns the permissions of a sandbox. It refuses those that nothing outside
// of the sandbox's code could enforce.
func fromPermissions(p *aiboxv1.Permissions) (out session.Permissions, err error) {
	switch {
	case p == nil:
		return out, nil
	case p.Read != nil:
		return out, fault.New(fault.Refused, "a list of files that code can read cannot be enforced: every program reads the libraries and settings of its image").
			Hint("name the files that it cannot read, in hidden")
	case p.Programs != nil:
		return out, fault.New(fault.Refused, "a list of programs that code can run cannot be enforced: an interpreter or the dynamic linker runs any program that can be read").
			Hint("use no_child_processes, with which a process cannot start others")
	}
	out.Root, out.Processes.NoChildren, out.Processes.Max = p.GetRoot(), p.GetNoChildProcesses(), int(p.GetMaxProcesses())
	if p.Write != nil {
		out.Files.Write = append([]string{}, p.Write.GetPatterns()...)
	}
	out.Files.Hidden = p.GetHidden().GetPatterns()
	if p.InboundPorts != nil {
		out.Inbound = []int{}
		for _, port := range p.InboundPorts.GetPorts() {
			out.Inbound = append(out.Inbound, int(port))
		}
	}
	return out, nil
}

func toNetwork(n *sandbox.Network) *aiboxv1.NetworkPolicy {
	out := &aiboxv1.NetworkPolicy{Mode: setting.ToMode(n.Policy), Allow: &aiboxv1.HostList{}, Deny: &aiboxv1.HostList{}}
	for _, entry := range n.Allow {
		out.Allow.Hosts = append(out.Allow.Hosts, entry.Pattern)
	}
	for _, entry := range n.Deny {
		out.Deny.Hosts = append(out.Deny.Hosts, entry.Pattern)
	}
	if mode, err := netguard.ParseMode(n.Policy); err == nil && mode.HasProxy() {
		out.UploadMib, out.DownloadMib = &n.Upload, &n.Download
		out.UploadMibPerHost, out.DownloadMibPerHost = &n.UploadPerHost, &n.DownloadPerHost
	}
	return out
}

// fromCreate returns the request for a sandbox.
func fromCreate(tenant session.Tenant, m *aiboxv1.CreateSandboxRequest) (sandbox.Request, error) {
	var s setting.Reader
	s.Duration("timeout", "timeout", m.GetTimeout())
	s.Duration("idle-timeout", "idle_timeout", m.GetIdleTimeout())
	s.Network(m.GetNetwork())
	s.Limits(m.GetLimits())
	s.Text("model", m.GetModel())
	s.Further(m.GetSettings())
	settings, err := s.Result()
	if err != nil {
		return sandbox.Request{}, err
	}
	permissions, err := fromPermissions(m.GetPermissions())
	if err != nil {
		return sandbox.Request{}, err
	}
	r := sandbox.Request{
		Tenant: tenant, Template: m.GetTemplate(), Labels: session.Labels{Name: m.GetName(), Metadata: m.GetMetadata()},
		Snapshot: m.GetSnapshotId(), Env: m.GetEnv(), Settings: settings, Permissions: permissions,
	}
	switch m.GetOnTimeout() {
	case aiboxv1.OnTimeout_ON_TIMEOUT_UNSPECIFIED, aiboxv1.OnTimeout_ON_TIMEOUT_DESTROY:
	case aiboxv1.OnTimeout_ON_TIMEOUT_PAUSE:
		r.OnTimeout = session.Pause
	default:
		return sandbox.Request{}, fault.New(fault.Usage, "on_timeout %d is unknown", m.GetOnTimeout())
	}
	for _, mount := range m.GetVolumes() {
		r.Volumes = append(r.Volumes, session.VolumeMount{Volume: mount.GetVolume(), Path: mount.GetPath(), ReadOnly: mount.GetReadOnly()})
	}
	return r, nil
}
