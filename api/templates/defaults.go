package templates

import (
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/netmode"
	"aibox/app/template"
	"aibox/config"
	"aibox/internal/fault"
)

// fromDefaults completes a definition with the defaults of a request.
func fromDefaults(m *aiboxv1.TemplateDefaults, d *template.Definition) error {
	for name, value := range m.GetEnv() {
		d.Env[name] = value
	}
	if len(m.GetStart()) > 0 {
		d.Start = &template.StartDefinition{Command: m.GetStart()}
	}
	settings := map[string]any{}
	for key, given := range map[string]*durationpb.Duration{"timeout": m.GetTimeout(), "idle-timeout": m.GetIdleTimeout()} {
		if given == nil {
			continue
		}
		if given.CheckValid() != nil || given.AsDuration() < 0 {
			return fault.New(fault.Usage, "%s is not a length of time that is 0 or more", key)
		}
		settings[key] = given.AsDuration().String()
	}
	if l := m.GetLimits(); l != nil {
		if l.MemoryMib != nil {
			settings["memory"] = l.GetMemoryMib()
		}
		if l.Cpus != nil {
			settings["cpus"] = l.GetCpus()
		}
		if l.Processes != nil {
			settings["pids"] = int64(l.GetProcesses())
		}
	}
	if n := m.GetNetwork(); n != nil {
		if mode := n.GetMode(); mode != aiboxv1.NetworkMode_NETWORK_MODE_UNSPECIFIED {
			name, ok := netmode.Names[mode]
			if !ok {
				return fault.New(fault.Usage, "%d is not a network mode", mode)
			}
			settings["network"] = name
		}
		if n.Allow != nil {
			settings["allow"] = words(n.GetAllow().GetHosts())
		}
		if n.Deny != nil {
			settings["deny"] = words(n.GetDeny().GetHosts())
		}
		if n.UploadMib != nil {
			settings["egress-upload"] = n.GetUploadMib()
		}
		if n.DownloadMib != nil {
			settings["egress-download"] = n.GetDownloadMib()
		}
	}
	if len(settings) > 0 {
		d.Settings = settings
	}
	return nil
}

// words returns a list as a definition has it.
func words(hosts []string) []any {
	all := make([]any, len(hosts))
	for i, host := range hosts {
		all[i] = host
	}
	return all
}

// toDefaults returns the defaults of a template's sandboxes.
func toDefaults(t *template.Template) *aiboxv1.TemplateDefaults {
	out := &aiboxv1.TemplateDefaults{Env: map[string]string{}}
	for _, pair := range t.Env {
		name, value, _ := strings.Cut(pair, "=")
		out.Env[name] = value
	}
	if t.Start != nil {
		out.Start = t.Start.Argv
	}
	given := t.Defaults
	out.Timeout, out.IdleTimeout = duration(given, "timeout"), duration(given, "idle-timeout")
	out.Limits, out.Network = limits(given), network(given)
	return out
}

func duration(given config.RunOverrides, key string) *durationpb.Duration {
	length, err := time.ParseDuration(given.Text(key))
	if !given.Has(key) || err != nil {
		return nil
	}
	return durationpb.New(length)
}

// number returns a setting that is a number; nil if it is not given.
func number(given config.RunOverrides, key string) *int64 {
	value, err := strconv.ParseInt(given.Text(key), 10, 64)
	if !given.Has(key) || err != nil {
		return nil
	}
	return &value
}

func limits(given config.RunOverrides) *aiboxv1.Limits {
	out := &aiboxv1.Limits{MemoryMib: number(given, "memory")}
	if pids := number(given, "pids"); pids != nil {
		count := int32(*pids)
		out.Processes = &count
	}
	if cpus, err := strconv.ParseFloat(given.Text("cpus"), 64); given.Has("cpus") && err == nil {
		out.Cpus = &cpus
	}
	if out.MemoryMib == nil && out.Processes == nil && out.Cpus == nil {
		return nil
	}
	return out
}

func network(given config.RunOverrides) *aiboxv1.NetworkPolicy {
	out := &aiboxv1.NetworkPolicy{UploadMib: number(given, "egress-upload"), DownloadMib: number(given, "egress-download")}
	found := out.UploadMib != nil || out.DownloadMib != nil
	for mode, name := range netmode.Names {
		if given.Text("network") == name {
			out.Mode, found = mode, true
		}
	}
	if given.Has("allow") {
		out.Allow, found = &aiboxv1.HostList{Hosts: given.Words("allow")}, true
	}
	if given.Has("deny") {
		out.Deny, found = &aiboxv1.HostList{Hosts: given.Words("deny")}, true
	}
	if !found {
		return nil
	}
	return out
}
