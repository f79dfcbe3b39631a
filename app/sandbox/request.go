package sandbox

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"aibox/app/template"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/mount"
	"aibox/session/process"
)

// Request describes a new sandbox. The zero value with a tenant is a sandbox of the
// default template without a network.
type Request struct {
	Tenant   session.Tenant
	Template string // empty means template.Default
	session.Labels
	Env map[string]string // for all of its processes; the values are never stored
	// Settings are the settings in the request. A missing list means the tenant's default, and
	// an empty one allows nothing. An allow list without a policy means the policy allowlist.
	Settings    config.RunOverrides
	Volumes     []session.VolumeMount
	Permissions session.Permissions
	OnTimeout   session.OnTimeout
	// Snapshot is the id of the tenant's snapshot from which the sandbox continues; empty if
	// there is none.
	Snapshot string
	// RecordID, which may be nil, is called with the sandbox's id before any of its files
	// exist or it belongs to the tenant. If that fails, the creation also fails. It may be
	// called again, with another id that replaces the first.
	RecordID func(ctx context.Context, id session.ID) error `json:"-"`
}

// The limits of a request.
const (
	maxName      = 128       // bytes
	maxMetadata  = 64        // entries
	maxMetaText  = 1 << 10   // bytes of a key or a value
	maxVariables = 256       //
	maxEnv       = 256 << 10 // bytes of all variables
	maxVolumes   = 16
	maxPatterns  = 64
)

// Validate checks what can be checked without settings, templates and volumes. Invalid
// values are Usage faults.
func (r *Request) Validate() error {
	if err := r.Tenant.Check(); err != nil {
		return err
	}
	if _, err := session.ParseOnTimeout(r.OnTimeout.String()); err != nil {
		return err
	}
	for _, check := range []func() error{r.checkSettings, r.checkEnv, r.checkVolumes} {
		if err := check(); err != nil {
			return err
		}
	}
	if err := checkLabels(r.Labels); err != nil {
		return err
	}
	return checkPermissions(&r.Permissions)
}

// checkLabels checks a name and metadata.
func checkLabels(l session.Labels) error {
	if len(l.Name) > maxName || strings.ContainsFunc(l.Name, isControl) {
		return fault.New(fault.Usage, "a sandbox's name has up to %d bytes and no control characters", maxName)
	}
	if len(l.Metadata) > maxMetadata {
		return fault.New(fault.Usage, "a sandbox has up to %d entries of metadata, not %d", maxMetadata, len(l.Metadata))
	}
	for key, value := range l.Metadata {
		if key == "" || len(key) > maxMetaText || len(value) > maxMetaText || strings.ContainsFunc(key+value, isControl) {
			return fault.New(fault.Usage, "keys and values of metadata have up to %d bytes and no control characters, and no key is empty", maxMetaText)
		}
	}
	return nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// settingsOfTenants are the settings that every tenant can choose: those of a template, and
// the limit of the volumes.
var settingsOfTenants = slices.Concat(template.SettingKeys, []string{"disk"})

// TenantSettings returns the keys of the settings that every tenant can give.
func TenantSettings() []string { return slices.Clone(settingsOfTenants) }

// settingsOfUser are the settings that only the user of this machine can give: they name what
// is on it.
var settingsOfUser = []string{"image", "inference", "inference-tools", "inspect", "secret", "allow-degraded"}

// SettingKeys returns the keys of all settings that a sandbox can have.
func SettingKeys() []string { return slices.Concat(settingsOfTenants, settingsOfUser) }

// checkSettings refuses settings that do not apply to a sandbox, or that the tenant must
// not choose.
func (r *Request) checkSettings() error {
	for _, key := range r.Settings.Keys() {
		switch {
		case slices.Contains(settingsOfTenants, key):
		case !slices.Contains(settingsOfUser, key):
			return fault.New(fault.Usage, "the setting %s has no effect on a sandbox", key)
		case r.Tenant != session.LocalTenant:
			return fault.New(fault.Refused, "the setting %s is reserved for the user of the machine", key)
		}
	}
	return nil
}

func (r *Request) checkEnv() error {
	if len(r.Env) > maxVariables {
		return fault.New(fault.Usage, "a sandbox has up to %d variables, not %d", maxVariables, len(r.Env))
	}
	size := 0
	for name, value := range r.Env {
		if err := process.CheckVariable(name, value); err != nil {
			return err
		}
		size += len(name) + len(value) + 2
	}
	if size > maxEnv {
		return fault.New(fault.Usage, "the environment has %d bytes, and may have %d", size, maxEnv)
	}
	return nil
}

// variables returns the environment as NAME=VALUE, and only the names, both sorted.
func (r *Request) variables() (env, names []string) {
	names = slices.Sorted(maps.Keys(r.Env))
	for _, name := range names {
		env = append(env, name+"="+r.Env[name])
	}
	return env, names
}

func (r *Request) checkVolumes() error {
	if len(r.Volumes) > maxVolumes {
		return fault.New(fault.Usage, "a sandbox has up to %d volumes, not %d", maxVolumes, len(r.Volumes))
	}
	for i, v := range r.Volumes {
		if err := mount.CheckTarget("a volume", v.Path); err != nil {
			return err
		}
		for _, other := range r.Volumes[:i] {
			if mount.Overlap(v.Path, other.Path) {
				return fault.New(fault.Usage, "the volumes at %q and %q overlap", other.Path, v.Path)
			}
		}
	}
	return nil
}

// checkPermissions refuses permissions that cannot be enforced, with the reason.
func checkPermissions(p *session.Permissions) error {
	if len(p.Files.Write) > maxPatterns || len(p.Files.Hidden) > maxPatterns {
		return fault.New(fault.Usage, "a list of files has up to %d entries", maxPatterns)
	}
	for _, folder := range p.Files.Write {
		if strings.ContainsAny(folder, "*?[") {
			return fault.New(fault.Refused, "write access to %q cannot be enforced: it is given to whole folders, by ownership", folder).
				Hint("name the folder")
		}
		if !mount.IsPath(folder) {
			return fault.New(fault.Usage, "a folder with write access is an absolute path without .., not %q", folder)
		}
	}
	// These are shell globs, which aibox-init expands with filepath.Glob. The patterns of
	// .gitignore match at any depth, so they would need a walk of the whole image.
	for _, pattern := range p.Files.Hidden {
		if _, err := path.Match(pattern, ""); err != nil || !path.IsAbs(pattern) || strings.Contains(pattern, "..") || len(pattern) > mount.MaxPath || strings.ContainsFunc(pattern, isControl) {
			return fault.New(fault.Usage, "%q is not a pattern of hidden files: an absolute path that may hold *, ? and [", pattern)
		}
	}
	if p.Root && (p.Files.Write != nil || len(p.Files.Hidden) > 0 || p.Processes.NoChildren) {
		return fault.New(fault.Refused, "restrictions of files and processes cannot be enforced on root").
			Hint("create the sandbox without root")
	}
	if p.Processes.Max < 0 {
		return fault.New(fault.Usage, "%d is not a number of processes", p.Processes.Max)
	}
	for _, port := range p.Inbound {
		if port < 1 || port > 65535 {
			return fault.New(fault.Usage, "%s is not a port", fmt.Sprint(port))
		}
	}
	return nil
}
