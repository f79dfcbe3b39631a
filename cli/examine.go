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
	"aibox/internal/amount"
	"aibox/internal/health"
	"aibox/runtime"
	"aibox/session"

	"golang.org/x/sys/unix"
)

// setupDir is where the set-up keeps its runsc.
const setupDir = "/usr/local/lib/aibox/"

// program looks for a command in PATH and where Debian keeps those of root.
func program(name string) health.Finding {
	path, err := exec.LookPath(name)
	if err != nil {
		for _, dir := range []string{"/usr/sbin/", "/sbin/"} {
			if unix.Access(dir+name, unix.X_OK) == nil {
				return health.Finding{Name: name, State: health.OK, Detail: dir + name}
			}
		}
		return health.Finding{Name: name, State: health.Missing, Detail: "not found in PATH", Mend: health.SetUp}
	}
	return health.Finding{Name: name, State: health.OK, Detail: path}
}

func (a *app) initFinding() health.Finding {
	f := health.Finding{Name: "first process of a box"}
	deps, err := a.deps()
	if err == nil {
		f.Detail, err = deps.Init()
	}
	if err != nil {
		f.State, f.Detail, f.Mend = health.Missing, err.Error(), "make build"
		return f
	}
	f.State = health.OK
	return f
}

// daemonFinding is about the daemon, the system's or the user's own: what it is, or
// why there is none.
func daemonFinding(info runtime.Info, err error, system bool) health.Finding {
	if err != nil {
		return health.Finding{Name: "rootless Docker with runsc", State: health.Missing, Detail: err.Error(), Mend: dockerMend(system)}
	}
	detail := info.Version + ", of the system"
	if info.Rootless {
		detail = info.Version + ", rootless"
	}
	return health.Finding{Name: "Docker", State: health.OK, Detail: detail}
}

// dockerMend is what to type where the daemon cannot be used.
func dockerMend(system bool) string {
	host := os.Getenv("DOCKER_HOST")
	switch {
	case system:
		return "sudo systemctl start docker"
	case host == "" || host == "unix://"+filepath.Join(runtimeDir(), "docker.sock"):
		return health.SetUp
	default:
		return "unset DOCKER_HOST; " + health.SetUp
	}
}

// runtimeDir is where the user's own daemon has its socket.
func runtimeDir() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join("/run/user", strconv.Itoa(os.Getuid()))
}

func runscFinding(ctx context.Context, info runtime.Info) health.Finding {
	f := health.Finding{Name: "gVisor (runsc)", State: health.OK}
	runsc, ok := info.Find("runsc")
	if !ok {
		return health.Finding{Name: f.Name, State: health.Missing, Detail: "Docker has no runtime named runsc", Mend: health.SetUp}
	}
	if odd := oddRuntime(ctx, runsc); len(odd) > 0 {
		f.State, f.Detail = health.Missing, strings.Join(odd, "; ")
		f.Mend, f.Replaces = health.SetUp, registration(runsc)
		return f
	}
	switch {
	case !runsc.Overlay:
		f.State, f.Detail, f.Mend = health.Missing, "the box's own files are written to Docker's disk", health.SetUp
	case runsc.OverlaySize == 0:
		f.State, f.Detail, f.Mend = health.Missing, "what a box may write outside the workspace has no limit", health.SetUp
	default:
		f.Detail = fmt.Sprintf("%s, a box may write %d GB outside the workspace", runsc.Path, runsc.OverlaySize>>30)
	}
	if f.State != health.OK && !strings.HasPrefix(runsc.Path, setupDir) { // to its own registration the set-up adds what is missing
		f.Replaces = registration(runsc)
	}
	return f
}

// registration is a runtime as it is registered, raw.
func registration(r runtime.Runtime) string {
	return quoteAll(append([]string{r.Name + ":", r.Path}, r.Args...))
}

func (a *app) guardFinding(ctx context.Context) health.Finding {
	f := health.Finding{Name: "network guard", State: health.OK}
	client, err := a.rules(ctx)
	if err != nil {
		return health.Finding{Name: f.Name, State: health.Missing, Detail: err.Error(), Mend: health.SetUp}
	}
	status, err := client.Status(ctx)
	switch {
	case err != nil:
		f.State, f.Detail, f.Mend = health.Missing, err.Error(), health.SetUp
	case !status.Up:
		f.Detail = "not up; every start of a session puts it up"
	default:
		f.Detail = fmt.Sprintf("up, %s (%s)", status.Firewall.Tool, status.Firewall.Backend)
	}
	return f
}

func (a *app) imageFindings(ctx context.Context) []health.Finding {
	options, err := a.recipes()
	if err != nil {
		return nil // settingsFinding tells
	}
	kitchen, err := a.bakery(ctx, options)
	if err != nil {
		return []health.Finding{{Name: "images", State: health.Warning, Detail: err.Error()}}
	}
	states, err := kitchen.Check(ctx)
	if err != nil {
		return []health.Finding{{Name: "images", State: health.Warning, Detail: err.Error()}}
	}
	var found []health.Finding
	for _, s := range states {
		f := health.Finding{
			Name: "image " + s.Name, State: health.OK, Detail: s.State.String(),
			Image: s.Name, Agent: s.Name != bakery.Base,
		}
		if s.State != bakery.Fresh {
			f.State, f.Mend = health.Warning, "aibox bake "+s.Name
		}
		found = append(found, f)
	}
	return found
}

// diskFinding warns when there is little room for workspaces and records.
func (a *app) diskFinding() health.Finding {
	f := health.Finding{Name: "disk", State: health.OK}
	deps, err := a.deps()
	if err != nil {
		return health.Finding{Name: f.Name, State: health.Missing, Detail: err.Error()}
	}
	var stat unix.Statfs_t
	if err := unix.Statfs(deps.Dirs.Home, &stat); err != nil {
		return health.Finding{Name: f.Name, State: health.Missing, Detail: errors.Join(err).Error()}
	}
	free := stat.Bavail * uint64(stat.Bsize)
	f.Detail = fmt.Sprintf("%d GB free in %s", free>>30, deps.Dirs.Home)
	if own, err := a.ownSettings(); err == nil {
		if stale := session.New(deps).Stale(own.Settings.Keep); stale > 0 {
			f.Detail += fmt.Sprintf("; `aibox gc --dry-run` tells what %s could free", amount.Of(stale, "old session"))
		}
	}
	if free < 2<<30 {
		f.State, f.Mend = health.Warning, "aibox gc, then aibox ls and aibox rm of what is no longer needed"
	}
	return f
}
