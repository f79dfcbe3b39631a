package server

import (
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/netmode"
	"aibox/app/sandbox"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/session"
)

// toTime returns a time of the schema; nil for the zero time.
func toTime(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// fromDuration returns a duration of the schema.
func fromDuration(field string, d *durationpb.Duration) (time.Duration, error) {
	if d == nil {
		return 0, nil
	}
	if err := d.CheckValid(); err != nil || d.AsDuration() < 0 {
		return 0, fault.New(fault.Usage, "%s is not a length of time that is 0 or more", field)
	}
	return d.AsDuration(), nil
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
		ModelServer: s.Network.Model, Degraded: s.Degraded,
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

func fromPermissions(p *aiboxv1.Permissions) (out session.Permissions) {
	if p == nil {
		return out
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
	return out
}

func toNetwork(n *sandbox.Network) *aiboxv1.NetworkPolicy {
	out := &aiboxv1.NetworkPolicy{Allow: &aiboxv1.HostList{}, Deny: &aiboxv1.HostList{}}
	for mode, name := range netmode.Names {
		if name == n.Policy {
			out.Mode = mode
		}
	}
	for _, entry := range n.Allow {
		out.Allow.Hosts = append(out.Allow.Hosts, entry.Pattern)
	}
	for _, entry := range n.Deny {
		out.Deny.Hosts = append(out.Deny.Hosts, entry.Pattern)
	}
	return out
}

// settings collects the settings of a request.
type settings struct {
	config.RunOverrides
	err error
}

func (s *settings) set(key, value string) {
	if s.err == nil {
		s.err = s.Set(key, value)
	}
}

func (s *settings) words(key string, list *aiboxv1.HostList) {
	if s.err == nil && list != nil {
		s.err = s.SetWords(key, list.GetHosts())
	}
}

func (s *settings) duration(key, field string, d *durationpb.Duration) {
	if d == nil || s.err != nil {
		return
	}
	value, err := fromDuration(field, d)
	if s.err = err; err == nil {
		s.set(key, value.String())
	}
}

// networkMode sets the policy and the lists.
func (s *settings) network(p *aiboxv1.NetworkPolicy) {
	if p == nil {
		return
	}
	if mode := p.GetMode(); mode != aiboxv1.NetworkMode_NETWORK_MODE_UNSPECIFIED {
		name, ok := netmode.Names[mode]
		if !ok && s.err == nil {
			s.err = fault.New(fault.Usage, "%d is not a network mode", mode)
		}
		s.set("network", name)
	}
	s.words("allow", p.Allow)
	s.words("deny", p.Deny)
	if p.UploadMib != nil {
		s.set("egress-upload", strconv.FormatInt(p.GetUploadMib(), 10))
	}
	if p.DownloadMib != nil {
		s.set("egress-download", strconv.FormatInt(p.GetDownloadMib(), 10))
	}
}

func (s *settings) limits(l *aiboxv1.Limits) {
	if l == nil {
		return
	}
	if l.MemoryMib != nil {
		s.set("memory", strconv.FormatInt(l.GetMemoryMib(), 10))
	}
	if l.Cpus != nil {
		s.set("cpus", strconv.FormatFloat(l.GetCpus(), 'f', -1, 64))
	}
	if l.Processes != nil {
		s.set("pids", strconv.Itoa(int(l.GetProcesses())))
	}
}

// further sets settings by their names. One that another field sets as well contradicts it.
func (s *settings) further(given map[string]string) {
	for key, value := range given {
		if s.err == nil && s.Has(key) {
			s.err = fault.New(fault.Usage, "the setting %s is given twice, in settings and in a field of its own", key)
		}
		s.set(key, value)
	}
}

// fromCreate returns the request for a sandbox.
func fromCreate(tenant session.Tenant, m *aiboxv1.CreateSandboxRequest) (sandbox.Request, error) {
	var s settings
	s.duration("timeout", "timeout", m.GetTimeout())
	s.duration("idle-timeout", "idle_timeout", m.GetIdleTimeout())
	s.network(m.GetNetwork())
	s.limits(m.GetLimits())
	if m.GetModel() != "" {
		s.set("model", m.GetModel())
	}
	s.further(m.GetSettings())
	if s.err != nil {
		return sandbox.Request{}, s.err
	}
	r := sandbox.Request{
		Tenant: tenant, Template: m.GetTemplate(), Labels: session.Labels{Name: m.GetName(), Metadata: m.GetMetadata()},
		Env: m.GetEnv(), Settings: s.RunOverrides, Permissions: fromPermissions(m.GetPermissions()),
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

// fromFilters returns metadata from KEY=VALUE entries.
func fromFilters(entries []string) (map[string]string, error) {
	metadata := map[string]string{}
	for _, entry := range entries {
		key, value, ok := strings.Cut(entry, "=")
		if !ok || key == "" {
			return nil, fault.New(fault.Usage, "a filter for metadata is KEY=VALUE, not %q", entry)
		}
		if earlier, ok := metadata[key]; ok && earlier != value {
			return nil, fault.New(fault.Usage, "the filters for the metadata %q contradict each other", key)
		}
		metadata[key] = value
	}
	return metadata, nil
}
