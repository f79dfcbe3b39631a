package server

import (
	"context"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/emptypb"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/auth"
	"aibox/api/openapi"
	"aibox/api/setting"
	"aibox/api/store"
	"aibox/internal/fault"
	"aibox/session"
)

// info serves the service Server.
type info struct {
	quotas  Quotas
	version string
}

func (i *info) Get(ctx context.Context, _ *connect.Request[aiboxv1.GetServerRequest]) (*connect.Response[aiboxv1.ServerInfo], error) {
	caller := auth.From(ctx)
	out := &aiboxv1.ServerInfo{Version: i.version, Tenant: string(caller.Tenant), Rights: caller.Rights, TokenExpireTime: toTime(caller.Expires)}
	if i.quotas != nil {
		quota, err := i.quotas.Quota(ctx, caller.Tenant)
		if err != nil {
			return nil, err
		}
		usage, err := i.quotas.Usage(ctx, caller.Tenant)
		if err != nil {
			return nil, err
		}
		out.Quota, out.Usage = toQuota(quota), toQuota(usage)
	}
	return connect.NewResponse(out), nil
}

func toQuota(q store.Quota) *aiboxv1.Quota {
	return &aiboxv1.Quota{
		Sandboxes: q.Sandboxes, MemoryMib: q.Memory, Cpus: q.CPUs, Processes: q.Processes,
		UploadBytes: q.UploadBytes, ModelTokens: q.Tokens, DiskMib: q.Disk, SnapshotBytes: q.Snapshots,
	}
}

// serveOpenAPI serves the OpenAPI document.
func serveOpenAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(openapi.Document)
}

// network serves the service Network.
type network struct{ cases Sandboxes }

func (n *network) Get(ctx context.Context, r *connect.Request[aiboxv1.GetNetworkRequest]) (*connect.Response[aiboxv1.NetworkPolicy], error) {
	found, err := n.cases.Network(ctx, auth.From(ctx).Tenant, r.Msg.GetSandboxId())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(toNetwork(&found)), nil
}

func (n *network) Set(ctx context.Context, r *connect.Request[aiboxv1.SetNetworkRequest]) (*connect.Response[aiboxv1.NetworkPolicy], error) {
	tenant, policy := auth.From(ctx).Tenant, r.Msg.GetPolicy()
	now, err := n.cases.Network(ctx, tenant, r.Msg.GetSandboxId())
	switch mode := policy.GetMode(); {
	case err != nil:
		return nil, err
	case policy == nil:
		return nil, fault.New(fault.Usage, "the policy is missing")
	case mode != aiboxv1.NetworkMode_NETWORK_MODE_UNSPECIFIED && setting.Modes[mode] != now.Policy:
		return nil, fault.New(fault.Usage, "the mode of a sandbox cannot change from %s while it runs", now.Policy).Hint("create a sandbox with that mode")
	case differs(policy.UploadMib, now.Upload) || differs(policy.DownloadMib, now.Download) ||
		differs(policy.UploadMibPerHost, now.UploadPerHost) || differs(policy.DownloadMibPerHost, now.DownloadPerHost):
		return nil, fault.New(fault.Usage, "the bounds of traffic cannot change while a sandbox runs")
	}
	var lists session.NetworkLists
	if policy.Allow != nil {
		allow := append([]string{}, policy.GetAllow().GetHosts()...)
		lists.Allow = &allow
	}
	if policy.Deny != nil {
		deny := append([]string{}, policy.GetDeny().GetHosts()...)
		lists.Deny = &deny
	}
	found, err := n.cases.SetNetwork(ctx, tenant, r.Msg.GetSandboxId(), lists)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(toNetwork(&found)), nil
}

// differs reports whether a bound is given that differs from the present one.
func differs(given *int64, now int64) bool { return given != nil && *given != now }

func (n *network) Explain(ctx context.Context, r *connect.Request[aiboxv1.ExplainNetworkRequest]) (*connect.Response[aiboxv1.ExplainNetworkResponse], error) {
	tenant := auth.From(ctx).Tenant
	explainer, ok := n.cases.(Explainer)
	if !ok {
		if _, err := n.cases.Get(ctx, tenant, r.Msg.GetSandboxId()); err != nil {
			return nil, err
		}
		return nil, errUnsupported
	}
	port := int(r.Msg.GetPort())
	if port == 0 {
		port = 443
	}
	allowed, reason, rule, err := explainer.Explain(ctx, tenant, r.Msg.GetSandboxId(), r.Msg.GetHost(), port)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&aiboxv1.ExplainNetworkResponse{Allowed: allowed, Reason: reason, Rule: rule}), nil
}

// volumes serves the service Volumes.
type volumes struct{ cases Sandboxes }

func (v *volumes) Create(ctx context.Context, r *connect.Request[aiboxv1.CreateVolumeRequest]) (*connect.Response[aiboxv1.Volume], error) {
	made, err := v.cases.CreateVolume(ctx, auth.From(ctx).Tenant, r.Msg.GetName())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&aiboxv1.Volume{Name: made.Name, CreateTime: toTime(made.Created)}), nil
}

func (v *volumes) List(ctx context.Context, _ *connect.Request[aiboxv1.ListVolumesRequest]) (*connect.Response[aiboxv1.ListVolumesResponse], error) {
	all, err := v.cases.ListVolumes(ctx, auth.From(ctx).Tenant)
	if err != nil {
		return nil, err
	}
	out := &aiboxv1.ListVolumesResponse{}
	for _, one := range all {
		out.Volumes = append(out.Volumes, &aiboxv1.Volume{Name: one.Name, CreateTime: toTime(one.Created)})
	}
	return connect.NewResponse(out), nil
}

func (v *volumes) Delete(ctx context.Context, r *connect.Request[aiboxv1.DeleteVolumeRequest]) (*connect.Response[emptypb.Empty], error) {
	if err := v.cases.DeleteVolume(ctx, auth.From(ctx).Tenant, r.Msg.GetName()); err != nil {
		return nil, err
	}
	return connect.NewResponse(&emptypb.Empty{}), nil
}
