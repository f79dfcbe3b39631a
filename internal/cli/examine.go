package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"aibox/bakery"
	"aibox/runtime"
	"aibox/session"

	"golang.org/x/sys/unix"
)

// setupDir is where the set-up keeps its runsc.
const setupDir = "/usr/local/lib/aibox/"

// examine checks everything, one finding each.
func (a *app) examine(ctx context.Context) []finding {
	findings := []finding{
		program("git"),
		program("nsenter"),
		program("iptables"),
		a.initFinding(),
		a.settingsFinding(), a.guestsFinding(),
	}
	// Settings that cannot be read do not say which Docker.
	if system, err := a.systemDocker(); err == nil {
		docker := a.dockerFindings(ctx, system)
		findings = append(findings, thisMachine(system).findings(docker[0].State == stateOK)...)
		findings = append(findings, docker...)
	}
	return append(findings, a.diskFinding())
}

// program looks for a command in PATH and where Debian keeps those of root.
func program(name string) finding {
	path, err := exec.LookPath(name)
	if err != nil {
		for _, dir := range []string{"/usr/sbin/", "/sbin/"} {
			if unix.Access(dir+name, unix.X_OK) == nil {
				return finding{Name: name, State: stateOK, Detail: dir + name}
			}
		}
		return finding{Name: name, State: stateMissing, Detail: "not found in PATH", Mend: fixCommand}
	}
	return finding{Name: name, State: stateOK, Detail: path}
}

func (a *app) initFinding() finding {
	f := finding{Name: "first process of a box"}
	deps, err := a.deps()
	if err == nil {
		f.Detail, err = deps.Init()
	}
	if err != nil {
		f.State, f.Detail, f.Mend = stateMissing, err.Error(), "make build"
		return f
	}
	f.State = stateOK
	return f
}

// dockerFindings are about the daemon, the system's or the user's own, and what
// depends on it. The first one says whether there is a daemon.
func (a *app) dockerFindings(ctx context.Context, system bool) []finding {
	daemon, err := a.docker(ctx)
	var info runtime.Info
	if err == nil {
		info, err = daemon.Backend.Info(ctx)
	}
	if err != nil {
		return []finding{{Name: "rootless Docker with runsc", State: stateMissing, Detail: err.Error(), Mend: dockerMend(system)}}
	}
	found := []finding{{Name: "Docker", State: stateOK, Detail: fmt.Sprintf("%s, rootless %v", info.Version, info.Rootless)}}
	found = append(found, runscFinding(info), a.guardFinding(ctx))
	return append(found, a.imageFindings(ctx)...)
}

// dockerMend is what to type where the daemon cannot be used.
func dockerMend(system bool) string {
	host := os.Getenv("DOCKER_HOST")
	switch {
	case system:
		return "sudo systemctl start docker"
	case host == "" || host == "unix://"+filepath.Join(runtimeDir(), "docker.sock"):
		return fixCommand
	default:
		return "unset DOCKER_HOST; " + fixCommand
	}
}

// runtimeDir is where the user's own daemon has its socket.
func runtimeDir() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join("/run/user", strconv.Itoa(os.Getuid()))
}

func runscFinding(info runtime.Info) finding {
	f := finding{Name: "gVisor (runsc)", State: stateOK}
	runsc, ok := info.Find("runsc")
	overlay := fixCommand
	if !strings.HasPrefix(runsc.Path, setupDir) { // the set-up leaves alone what others registered
		overlay = "add --overlay2=root:self,size=10g to runtimes.runsc.runtimeArgs in Docker's daemon.json, then restart Docker"
	}
	switch {
	case !ok:
		return finding{Name: f.Name, State: stateMissing, Detail: "Docker has no runtime named runsc", Mend: fixCommand}
	case !runsc.Overlay:
		f.State, f.Detail, f.Mend = stateWarning, "the box's own files are written to Docker's disk", overlay
	case runsc.OverlaySize == 0:
		f.State, f.Detail, f.Mend = stateWarning, "what a box may write outside the workspace has no limit", overlay
	default:
		f.Detail = fmt.Sprintf("%s, a box may write %d GB outside the workspace", runsc.Path, runsc.OverlaySize>>30)
	}
	return f
}

func (a *app) guardFinding(ctx context.Context) finding {
	f := finding{Name: "network guard", State: stateOK}
	client, err := a.rules(ctx)
	if err != nil {
		return finding{Name: f.Name, State: stateMissing, Detail: err.Error(), Mend: fixCommand}
	}
	status, err := client.Status(ctx)
	switch {
	case err != nil:
		f.State, f.Detail, f.Mend = stateMissing, err.Error(), fixCommand
	case !status.Up:
		f.Detail = "not up; every start of a session puts it up"
	default:
		f.Detail = fmt.Sprintf("up, %s (%s)", status.Firewall.Tool, status.Firewall.Backend)
	}
	return f
}

func (a *app) imageFindings(ctx context.Context) []finding {
	options, err := a.recipes()
	if err != nil {
		return nil // settingsFinding tells
	}
	kitchen, err := a.bakery(ctx, options)
	if err != nil {
		return []finding{{Name: "images", State: stateWarning, Detail: err.Error()}}
	}
	states, err := kitchen.Check(ctx)
	if err != nil {
		return []finding{{Name: "images", State: stateWarning, Detail: err.Error()}}
	}
	var found []finding
	for _, s := range states {
		f := finding{Name: "image " + s.Name, State: stateOK, Detail: s.State.String()}
		if s.State != bakery.Fresh {
			f.State, f.Mend = stateWarning, "aibox bake "+s.Name
		}
		found = append(found, f)
	}
	return found
}

// diskFinding warns when there is little room for workspaces and records.
func (a *app) diskFinding() finding {
	f := finding{Name: "disk", State: stateOK}
	deps, err := a.deps()
	if err != nil {
		return finding{Name: f.Name, State: stateMissing, Detail: err.Error()}
	}
	var stat unix.Statfs_t
	if err := unix.Statfs(deps.Dirs.Home, &stat); err != nil {
		return finding{Name: f.Name, State: stateMissing, Detail: errors.Join(err).Error()}
	}
	free := stat.Bavail * uint64(stat.Bsize)
	f.Detail = fmt.Sprintf("%d GB free in %s", free>>30, deps.Dirs.Home)
	if own, err := a.ownSettings(); err == nil {
		if stale := session.New(deps).Stale(own.Settings.Keep); stale > 0 {
			f.Detail += fmt.Sprintf("; `aibox gc --dry-run` tells what %s could free", plural(stale, "old session"))
		}
	}
	if free < 2<<30 {
		f.State, f.Mend = stateWarning, "aibox gc, then aibox ls and aibox rm of what is no longer needed"
	}
	return f
}
