package supervisor

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/netguard"
	"aibox/runtime"
	"aibox/session"
	"aibox/session/agentstate"
	"aibox/session/mount"
	"aibox/session/volume"
)

// sandboxSpec returns the definition of the sandbox.
func (s *sandbox) sandboxSpec(res *resources) (runtime.Spec, error) {
	init, err := s.init()
	if err != nil {
		return runtime.Spec{}, err
	}
	etc, err := s.etcFiles()
	if err != nil {
		return runtime.Spec{}, err
	}
	mounts, err := s.mounts(res)
	if err != nil {
		return runtime.Spec{}, err
	}
	for _, folder := range res.agent.Info().StateDirs {
		source, err := agentstate.MakeFolder(s.dir, s.launch.Spec.Agent, folder)
		if err != nil {
			return runtime.Spec{}, err
		}
		mounts = append(mounts, runtime.Mount{Source: source, Target: filepath.Join(sandboxHome, strings.TrimPrefix(folder, "~/"))})
		res.state = append(res.state, source)
	}
	return runtime.Spec{
		Session:      s.store.SandboxName(s.id),
		Image:        s.launch.ImageID,
		Hostname:     sandboxHostname,
		Init:         init,
		InitArgs:     []string{net.JoinHostPort(netguard.Address().String(), strconv.Itoa(netguard.PortLifeline))},
		Mounts:       mounts,
		Network:      res.network,
		ResolvConf:   etc["resolv.conf"],
		Hosts:        etc["hosts"],
		HostnameFile: etc["hostname"],
		Labels:       map[string]string{"aibox.agent": s.launch.Spec.Agent},
	}, nil
}

// mounts returns the mount of the workspace with those of the user's own folders, or, for a
// sandbox without a workspace, the mounts of its volumes.
func (s *sandbox) mounts(res *resources) ([]runtime.Mount, error) {
	spec := s.launch.Spec.Sandbox
	if spec == nil {
		own, err := s.ownMounts()
		return append([]runtime.Mount{{Source: res.folder, Target: sandboxWorkdir}}, own...), err
	}
	volumes := volume.NewStore(s.deps.Dirs)
	mounts := make([]runtime.Mount, 0, len(spec.Volumes))
	for _, m := range spec.Volumes {
		source, err := volumes.Source(spec.Tenant, m.Volume)
		if err != nil {
			return nil, err
		}
		mounts = append(mounts, runtime.Mount{Source: source, Target: m.Path, ReadOnly: m.ReadOnly})
		if !m.ReadOnly {
			res.volumes = append(res.volumes, source)
		}
	}
	return mounts, nil
}

// ownMounts returns the mounts of the user's folders and files. They are checked again, since
// the host's files may have changed after the request. A session of another tenant has none.
func (s *sandbox) ownMounts() ([]runtime.Mount, error) {
	spec := &s.launch.Spec
	if len(spec.Mount) > 0 && spec.Owner() != session.LocalTenant {
		return nil, fault.New(fault.Refused, "a session of the tenant %s cannot mount folders of this machine", spec.Tenant)
	}
	found, err := mount.Resolve(s.deps.Dirs, spec.Repository, spec.Mount)
	if err != nil {
		return nil, err
	}
	mounts := make([]runtime.Mount, len(found))
	for i, m := range found {
		mounts[i] = runtime.Mount{Source: m.Source, Target: m.Target, ReadOnly: true}
	}
	return mounts, nil
}

// etcFiles returns the host files that are mounted read-only in /etc of every sandbox, by
// name. gVisor's network stack cannot reach Docker's name server, and Docker's own hosts
// and hostname files are on the host's disk, where a sandbox could write without limit.
func (s *sandbox) etcFiles() (map[string]string, error) {
	if err := paths.MakePrivate(s.deps.Dirs.Cache); err != nil {
		return nil, err
	}
	address := netguard.Address().String()
	hosts := "127.0.0.1\tlocalhost " + sandboxHostname + "\n::1\tlocalhost ip6-localhost ip6-loopback\n"
	for _, name := range netguard.Names() {
		hosts += address + "\t" + name + "\n"
	}
	files := map[string]string{}
	for name, content := range map[string]string{
		"resolv.conf": "nameserver " + address + "\noptions timeout:1 attempts:1\n",
		"hosts":       hosts,
		"hostname":    sandboxHostname + "\n",
	} {
		files[name] = filepath.Join(s.deps.Dirs.Cache, name)
		if old, err := os.ReadFile(files[name]); err != nil || string(old) != content {
			if err := paths.WriteFile(files[name], []byte(content)); err != nil {
				return nil, err
			}
		}
		// Other users in the sandbox than root read them, too. The folder is private.
		if err := os.Chmod(files[name], 0o644); err != nil { //nolint:gosec // see above
			return nil, err
		}
	}
	return files, nil
}
