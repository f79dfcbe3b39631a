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
	"aibox/config"
	"aibox/internal/amount"
	"aibox/internal/health"
	"aibox/internal/paths"
	"aibox/runtime"

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

func (a *cli) initFinding() health.Finding {
	f := health.Finding{Name: "first process of a sandbox"}
	var err error
	if f.Detail, err = a.app.InstallInit(); err != nil {
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
		f.State, f.Detail, f.Mend = health.Missing, "the sandbox's own files are written to Docker's disk", health.SetUp
	case runsc.OverlaySize == 0:
		f.State, f.Detail, f.Mend = health.Missing, "what a sandbox may write outside the workspace has no limit", health.SetUp
	default:
		f.Detail = fmt.Sprintf("%s, a sandbox may write %d GB outside the workspace", runsc.Path, runsc.OverlaySize>>30)
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

func (a *cli) guardFinding(ctx context.Context) health.Finding {
	f := health.Finding{Name: "network guard", State: health.OK}
	client, err := a.app.Guard(ctx)
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

func (a *cli) imageFindings(ctx context.Context) []health.Finding {
	options, err := a.app.BuildOptions()
	if err != nil {
		return nil // settingsFinding tells
	}
	builder, err := a.app.BuilderWith(ctx, options)
	if err != nil {
		return []health.Finding{{Name: "images", State: health.Warning, Detail: err.Error()}}
	}
	states, err := builder.Check(ctx)
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
func (a *cli) diskFinding() health.Finding {
	f := health.Finding{Name: "disk", State: health.OK}
	dirs, err := paths.Default()
	if err != nil {
		return health.Finding{Name: f.Name, State: health.Missing, Detail: err.Error()}
	}
	var stat unix.Statfs_t
	if err := unix.Statfs(dirs.Home, &stat); err != nil {
		return health.Finding{Name: f.Name, State: health.Missing, Detail: errors.Join(err).Error()}
	}
	free := stat.Bavail * uint64(stat.Bsize)
	f.Detail = fmt.Sprintf("%d GB free in %s", free>>30, dirs.Home)
	own, err := a.app.UserSettings()
	if service, failed := a.app.Sessions(); err == nil && failed == nil {
		if stale := service.Stale(own.Settings.Keep); stale > 0 {
			f.Detail += fmt.Sprintf("; `aibox gc --dry-run` tells what %s could free", amount.Of(stale, "old session"))
		}
	}
	if free < 2<<30 {
		f.State, f.Mend = health.Warning, "aibox gc, then aibox ls and aibox rm of what is no longer needed"
	}
	return f
}

// customAgentsFinding is what doctor says of the user's agent files.
func (a *cli) customAgentsFinding() health.Finding {
	custom := a.app.CustomAgents()
	f := health.Finding{Name: "your agents", State: health.OK, Detail: "none"}
	if n := len(custom.Files); n > 0 {
		f.Detail = amount.Of(n, "file")
	}
	if n := len(custom.Broken); n > 0 {
		first := custom.Broken[0]
		f.State, f.Detail = health.Warning, fmt.Sprintf("%s left out, the first is %s: %v", amount.Of(n, "file"), first.Path, first.Err)
		f.Mend = "aibox agents check " + strings.TrimSuffix(filepath.Base(first.Path), ".toml")
	}
	return f
}

// settingsFinding is what doctor says of the settings.
func (a *cli) settingsFinding() health.Finding {
	f := health.Finding{Name: "settings", State: health.OK, Detail: "built in"}
	own, err := a.app.UserSettings()
	if err != nil {
		f.State, f.Mend = health.Missing, "aibox config edit"
		f.Detail, _, _ = strings.Cut(err.Error(), "\n")
		return f
	}
	set := 0
	for _, setting := range own.All() {
		if setting.Source().Kind != config.BuiltIn {
			set++
		}
	}
	if set > 0 {
		f.Detail = fmt.Sprintf("%d set; `aibox config show --changed` shows them", set)
	}
	return f
}
