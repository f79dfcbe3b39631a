package sandbox

import (
	"context"
	"errors"
	"slices"
	"time"

	"aibox/config"
	"aibox/internal/fault"
	"aibox/runtime"
	"aibox/session"
	"aibox/session/snapshot"
)

// Snapshot stores the state of a running sandbox: its files and the memory of its
// processes, but no connection. The sandbox is stopped during this, and continues to run. The
// snapshot exists for ttl; 0 means until it is deleted.
func (s *Service) Snapshot(ctx context.Context, tenant session.Tenant, id, name string, ttl time.Duration) (snapshot.Snapshot, error) {
	running, err := s.Running(ctx, tenant, id)
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	request := snapshot.Request{ID: snapshot.NewID(), Name: name, TTL: ttl}
	if err := request.Validate(); err != nil {
		return snapshot.Snapshot{}, err
	}
	if s.SnapshotRoom != nil {
		room, release, err := s.SnapshotRoom(ctx, tenant)
		if err != nil {
			return snapshot.Snapshot{}, err
		}
		defer release()
		request.Most = room
	}
	if err := s.Sessions.SnapshotSandbox(ctx, running, request); err != nil {
		return snapshot.Snapshot{}, err
	}
	return s.Snapshots.Find(tenant, request.ID)
}

// FindSnapshot returns a snapshot of the tenant.
func (s *Service) FindSnapshot(_ context.Context, tenant session.Tenant, id string) (snapshot.Snapshot, error) {
	return s.Snapshots.Find(tenant, id)
}

// ListSnapshots returns the tenant's snapshots, newest first. It omits damaged ones.
func (s *Service) ListSnapshots(_ context.Context, tenant session.Tenant) ([]snapshot.Snapshot, error) {
	all, err := s.Snapshots.List(tenant)
	if err != nil && len(all) == 0 {
		return nil, err
	}
	return all, nil
}

// DeleteSnapshot deletes a snapshot. Sandboxes that were created from it continue to run.
func (s *Service) DeleteSnapshot(_ context.Context, tenant session.Tenant, id string) error {
	return s.Snapshots.Delete(tenant, id)
}

// networkSettings are network settings. If a request has one of them, they replace all
// those of the snapshot.
var networkSettings = []string{"network", "allow", "deny", "model", "inference"}

// launchRestored validates a request for a sandbox that continues from a snapshot, and
// completes it. Settings that are not in the request are those of the snapshot's sandbox.
// Settings with which the stored processes were started cannot be changed.
func (s *Service) launchRestored(ctx context.Context, r *Request) (session.Launch, error) {
	if err := r.Validate(); err != nil {
		return session.Launch{}, err
	}
	found, err := s.Snapshots.Find(r.Tenant, r.Snapshot)
	if err != nil {
		return session.Launch{}, err
	}
	if err := checkRestored(r, &found); err != nil {
		return session.Launch{}, err
	}
	now := session.Spec{Sources: map[string]string{}}
	if _, err := s.resolve(ctx, r, config.RunOverrides{}, &now); err != nil {
		return session.Launch{}, err
	}
	launch := session.Launch{Spec: restoredSpec(r, &found, &now), ImageID: found.ImageID}
	if _, _, err := launch.Spec.Policy(); err != nil {
		return session.Launch{}, err
	}
	if err := errors.Join(checkLimits(&launch.Spec), checkContradictions(r, &launch.Spec), found.Fits(launch.ImageID, &launch.Spec)); err != nil {
		return session.Launch{}, err
	}
	launch.Env, launch.Spec.Env = r.variables()
	if launch.Spec.HasModel() && s.ModelKeys != nil {
		launch.Keys = s.ModelKeys()
	}
	if _, err := s.NamedImage(ctx, string(found.ImageID)); errors.Is(err, runtime.ErrNoImage) || fault.KindOf(err) == fault.NotFound {
		return session.Launch{}, fault.New(fault.Refused, "the image of the snapshot %s was removed, and another one cannot take its place", found.ID)
	} else if err != nil {
		return session.Launch{}, err
	}
	return launch, nil
}

// checkRestored refuses settings that cannot be changed in a sandbox from a snapshot.
func checkRestored(r *Request, found *snapshot.Snapshot) error {
	own := found.Spec.Sandbox
	switch {
	case r.Template != "" && r.Template != own.Template:
		return fault.New(fault.Usage, "the sandbox of the snapshot %s is of the template %q, so another template cannot be given", found.ID, own.Template)
	case len(r.Volumes) > 0:
		return fault.New(fault.Refused, "a sandbox from a snapshot mounts no volumes: the files of the stored processes are those of the snapshot")
	}
	for _, key := range []string{"image", "inspect", "secret"} {
		if len(r.Settings.Text(key)) > 0 {
			return fault.New(fault.Refused, "the setting %s cannot be given to a sandbox from a snapshot: what its processes have is stored", key)
		}
	}
	return nil
}

// restoredSpec returns the spec of a sandbox from a snapshot. now has the settings of the
// request, and the current settings of the machine's user and the tenant.
func restoredSpec(r *Request, found *snapshot.Snapshot, now *session.Spec) session.Spec {
	spec := found.Spec
	spec.ID, spec.Created = "", time.Time{}
	own := *spec.Sandbox
	own.Labels, own.OnTimeout, own.Snapshot, own.Warm, own.Claimed = r.Labels, r.OnTimeout, found.ID, nil, false
	if !r.Permissions.IsZero() {
		root := own.User == root // sandboxes of root always have the permission
		own.Permissions = r.Permissions
		own.Permissions.Root = own.Permissions.Root || root
	}
	given := r.Settings
	if slices.ContainsFunc(networkSettings, given.Has) {
		spec.Network, spec.Allow, spec.Inference, spec.Model, spec.InferenceTools = now.Network, now.Allow, now.Inference, now.Model, now.InferenceTools
		spec.Deny = nil
		spec.Sources = now.Sources
	}
	// Denied are the entries that the user or the tenant denies now, and those that they
	// denied then.
	spec.Deny = union(spec.Deny, now.Deny, own.Denied)
	own.Denied = union(own.Denied, without(now.Deny, given.Words("deny")))
	for key, take := range map[string]func(){
		"timeout": func() { spec.Timeout = now.Timeout }, "idle-timeout": func() { spec.IdleTimeout = now.IdleTimeout },
		"memory": func() { spec.Memory, spec.DefaultMemory = now.Memory, false }, "cpus": func() { spec.CPUs = now.CPUs },
		"pids": func() { spec.Pids = now.Pids }, "egress-upload": func() { spec.EgressUpload = now.EgressUpload },
		"egress-download": func() { spec.EgressDownload = now.EgressDownload }, "egress-upload-host": func() { spec.EgressUploadHost = now.EgressUploadHost },
		"egress-download-host": func() { spec.EgressDownloadHost = now.EgressDownloadHost }, "max-upload": func() { spec.MaxUpload = now.MaxUpload },
		"max-tokens": func() { spec.MaxTokens = now.MaxTokens }, "max-cost": func() { spec.MaxCost = now.MaxCost },
		"model-timeout": func() { spec.ModelTimeout = now.ModelTimeout }, "ask-timeout": func() { spec.AskTimeout = now.AskTimeout },
	} {
		if given.Has(key) {
			take()
		}
	}
	spec.Sandbox = &own
	return spec
}

// union returns the words of all lists, each once.
func union(lists ...[]string) []string {
	var all []string
	for _, list := range lists {
		for _, word := range list {
			if !slices.Contains(all, word) {
				all = append(all, word)
			}
		}
	}
	return all
}
