package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"aibox/bakery"
	"aibox/config"
	"aibox/internal/amount"
	"aibox/internal/diskuse"
	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/internal/shellquote"
	"aibox/runtime"

	"golang.org/x/sys/unix"
)

// setupDir is the folder of the setup's runsc.
const setupDir = "/usr/local/lib/aibox/"

// findProgram looks for a command in PATH and in the folders for root's commands in Debian.
func findProgram(name string) Finding {
	path, err := exec.LookPath(name)
	if err != nil {
		for _, dir := range []string{"/usr/sbin/", "/sbin/"} {
			if unix.Access(dir+name, unix.X_OK) == nil {
				return Finding{Name: name, State: OK, Detail: dir + name}
			}
		}
		return Finding{Name: name, State: Missing, Detail: "not found in PATH", Fix: SetupCommand}
	}
	return Finding{Name: name, State: OK, Detail: path}
}

func (d *Doctor) initFinding() Finding {
	f := Finding{Name: "init process of a sandbox"}
	var err error
	if f.Detail, err = d.sources.InstallInit(); err != nil {
		f.State, f.Detail, f.Fix = Missing, err.Error(), fixOf(err, "")
		return f
	}
	f.State = OK
	return f
}

// fixOf returns the hints of an error as a Fix, or other if it has none.
func fixOf(err error, other string) string {
	return cmp.Or(strings.Join(fault.Hints(err), "; "), other)
}

// daemonFinding reports the daemon, which is the system's or the user's own, or why there
// is none.
func daemonFinding(info runtime.Info, err error, system bool) Finding {
	if err != nil {
		return Finding{Name: "rootless Docker with runsc", State: Missing, Detail: err.Error(), Fix: dockerFix(err, system)}
	}
	detail := info.Version + ", of the system"
	if info.Rootless {
		detail = info.Version + ", rootless"
	}
	return Finding{Name: "Docker", State: OK, Detail: detail}
}

// dockerFix returns the command to run, or what else to do, if the daemon cannot be used because of
// err.
func dockerFix(err error, system bool) string {
	host := os.Getenv("DOCKER_HOST")
	switch {
	case system && errors.Is(err, fs.ErrPermission):
		return fixOf(err, "let your user use the Docker socket")
	case system && slices.Contains(fault.Hints(err), runtime.SystemRegistration):
		return runtime.SystemRegistration
	case system:
		return "sudo systemctl start docker"
	case host == "" || host == "unix://"+filepath.Join(paths.RuntimeDir(), "docker.sock"):
		return SetupCommand
	default:
		return "unset DOCKER_HOST; " + SetupCommand
	}
}

// fixBySetup returns SetupCommand, or step if sandboxes use the system's Docker, which the setup does not
// change.
func fixBySetup(system bool, step string) string {
	if system {
		return step
	}
	return SetupCommand
}

// systemInstallation is how a user gets another program of gVisor for the system's Docker.
const systemInstallation = "install gVisor's newest release as root, where only root can change it: https://gvisor.dev/docs/user_guide/install/"

func runscFinding(ctx context.Context, info runtime.Info, system bool) Finding {
	f := Finding{Name: "gVisor (runsc)", State: OK}
	fix := fixBySetup(system, runtime.SystemRegistration)
	runsc, ok := info.Find("runsc")
	if !ok {
		return Finding{Name: f.Name, State: Missing, Detail: "Docker has no runtime named runsc", Fix: fix}
	}
	if program, unsafe := runtimeProblems(ctx, runsc); program != "" || len(unsafe) > 0 {
		var problems, steps []string // steps are for the system's Docker
		if program != "" {
			problems, steps = append(problems, program), append(steps, systemInstallation)
		}
		if len(unsafe) > 0 {
			problems, steps = append(problems, unsafe...), append(steps, runtime.SystemRegistration)
		}
		f.State, f.Detail, f.Fix = Missing, strings.Join(problems, "; "), fixBySetup(system, strings.Join(steps, "; "))
		if !system && (!isOurs(runsc.Path) || len(unsafe) > 0) { // the setup installs its own program again
			f.Replaces = registration(runsc)
		}
		return f
	}
	switch {
	case !runsc.Overlay:
		f.State, f.Detail, f.Fix = Missing, "sandboxes write their files to Docker's disk", fix
	case runsc.OverlaySize == 0:
		f.State, f.Detail, f.Fix = Missing, "writes outside the workspace are not limited", fix
	default:
		f.Detail = fmt.Sprintf("%s, a sandbox can write %d GiB outside the workspace", runsc.Path, runsc.OverlaySize>>30)
	}
	if f.State != OK && !system && !isOurs(runsc.Path) { // the setup adds missing parts to its own registration
		f.Replaces = registration(runsc)
	}
	return f
}

// registration is a registered runtime, raw.
func registration(r runtime.Runtime) string {
	return shellquote.Join(append([]string{r.Name + ":", r.Path}, r.Args...))
}

func (d *Doctor) guardFinding(ctx context.Context, system bool) Finding {
	f := Finding{Name: "network guard", State: OK}
	guard, err := d.sources.Guard(ctx)
	switch {
	case err != nil:
		f.State, f.Detail, f.Fix = Missing, err.Error(), fixBySetup(system, fixOf(err, "check that Docker and iptables work"))
	case !guard.Up:
		f.Detail = "not active; starting a session activates it"
	default:
		f.Detail = fmt.Sprintf("up, %s (%s)", guard.Tool, guard.Backend)
	}
	return f
}

func (d *Doctor) imageFindings(ctx context.Context) []Finding {
	if _, err := d.sources.UserSettings(); err != nil {
		return nil // settingsFinding reports it
	}
	states, err := d.sources.Images(ctx)
	if err != nil {
		return []Finding{{Name: "images", State: Warning, Detail: err.Error(), Fix: fixOf(err, "check that `docker image ls` works")}}
	}
	var found []Finding
	for _, note := range d.sources.HostNotes() {
		found = append(found, Finding{Name: "builds of images", State: Warning, Detail: note})
	}
	for _, s := range states {
		f := Finding{
			Name: "image " + s.Name, State: OK, Detail: s.State.String(),
			Image: s.Name, Agent: s.Name != bakery.Base,
		}
		if s.State != bakery.Fresh {
			f.State, f.Fix = Warning, "aibox bake "+s.Name
		}
		found = append(found, f)
	}
	return found
}

// diskFinding warns if there is little free space for workspaces and records.
func (d *Doctor) diskFinding() Finding {
	f := Finding{Name: "disk", State: OK}
	dirs, err := paths.Default()
	if err != nil {
		return Finding{Name: f.Name, State: Missing, Detail: err.Error(), Fix: fixOf(err, "set HOME to your home folder")}
	}
	free, err := diskuse.Free(dirs.Home)
	if errors.Is(err, diskuse.ErrNoSize) {
		f.Detail = "the free space in " + dirs.Home + " is unknown, because " + err.Error()
		return f
	}
	if err != nil {
		return Finding{Name: f.Name, State: Missing, Detail: dirs.Home + ": " + err.Error(), Fix: "create this folder, or set HOME to another one"}
	}
	f.Detail = fmt.Sprintf("%d GiB free in %s", free>>30, dirs.Home)
	if stale := d.sources.StaleSessions(); stale > 0 {
		f.Detail += fmt.Sprintf("; `aibox gc --dry-run` shows what %s could free", amount.Of(stale, "old session"))
	}
	if free < 2<<30 {
		f.State, f.Fix = Warning, "aibox gc, then aibox ls and aibox rm to remove old sessions"
	}
	return f
}

// customAgentsFinding reports problems of the user's agent files.
func (d *Doctor) customAgentsFinding() Finding {
	custom := d.sources.CustomAgents()
	f := Finding{Name: "your agents", State: OK, Detail: "none"}
	if n := custom.Files; n > 0 {
		f.Detail = amount.Of(n, "file")
	}
	if n := len(custom.Broken); n > 0 {
		first := custom.Broken[0]
		f.State, f.Detail = Warning, fmt.Sprintf("%s skipped; the first is %s: %v", amount.Of(n, "file"), first.Path, first.Err)
		f.Fix = "aibox agents check " + strings.TrimSuffix(filepath.Base(first.Path), ".toml")
	}
	return f
}

// settingsFinding reports problems of the user's own settings.
func (d *Doctor) settingsFinding() Finding {
	f := Finding{Name: "settings", State: OK, Detail: "built in"}
	own, err := d.sources.UserSettings()
	if err != nil {
		f.State, f.Fix = Missing, "aibox config edit"
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
