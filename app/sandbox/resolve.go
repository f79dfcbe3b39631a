package sandbox

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"aibox/config"
	"aibox/internal/fault"
	"aibox/netguard"
	"aibox/session"
)

// launch validates a request and completes it to what a supervisor needs.
func (s *Service) launch(ctx context.Context, r *Request) (session.Launch, error) {
	if err := r.Validate(); err != nil {
		return session.Launch{}, err
	}
	template, err := s.Templates.Template(ctx, r.Tenant, cmp.Or(r.Template, DefaultTemplate))
	if err != nil {
		return session.Launch{}, err
	}
	for _, mount := range r.Volumes {
		if _, err := s.Volumes.Find(r.Tenant, mount.Volume); err != nil {
			return session.Launch{}, err
		}
	}
	spec := session.Spec{Agent: session.SandboxAgent, DefaultMemory: true, Sources: map[string]string{}}
	if err := s.resolve(ctx, r, template, &spec); err != nil {
		return session.Launch{}, err
	}
	if err := checkLimits(&spec); err != nil {
		return session.Launch{}, err
	}
	launch := session.Launch{ImageID: template.Image}
	if spec.Image == "" {
		spec.Image = template.Ref
	} else if launch.ImageID, err = s.NamedImage(ctx, spec.Image); err != nil {
		return session.Launch{}, err
	}
	launch.Env, spec.Env = r.variables()
	if spec.HasModel() && s.ModelKeys != nil {
		launch.Keys = s.ModelKeys()
	}
	spec.Sandbox = &session.SandboxSpec{
		Tenant: r.Tenant, Labels: r.Labels, Template: template.Name, User: cmp.Or(template.User, DefaultUser), Dir: template.Dir,
		Volumes: r.Volumes, Permissions: r.Permissions, OnTimeout: r.OnTimeout, Services: template.Services,
		Denied: without(spec.Deny, r.Settings.Words("deny")),
	}
	if spec.Sandbox.User == "root" {
		spec.Sandbox.Permissions.Root = true
		if err := checkPermissions(&spec.Sandbox.Permissions); err != nil {
			return session.Launch{}, err
		}
	}
	launch.Spec = spec
	return launch, nil
}

// closed are settings that the user's own file gives to agents, and that reach no sandbox
// unless its request, its template or its tenant gives them.
var closed = map[string]string{"network": "none", "allow": "", "inspect": "", "secret": "", "inference-tools": ""}

// resolve fills in the settings: those of the request, then those of the tenant, of the
// template, and of the machine's user.
func (s *Service) resolve(ctx context.Context, r *Request, template Template, spec *session.Spec) error {
	var given config.RunOverrides
	for _, key := range []string{"network", "allow", "inspect", "secret", "inference-tools"} {
		if err := given.Set(key, closed[key]); err != nil {
			return err
		}
	}
	more := []config.RunOverrides{template.Settings}
	if s.Defaults != nil {
		defaults, err := s.Defaults(ctx, r.Tenant)
		if err != nil {
			return err
		}
		more = append(more, defaults)
	}
	policy := ""
	for _, settings := range append(more, r.Settings) {
		chosen, err := policyOf(settings)
		if err != nil {
			return err
		}
		policy = cmp.Or(chosen, policy)
		if err := given.Override(settings); err != nil {
			return err
		}
	}
	if policy != "" {
		if err := given.Set("network", policy); err != nil {
			return err
		}
	}
	resolved, err := s.Settings(given.ForResolve(func(key string) string { return key })...)
	if err != nil {
		return err
	}
	run := &resolved.Settings.Run
	spec.Run = config.Run{
		Network: run.Network, Allow: run.Allow, Deny: run.Deny, EgressUpload: run.EgressUpload, EgressDownload: run.EgressDownload,
		Inspect: run.Inspect, Secret: run.Secret, AskTimeout: run.AskTimeout, Image: run.Image, Timeout: run.Timeout, IdleTimeout: run.IdleTimeout,
		Pids: run.Pids, Memory: run.Memory, CPUs: run.CPUs, AllowDegraded: run.AllowDegraded,
		MaxUpload: run.MaxUpload, MaxTokens: run.MaxTokens, MaxCost: run.MaxCost, ModelTimeout: run.ModelTimeout,
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
	if _, _, err := spec.Policy(); err != nil {
		return err
	}
	return nil
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
