package child

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"aibox/config"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/netguard"
	"aibox/netguard/preset"
	"aibox/session"
)

// Defaults returns the settings of a sandbox that are not in its request: an equal part of
// the session's limits.
func (m *Manager) Defaults(context.Context, session.Tenant) (config.RunOverrides, error) {
	spec := m.host.Spec()
	parts := spec.OwnSandboxes() + 1
	_, processes := spec.ProcessShares()
	var given config.RunOverrides
	for _, setting := range []struct {
		key   string
		value int64
	}{
		{"memory", int64(spec.Memory) / int64(parts)},
		{"pids", int64(processes)},
		{"egress-upload", int64(spec.EgressUpload) / int64(parts)},
		{"egress-download", int64(spec.EgressDownload) / int64(parts)},
		{"egress-upload-host", int64(partOf(&spec, spec.EgressUploadHost))},
		{"egress-download-host", int64(partOf(&spec, spec.EgressDownloadHost))},
	} {
		if setting.value > 0 {
			if err := given.Set(setting.key, strconv.FormatInt(setting.value, 10)); err != nil {
				return given, err
			}
		}
	}
	if spec.CPUs > 0 {
		return given, given.Set("cpus", spec.CPUs.String())
	}
	return given, nil
}

// bound completes a launch within the limits of the session, or refuses it.
func (m *Manager) bound(l *session.Launch) error {
	parent := m.host.Spec()
	if err := m.checkKind(l); err != nil {
		return err
	}
	if err := boundNetwork(&l.Spec, m.host.Policy()); err != nil {
		return err
	}
	if err := boundLimits(&l.Spec, &parent); err != nil {
		return err
	}
	l.Spec.AllowDegraded = parent.AllowDegraded
	return m.boundTime(&l.Spec)
}

// checkKind refuses a launch of anything but a plain sandbox of the session.
func (m *Manager) checkKind(l *session.Launch) error {
	spec := &l.Spec
	switch own := spec.Sandbox; {
	case own == nil || own.Warm != nil || own.Snapshot != "" || own.Tenant != m.Tenant():
		return fault.New(fault.Refused, "an agent can only create sandboxes of its own session")
	case len(own.Volumes) > 0:
		return fault.New(fault.Refused, "a sandbox that an agent creates has no volumes")
	case own.OnTimeout != session.Destroy:
		return fault.New(fault.Refused, "a sandbox that an agent creates is destroyed at its timeout, not paused")
	case spec.HasModel() || len(l.Keys) > 0:
		return fault.New(fault.Refused, "a sandbox that an agent creates reaches no model").Hint("leave out the network, or use allowlist")
	case len(spec.Secret) > 0 || len(spec.SSHAgent) > 0 || len(l.Injected) > 0 || len(l.Secrets) > 0 || l.Login != "":
		return fault.New(fault.Refused, "a sandbox that an agent creates gets no secrets")
	case hasOtherSettings(&spec.Run):
		return fault.New(fault.Refused, "a sandbox that an agent creates can have only limits and a network policy within those of its session")
	case len(spec.Inspect) > 0 || len(spec.InferenceTools) > 0 || spec.Ask || spec.Sandboxes > 0:
		return fault.New(fault.Refused, "a sandbox that an agent creates has no inspected hosts, no server-side tools, no questions and no sandboxes of its own")
	}
	return nil
}

// hasOtherSettings reports whether a sandbox has a setting that this package neither bounds
// nor knows to be harmless, such as one that was added later.
func hasOtherSettings(run *config.Run) bool {
	known := config.Run{
		Network: run.Network, Allow: run.Allow, Deny: run.Deny, EgressUpload: run.EgressUpload, EgressDownload: run.EgressDownload,
		EgressUploadHost: run.EgressUploadHost, EgressDownloadHost: run.EgressDownloadHost,
		Memory: run.Memory, CPUs: run.CPUs, Pids: run.Pids, Disk: run.Disk, Timeout: run.Timeout, AllowDegraded: run.AllowDegraded,
		// These only restrict the sandbox, or are for a model, which it does not reach.
		Image: run.Image, Env: run.Env, AskTimeout: run.AskTimeout, IdleTimeout: run.IdleTimeout,
		MaxUpload: run.MaxUpload, MaxTokens: run.MaxTokens, MaxCost: run.MaxCost, ModelTimeout: run.ModelTimeout,
		// These have refusals of their own.
		Inspect: run.Inspect, InferenceTools: run.InferenceTools, Secret: run.Secret, SSHAgent: run.SSHAgent, Ask: run.Ask, Sandboxes: run.Sandboxes,
	}
	return !reflect.DeepEqual(run, &known)
}

// boundNetwork restricts a sandbox to destinations that the policy outer also allows, or
// refuses it.
func boundNetwork(spec *session.Spec, outer netguard.Policy) error {
	if err := resolvePresets(spec, outer); err != nil {
		return err
	}
	asked, unresolved, err := spec.Policy()
	if err != nil {
		return err
	}
	if len(unresolved) > 0 {
		return fault.New(fault.Internal, "the presets %s are not resolved", strings.Join(unresolved, ", "))
	}
	if asked.Mode > outer.Mode {
		return fault.New(fault.Refused, "the session has the network policy %s, so its sandboxes cannot have the wider policy %s", outer.Mode, asked.Mode)
	}
	within, dropped := asked.Within(outer)
	if asked.Mode.HasProxy() && len(dropped) > 0 {
		names := make([]string, len(dropped))
		for i, rule := range dropped {
			names[i] = rule.Pattern.String()
		}
		return fault.New(fault.Refused, "the session itself cannot reach %s, or not without an inspection, so its sandboxes cannot either", strings.Join(names, ", ")).
			Hint("ask for hosts that the session can reach")
	}
	spec.Allow, spec.Deny = wordsOf(within.Allow), wordsOf(within.Deny)
	spec.Sandbox.Denied = spec.Deny
	spec.Sources = map[string]string{"allow": "the sandbox's allow list", "deny": "the session's deny list"}
	return nil
}

// resolvePresets replaces presets by the hosts to which they give the session access. The
// tools in a sandbox's image may name others.
func resolvePresets(spec *session.Spec, outer netguard.Policy) error {
	var words []string
	for _, word := range spec.Allow {
		entry, err := preset.ParseAllow(word)
		if err != nil {
			return err
		}
		found, _ := preset.Find(entry.Preset)
		if entry.Preset == "" || !found.Asks() {
			words = append(words, word)
			continue
		}
		known := false
		for _, rule := range outer.Allow {
			if rule.Source == preset.Source(entry.Preset) {
				words, known = append(words, rule.Pattern.String()), true
			}
		}
		if !known {
			return fault.New(fault.Refused, "the session itself does not allow the preset %s, so its sandboxes cannot have it", entry.Preset)
		}
	}
	if spec.Allow != nil {
		spec.Allow = slices.Clip(append([]string{}, words...))
	}
	return nil
}

func wordsOf(rules []netguard.Rule) []string {
	var words []string
	for _, rule := range rules {
		words = append(words, rule.Pattern.String())
	}
	return words
}

// boundLimits refuses a sandbox whose limits exceed its part of the session's limits.
// Resources that several sandboxes share are lent; see session.Host.
func boundLimits(spec, parent *session.Spec) error {
	_, processes := parent.ProcessShares()
	if parent.Pids > 0 && processes == 0 {
		return fault.New(fault.Limit, "the session's limit of %s leaves none for a sandbox of its own", amount.Of(parent.Pids, "process"))
	}
	for _, limit := range []struct {
		what        string
		bound, asks float64
	}{
		{"MiB of memory", float64(parent.Memory), float64(spec.Memory)},
		{"processors", parent.CPUs.Float(), spec.CPUs.Float()},
		{"processes", float64(processes), float64(spec.Pids)},
		{"MiB of uploads", float64(parent.EgressUpload), float64(spec.EgressUpload)},
		{"MiB of downloads", float64(parent.EgressDownload), float64(spec.EgressDownload)},
		{"MiB of uploads to a host", float64(partOf(parent, parent.EgressUploadHost)), float64(spec.EgressUploadHost)},
		{"MiB of downloads from a host", float64(partOf(parent, parent.EgressDownloadHost)), float64(spec.EgressDownloadHost)},
	} {
		if limit.bound > 0 && (limit.asks == 0 || limit.asks > limit.bound) {
			asks := fmt.Sprint(limit.asks)
			if limit.asks == 0 {
				asks = "no limit"
			}
			return fault.New(fault.Limit, "a sandbox of this session can have up to %v %s, not %s", limit.bound, limit.what, asks)
		}
	}
	spec.Disk = partOf(parent, parent.Disk)
	return nil
}

// partOf returns the maximum part of a session's limit for each of its sandboxes. 0 means
// no limit and is returned only for 0.
func partOf(parent *session.Spec, limit amount.MiB) amount.MiB {
	if limit == 0 {
		return 0
	}
	return max(1, limit/amount.MiB(parent.OwnSandboxes()+1))
}

// boundTime limits the time of a sandbox to the time of the session.
func (m *Manager) boundTime(spec *session.Spec) error {
	left, limited := m.host.TimeLeft()
	if !limited {
		return nil
	}
	left = left.Truncate(time.Second)
	if left <= 0 {
		return errEnding
	}
	if spec.Timeout == 0 || time.Duration(spec.Timeout) > left {
		spec.Timeout = amount.Duration(left)
	}
	return nil
}

// shareOf returns the share of the session's limits for a sandbox.
func shareOf(spec *session.Spec) session.Share {
	share := session.Share{Memory: spec.Memory.Bytes(), Disk: spec.Disk.Bytes()}
	if spec.Mode().HasProxy() {
		share.Traffic = spec.EgressBudgets()
	}
	return share
}

// take limits a sandbox to the share that was lent to it.
func take(spec *session.Spec, granted session.Share) {
	for _, limit := range []struct {
		setting *amount.MiB
		granted int64
	}{
		{&spec.Disk, granted.Disk},
		{&spec.EgressUpload, granted.Upload},
		{&spec.EgressDownload, granted.Download},
		{&spec.EgressUploadHost, granted.UploadPerHost},
		{&spec.EgressDownloadHost, granted.DownloadPerHost},
	} {
		if limit.granted > 0 {
			*limit.setting = min(*limit.setting, amount.MiB(max(1, limit.granted>>20)))
		}
	}
}

// Narrow restricts each sandbox to the session's current policy. A sandbox whose policy
// cannot be changed is ended.
func (m *Manager) Narrow(ctx context.Context) {
	for _, id := range m.running() {
		if m.narrow(ctx, id) != nil {
			_ = m.end(context.WithoutCancel(ctx), id, "its network policy could not be changed with its session's")
		}
	}
}

// narrow narrows the policy of one sandbox. A sandbox that has just started and a change of the
// session's policy can narrow it at the same time: the later policy applies.
func (m *Manager) narrow(ctx context.Context, id session.ID) error {
	unlock, err := m.narrowing.Lock(ctx, string(id))
	if err != nil {
		return err
	}
	defer unlock()
	found, err := m.sessions.Load(id)
	if err != nil || !found.Mode().HasProxy() || found.State.Phase == session.Ended {
		return err
	}
	now, err := policyNow(&found)
	if err != nil {
		return err
	}
	within, dropped := now.Within(m.host.Policy())
	if len(dropped) == 0 && deniesAll(now.Deny, within.Deny) {
		return nil
	}
	allow, deny := wordsOf(within.Allow), wordsOf(within.Deny)
	return m.sessions.SetNetwork(ctx, id, session.NetworkLists{Allow: &allow, Deny: &deny}, "the policy of its session has changed")
}

// deniesAll reports whether a deny list has the patterns of all rules. It can have a pattern twice,
// so the lengths of lists say nothing.
func deniesAll(list, rules []netguard.Rule) bool {
	return !slices.ContainsFunc(rules, func(rule netguard.Rule) bool {
		return !slices.ContainsFunc(list, func(other netguard.Rule) bool { return other.Pattern == rule.Pattern })
	})
}

// policyNow returns the current policy of a running sandbox.
func policyNow(s *session.Session) (netguard.Policy, error) {
	if s.State.Lists == nil {
		policy, _, err := s.Policy()
		return policy, err
	}
	policy := netguard.Policy{Mode: s.Mode()}
	for _, entry := range s.State.Lists.Allow {
		pattern, err := netguard.ParseAllow(entry.Pattern)
		if err != nil {
			return policy, err
		}
		policy.Allow = append(policy.Allow, netguard.Rule{Pattern: pattern, Source: entry.Source})
	}
	for _, entry := range s.State.Lists.Deny {
		pattern, err := netguard.ParseDeny(entry.Pattern)
		if err != nil {
			return policy, err
		}
		policy.Deny = append(policy.Deny, netguard.Rule{Pattern: pattern, Source: entry.Source})
	}
	return policy, nil
}
