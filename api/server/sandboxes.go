package server

import (
	"context"
	"maps"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/auth"
	"aibox/api/creation"
	"aibox/api/setting"
	"aibox/app/sandbox"
	"aibox/internal/fault"
	"aibox/session"
)

// sandboxes serves the service Sandboxes.
type sandboxes struct {
	cases     Sandboxes
	creations *creation.Recorder
}

func (s *sandboxes) Create(ctx context.Context, r *connect.Request[aiboxv1.CreateSandboxRequest]) (*connect.Response[aiboxv1.Sandbox], error) {
	caller := auth.From(ctx)
	if _, ok := s.cases.(Snapshotter); r.Msg.GetSnapshotId() != "" && !ok {
		return nil, &failed{failUnsupported, "sandboxes cannot be created from snapshots on this server", nil}
	}
	request, err := fromCreate(caller.Tenant, r.Msg)
	if err != nil {
		return nil, err
	}
	if setting.ChoosesNetwork(r.Msg.GetNetwork(), request.Settings) {
		if err := caller.Check(aiboxv1.Right_RIGHT_NETWORK); err != nil {
			return nil, err
		}
	}
	made, err := s.create(ctx, request, r.Msg)
	return respond(made, err)
}

func (s *sandboxes) Get(ctx context.Context, r *connect.Request[aiboxv1.GetSandboxRequest]) (*connect.Response[aiboxv1.Sandbox], error) {
	return respond(s.cases.Get(ctx, auth.From(ctx).Tenant, r.Msg.GetSandboxId()))
}

// respond returns the response that is a sandbox.
func respond(s sandbox.Sandbox, err error) (*connect.Response[aiboxv1.Sandbox], error) {
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(toSandbox(&s)), nil
}

func (s *sandboxes) List(ctx context.Context, r *connect.Request[aiboxv1.ListSandboxesRequest]) (*connect.Response[aiboxv1.ListSandboxesResponse], error) {
	metadata, err := setting.FromFilters(r.Msg.GetMetadata())
	if err != nil {
		return nil, err
	}
	filter := sandbox.Filter{Template: r.Msg.GetTemplate(), Name: r.Msg.GetName(), Metadata: metadata, Parent: session.ID(r.Msg.GetParentId())}
	for own, state := range states {
		wanted := len(r.Msg.GetStates()) == 0 && own != sandbox.Ended
		for _, given := range r.Msg.GetStates() {
			wanted = wanted || given == state
		}
		if wanted {
			filter.States = append(filter.States, own)
		}
	}
	if len(filter.States) == 0 {
		return nil, fault.New(fault.Usage, "none of the states exists")
	}
	page, err := s.cases.List(ctx, auth.From(ctx).Tenant, filter, int(r.Msg.GetPageSize()), r.Msg.GetPageToken())
	if err != nil {
		return nil, err
	}
	out := &aiboxv1.ListSandboxesResponse{NextPageToken: page.Next}
	for i := range page.Sandboxes {
		out.Sandboxes = append(out.Sandboxes, toSandbox(&page.Sandboxes[i]))
	}
	return connect.NewResponse(out), nil
}

func (s *sandboxes) Update(ctx context.Context, r *connect.Request[aiboxv1.UpdateSandboxRequest]) (*connect.Response[aiboxv1.Sandbox], error) {
	tenant := auth.From(ctx).Tenant
	var change session.SandboxChange
	if r.Msg.Timeout != nil {
		timeout, err := setting.FromDuration("timeout", r.Msg.GetTimeout())
		if err != nil {
			return nil, err
		}
		change.Timeout = &timeout
	}
	if r.Msg.IdleTimeout != nil {
		idle, err := setting.FromDuration("idle_timeout", r.Msg.GetIdleTimeout())
		if err != nil {
			return nil, err
		}
		change.IdleTimeout = &idle
	}
	change.Name = r.Msg.Name
	if r.Msg.Metadata != nil {
		entries := map[string]string{}
		maps.Copy(entries, r.Msg.GetMetadata().GetEntries())
		change.Metadata = &entries
	}
	return respond(s.cases.Update(ctx, tenant, r.Msg.GetSandboxId(), change))
}

func (s *sandboxes) Extend(ctx context.Context, r *connect.Request[aiboxv1.ExtendSandboxRequest]) (*connect.Response[aiboxv1.Sandbox], error) {
	by, err := setting.FromDuration("by", r.Msg.GetBy())
	if err == nil && by == 0 {
		err = fault.New(fault.Usage, "by must be more than 0s")
	}
	if err != nil {
		return nil, err
	}
	return respond(s.cases.Extend(ctx, auth.From(ctx).Tenant, r.Msg.GetSandboxId(), by))
}

func (s *sandboxes) Pause(ctx context.Context, r *connect.Request[aiboxv1.PauseSandboxRequest]) (*connect.Response[aiboxv1.Sandbox], error) {
	tenant := auth.From(ctx).Tenant
	pauser, ok := s.cases.(Pauser)
	if !ok {
		return nil, s.unsupported(ctx, tenant, r.Msg.GetSandboxId())
	}
	return respond(pauser.Pause(ctx, tenant, r.Msg.GetSandboxId()))
}

func (s *sandboxes) Resume(ctx context.Context, r *connect.Request[aiboxv1.ResumeSandboxRequest]) (*connect.Response[aiboxv1.Sandbox], error) {
	tenant := auth.From(ctx).Tenant
	pauser, ok := s.cases.(Pauser)
	if !ok {
		return nil, s.unsupported(ctx, tenant, r.Msg.GetSandboxId())
	}
	if r.Msg.Timeout != nil { // first, so that nothing is resumed if it is refused
		timeout, err := setting.FromDuration("timeout", r.Msg.GetTimeout())
		if err == nil {
			_, err = s.cases.Update(ctx, tenant, r.Msg.GetSandboxId(), session.SandboxChange{Timeout: &timeout})
		}
		if err != nil {
			return nil, err
		}
	}
	return respond(pauser.Resume(ctx, tenant, r.Msg.GetSandboxId()))
}

func (s *sandboxes) Snapshot(ctx context.Context, r *connect.Request[aiboxv1.SnapshotSandboxRequest]) (*connect.Response[aiboxv1.Snapshot], error) {
	tenant := auth.From(ctx).Tenant
	snapshotter, ok := s.cases.(Snapshotter)
	if !ok {
		return nil, s.unsupported(ctx, tenant, r.Msg.GetSandboxId())
	}
	var ttl time.Duration
	if r.Msg.Ttl != nil {
		var err error
		if ttl, err = setting.FromDuration("ttl", r.Msg.GetTtl()); err != nil {
			return nil, err
		}
	}
	made, err := snapshotter.Snapshot(ctx, tenant, r.Msg.GetSandboxId(), r.Msg.GetName(), ttl)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(toSnapshot(&made)), nil
}

func (s *sandboxes) ListSnapshots(ctx context.Context, r *connect.Request[aiboxv1.ListSnapshotsRequest]) (*connect.Response[aiboxv1.ListSnapshotsResponse], error) {
	out := &aiboxv1.ListSnapshotsResponse{}
	if of := r.Msg.GetSandboxId(); of != "" {
		if _, err := s.cases.Get(ctx, auth.From(ctx).Tenant, of); err != nil {
			return nil, err
		}
	}
	snapshotter, ok := s.cases.(Snapshotter)
	if !ok {
		return connect.NewResponse(out), nil // there may be none
	}
	all, err := snapshotter.ListSnapshots(ctx, auth.From(ctx).Tenant)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if of := r.Msg.GetSandboxId(); of == "" || of == string(all[i].Sandbox) {
			out.Snapshots = append(out.Snapshots, toSnapshot(&all[i]))
		}
	}
	return connect.NewResponse(out), nil
}

func (s *sandboxes) DeleteSnapshot(ctx context.Context, r *connect.Request[aiboxv1.DeleteSnapshotRequest]) (*connect.Response[emptypb.Empty], error) {
	snapshotter, ok := s.cases.(Snapshotter)
	if !ok {
		return nil, errUnsupported
	}
	if err := snapshotter.DeleteSnapshot(ctx, auth.From(ctx).Tenant, r.Msg.GetSnapshotId()); err != nil {
		return nil, err
	}
	return connect.NewResponse(&emptypb.Empty{}), nil
}

// unsupported returns the error for an unsupported call, or the one for a missing sandbox.
func (s *sandboxes) unsupported(ctx context.Context, tenant session.Tenant, id string) error {
	if _, err := s.cases.Get(ctx, tenant, id); err != nil {
		return err
	}
	return errUnsupported
}

func (s *sandboxes) Metrics(ctx context.Context, r *connect.Request[aiboxv1.SandboxMetricsRequest]) (*connect.Response[aiboxv1.SandboxMetrics], error) {
	m, err := s.cases.Metrics(ctx, auth.From(ctx).Tenant, r.Msg.GetSandboxId())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&aiboxv1.SandboxMetrics{
		Time: toTime(m.Measured), CpuTime: durationpb.New(time.Duration(m.CPUSeconds * float64(time.Second))), Cpus: m.CPU / 100,
		MemoryBytes: m.Memory, MemoryLimitBytes: m.MemoryLimit, Processes: int32(m.Processes), RefusedAccesses: int64(m.Refused),
		UploadBytes: m.Egress.Up, DownloadBytes: m.Egress.Down, DiskBytes: m.Disk,
		InputTokens: int64(m.Tokens.Input), OutputTokens: int64(m.Tokens.Output),
	}), nil
}

func (s *sandboxes) Destroy(ctx context.Context, r *connect.Request[aiboxv1.DestroySandboxRequest]) (*connect.Response[emptypb.Empty], error) {
	if err := s.cases.Destroy(ctx, auth.From(ctx).Tenant, r.Msg.GetSandboxId()); err != nil {
		return nil, err
	}
	return connect.NewResponse(&emptypb.Empty{}), nil
}
