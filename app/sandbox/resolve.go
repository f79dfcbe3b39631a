package sandbox

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"aibox/app/template"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/netguard"
	"aibox/session"
)

// launch validates a request and completes it for a supervisor.
func (s *Service) launch(ctx context.Context, r *Request) (session.Launch, error) {
	if r.Snapshot != "" {
		return s.launchRestored(ctx, r)
	}
	if err := r.Validate(); err != nil {
		return session.Launch{}, err
	}
	found, err := s.Templates.Template(ctx, r.Tenant, cmp.Or(r.Template, template.Default))
	if err != nil {
		return session.Launch{}, err
	}
	for _, mount := range r.Volumes {
		if _, err := s.Volumes.Find(r.Tenant, mount.Volume); err != nil {
			return session.Launch{}, err
		}
	}
	launch := session.Launch{Spec: session.Spec{
		Agent: session.SandboxAgent, DefaultMemory: true, Sources: map[string]string{}, Sandbox: specOf(r, &found),
	}}
	if err := checkPermissions(&launch.Spec.Sandbox.Permissions); err != nil {
		return session.Launch{}, err
	}
	looking, cancel := context.WithCancel(ctx)
	image := s.lookUpImage(looking, &found) // the daemon answers while the settings are read
	defer func() { cancel(); _, _ = image() }()
	resolved, err := s.resolve(ctx, r, found.Defaults, &launch.Spec)
	if err != nil {
		return session.Launch{}, err
	}
	if err := errors.Join(checkLimits(&launch.Spec), checkContradictions(r, &launch.Spec)); err != nil {
		return session.Launch{}, err
	}
	launch.Env, launch.Spec.Env = r.variables()
	launch.Env = append(slices.Clone(found.Env), launch.Env...)
	launch.Spec.Sandbox.Denied = without(launch.Spec.Deny, r.Settings.Words("deny"))
	if launch.Spec.HasModel() && s.ModelKeys != nil {
		launch.Keys = s.ModelKeys()
	}
	if len(launch.Spec.Secret) > 0 {
		if launch.Injected, err = s.Secrets(ctx, resolved, &launch.Spec); err != nil {
			return session.Launch{}, err
		}
	}
	if launch.Spec.Image != "" {
		launch.ImageID, err = s.NamedImage(ctx, launch.Spec.Image)
		return launch, err
	}
	ofTemplate, err := image()
	launch.ImageID, launch.Spec.Image = ofTemplate.ID, ofTemplate.Ref
	return launch, err
}

// specOf returns the sandbox for a request and its template.
func specOf(r *Request, t *template.Template) *session.SandboxSpec {
	spec := &session.SandboxSpec{
		Tenant: r.Tenant, Labels: r.Labels, Template: t.Name, User: cmp.Or(t.User, root), Dir: t.Workdir,
		Volumes: r.Volumes, Permissions: r.Permissions, OnTimeout: r.OnTimeout,
	}
	if spec.User == root {
		spec.Permissions.Root = true
	}
	if t.Start != nil {
		spec.Services = []session.Service{{Argv: t.Start.Argv, Port: int(t.Start.Port), Timeout: cmp.Or(t.Start.Timeout, template.DefaultStartTimeout)}}
	}
	return spec
}

// root is the default user of templates.
const root = "root"

// lookUpImage finds the image of a template in the background, and returns a function that waits
// for the result.
func (s *Service) lookUpImage(ctx context.Context, t *template.Template) (wait func() (Image, error)) {
	var image Image
	var err error
	found := make(chan struct{})
	go func() {
		defer close(found)
		image, err = s.Templates.Image(ctx, t)
	}()
	return func() (Image, error) {
		<-found
		return image, err
	}
}

// closed are settings that the user's own file has for agents. They apply to a sandbox only
// if its request, its template or its tenant sets them.
var closed = map[string]string{"network": "none", "allow": "", "inspect": "", "secret": "", "inference-tools": ""}

// resolve fills in the settings: those of the request, then those of the template, of the
// tenant, and of the machine's user. What any of them denies is denied.
func (s *Service) resolve(ctx context.Context, r *Request, ofTemplate config.RunOverrides, spec *session.Spec) (*config.Resolved, error) {
	var given config.RunOverrides
	for _, key := range []string{"network", "allow", "inspect", "secret", "inference-tools"} {
		if err := given.Set(key, closed[key]); err != nil {
			return nil, err
		}
	}
	var ofTenant config.RunOverrides
	if s.Defaults != nil {
		var err error
		if ofTenant, err = s.Defaults(ctx, r.Tenant); err != nil {
			return nil, err
		}
	}
	policy, err := Merge(&given, ofTenant, ofTemplate, r.Settings)
	if err != nil {
		return nil, err
	}
	resolved, err := s.Settings(given.ForResolve(func(key string) string { return key })...)
	if err != nil {
		return nil, err
	}
	run := &resolved.Settings.Run
	spec.Run = config.Run{
		Network: run.Network, Allow: run.Allow, Deny: run.Deny, EgressUpload: run.EgressUpload, EgressDownload: run.EgressDownload,
		EgressUploadHost: run.EgressUploadHost, EgressDownloadHost: run.EgressDownloadHost,
		Inspect: run.Inspect, Secret: run.Secret, AskTimeout: run.AskTimeout, Image: run.Image, Timeout: run.Timeout, IdleTimeout: run.IdleTimeout,
		Pids: run.Pids, Memory: run.Memory, CPUs: run.CPUs, AllowDegraded: run.AllowDegraded,
		MaxUpload: run.MaxUpload, MaxTokens: run.MaxTokens, MaxCost: run.MaxCost, ModelTimeout: run.ModelTimeout,
	}
	if memory, err := resolved.Find("memory"); err == nil {
		spec.DefaultMemory = memory.Source().Kind == config.BuiltIn
	}
	if len(r.Volumes) > 0 { // the default depends on the current free space
		spec.Disk = run.Disk
	}
	if !given.Has("image") {
		spec.Image = ""
	}
	if given.Has("inference") || given.Has("model") || policy == netguard.Local.String() {
		spec.Inference, spec.Model, spec.InferenceTools = run.Inference, run.Model, run.InferenceTools
	}
	for _, key := range []string{"allow", "deny", "inspect"} {
		if setting, err := resolved.Find(key); err == nil {
			spec.Sources[key] = sourcesOf(setting)
		}
	}
	_, _, err = spec.Policy()
	return resolved, err
}

// CheckDefaults refuses settings that cannot be the defaults of a tenant: those that only the
// user of the machine can give for a sandbox, and those with which no sandbox could be created.
func (s *Service) CheckDefaults(ctx context.Context, tenant session.Tenant, defaults config.RunOverrides) error {
	for _, key := range defaults.Keys() {
		if !slices.Contains(settingsOfTenants, key) {
			return fault.New(fault.Usage, "the setting %s cannot be a default of a tenant", key)
		}
	}
	r, spec := Request{Tenant: tenant, Settings: defaults}, session.Spec{Sources: map[string]string{}, Sandbox: &session.SandboxSpec{Tenant: tenant}}
	if err := r.Validate(); err != nil {
		return err
	}
	alone := Service{Settings: s.Settings}
	if _, err := alone.resolve(ctx, &r, config.RunOverrides{}, &spec); err != nil {
		return err
	}
	return errors.Join(checkLimits(&spec), checkContradictions(&r, &spec))
}

// CheckTemplate refuses defaults of a template that contradict each other.
func CheckTemplate(defaults config.RunOverrides) error {
	policy, err := policyOf(defaults)
	if err != nil || policy == "" { // the creation of a sandbox chooses it
		return err
	}
	r, spec := Request{Settings: defaults}, session.Spec{Sandbox: &session.SandboxSpec{}}
	spec.Network = policy
	return checkContradictions(&r, &spec)
}

// without returns the words of list that are not in others.
func without(list, others []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(word string) bool { return slices.Contains(others, word) })
}

// sourcesOf describes where a list comes from.
func sourcesOf(setting config.Setting) string {
	var names []string
	for _, source := range setting.From {
		switch source.Kind {
		case config.BuiltIn:
		case config.UserFile:
			names = append(names, "your settings")
		default:
			names = append(names, "the sandbox's "+source.Name+" list")
		}
	}
	return strings.Join(names, " and ")
}

// Merge adds layers of settings to all, each over those before it, with the network policy that they
// give or imply, which it returns; empty for none.
func Merge(all *config.RunOverrides, layers ...config.RunOverrides) (policy string, err error) {
	for _, settings := range layers {
		chosen, err := policyOf(settings)
		if err != nil {
			return "", err
		}
		policy = cmp.Or(chosen, policy)
		if err := all.Merge(settings); err != nil {
			return "", err
		}
	}
	if policy == "" {
		return "", nil
	}
	return policy, all.Set("network", policy)
}

// policyOf returns the network policy that settings give or imply; empty for none. An allow
// list, also an empty one, implies allowlist, and a model implies local.
func policyOf(settings config.RunOverrides) (string, error) {
	given := settings.Text("network")
	mode, err := netguard.ParseMode(given)
	switch {
	case given != "" && err != nil:
		return "", fault.New(fault.Usage, "%w", err)
	case settings.Has("allow") && given != "" && !mode.HasProxy():
		return "", fault.New(fault.Usage, "an allow list has no effect with the network policy %s, which has no way out of the sandbox", mode).
			Hint("leave out the policy, or give allowlist")
	case settings.Has("allow") && given == "":
		return netguard.Allowlist.String(), nil
	case (settings.Has("model") || settings.Has("inference")) && given != "" && !mode.HasInference():
		return "", fault.New(fault.Usage, "a sandbox with the network policy %s reaches no model", mode).Hint("leave out the policy, or give local")
	case (settings.Has("model") || settings.Has("inference")) && given == "":
		return netguard.Local.String(), nil
	default:
		return given, nil
	}
}

// The smallest limits under which a sandbox works.
const (
	minMemory = 64 << 20
	minCPUs   = 0.1
)

func checkLimits(spec *session.Spec) error {
	switch {
	case spec.Timeout < 0 || spec.IdleTimeout < 0 || spec.ModelTimeout < 0:
		return fault.New(fault.Usage, "a time limit cannot be negative").Hint("0 means no limit")
	case spec.Memory > 0 && spec.Memory.Bytes() < minMemory:
		return fault.New(fault.Usage, "the memory limit must be at least %d MiB, because gVisor itself needs some", minMemory>>20)
	case spec.CPUs > 0 && spec.CPUs.Float() < minCPUs:
		return fault.New(fault.Usage, "the limit of processors must be at least %v", minCPUs)
	default:
		return nil
	}
}

// checkContradictions refuses settings of a request that would have no effect on the
// sandbox.
func checkContradictions(r *Request, spec *session.Spec) error {
	mode, err := netguard.ParseMode(spec.Network)
	if err != nil {
		return fault.New(fault.Usage, "%w", err)
	}
	if !mode.HasProxy() {
		hint := "leave it out, or give the network policy allowlist or public"
		switch {
		case len(r.Settings.Words("deny")) > 0:
			return fault.New(fault.Usage, "a deny list has no effect with the network policy %s, which has no way out of the sandbox", mode).Hint("%s", hint)
		case slices.ContainsFunc([]string{"egress-upload", "egress-download", "egress-upload-host", "egress-download-host"}, r.Settings.Has):
			return fault.New(fault.Usage, "a limit of traffic has no effect with the network policy %s, which has no way out of the sandbox", mode).Hint("%s", hint)
		}
	}
	own := spec.Sandbox
	switch {
	case own.OnTimeout == session.Pause && spec.Timeout == 0 && spec.IdleTimeout == 0:
		return fault.New(fault.Usage, "a sandbox without a time limit is never paused at its end").Hint("give it a timeout or an idle timeout")
	case spec.Pids > 0 && own.Permissions.Processes.Max > spec.Pids:
		return fault.New(fault.Usage, "the permissions allow %d processes, but the sandbox is limited to %d", own.Permissions.Processes.Max, spec.Pids).
			Hint("raise the limit of processes, or lower the permission")
	default:
		return nil
	}
}
