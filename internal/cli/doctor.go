package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"aibox/bakery"
	"aibox/internal/fault"
	"aibox/runtime"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// finding is what doctor says of one requirement.
type finding struct {
	Name   string `json:"name"`
	State  string `json:"state"` // "ok", "warning" (aibox works with less) or "missing"
	Detail string `json:"detail"`
	Mend   string `json:"mend,omitempty"` // the command or step that mends it
}

const (
	stateOK      = "ok"
	stateWarning = "warning"
	stateMissing = "missing"
)

// setupCommand is what mends a machine.
const setupCommand = "scripts/setup-rootless-gvisor.sh"

func (a *app) doctorCommand() *cobra.Command {
	var asJSON, probes bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check this machine, and prove the isolation",
		Long: `Check every requirement and say what mends it. With --probe, start a real box and
show what it could reach and what it could not.`,
		Example: "  aibox doctor\n  aibox doctor --probe",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.doctor(cmd.Context(), asJSON, probes)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&probes, "probe", false, "start a box and prove what it can reach")
	return cmd
}

func (a *app) doctor(ctx context.Context, asJSON, probes bool) error {
	findings := a.examine(ctx)
	missing := 0
	for _, f := range findings {
		if f.State == stateMissing {
			missing++
		}
	}
	var shown *proof
	var err error
	if probes && missing == 0 {
		if shown, err = a.prove(ctx); err != nil {
			return err
		}
	}
	if asJSON {
		err = printJSON(a.out, struct {
			Findings []finding `json:"findings"`
			Proof    *proof    `json:"proof,omitempty"`
		}{findings, shown})
	} else {
		a.printFindings(findings)
		a.printProof(shown)
	}
	switch {
	case err != nil:
		return err
	case missing > 0:
		return fault.New(fault.Environment, "%d of %d requirements are not met", missing, len(findings)).
			Hint("each line above names what mends it")
	case shown != nil && shown.Failed > 0:
		return fault.New(fault.Refused, "%d of %d probes came out wrong: the box is not closed", shown.Failed, len(shown.Results))
	default:
		return nil
	}
}

// examine checks everything, one finding each.
func (a *app) examine(ctx context.Context) []finding {
	findings := []finding{
		program("git", "git", "install git"),
		program("nsenter", "nsenter", "install util-linux"),
		program("iptables", "iptables", "install iptables"),
		bridgeFinding(),
		a.initFinding(),
		a.settingsFinding(),
	}
	if _, err := a.systemDocker(); err == nil { // else the settings do not say which Docker
		findings = append(findings, a.dockerFindings(ctx)...)
	}
	return append(findings, a.diskFinding())
}

func program(name, file, mend string) finding {
	path, err := exec.LookPath(file)
	if err != nil {
		for _, dir := range []string{"/usr/sbin/", "/sbin/"} {
			if unix.Access(dir+file, unix.X_OK) == nil {
				return finding{Name: name, State: stateOK, Detail: dir + file}
			}
		}
		return finding{Name: name, State: stateMissing, Detail: "not found in PATH", Mend: mend}
	}
	return finding{Name: name, State: stateOK, Detail: path}
}

// bridgeFinding is about the kernel module without which Docker refuses networks
// whose containers cannot talk to each other. Rootless Docker cannot load it.
func bridgeFinding() finding {
	f := finding{Name: "bridge filter", State: stateOK, Detail: "the kernel has br_netfilter"}
	if _, err := os.Stat("/proc/sys/net/bridge"); err != nil {
		f.State, f.Detail, f.Mend = stateMissing, "the kernel module br_netfilter is not loaded", "sudo modprobe br_netfilter, or "+setupCommand
	}
	return f
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

// dockerFindings are about the daemon and what depends on it.
func (a *app) dockerFindings(ctx context.Context) []finding {
	daemon, err := a.docker(ctx)
	var info runtime.Info
	if err == nil {
		info, err = daemon.Backend.Info(ctx)
	}
	if err != nil {
		mend := setupCommand
		if hints := fault.Hints(err); len(hints) > 0 {
			mend = hints[0]
		}
		return []finding{{Name: "rootless Docker with runsc", State: stateMissing, Detail: err.Error(), Mend: mend}}
	}
	found := []finding{{Name: "Docker", State: stateOK, Detail: fmt.Sprintf("%s, rootless %v", info.Version, info.Rootless)}}
	found = append(found, runscFinding(info), a.guardFinding(ctx))
	return append(found, a.imageFindings(ctx)...)
}

func runscFinding(info runtime.Info) finding {
	f := finding{Name: "gVisor (runsc)", State: stateOK}
	runsc, ok := info.Find("runsc")
	switch {
	case !ok:
		return finding{Name: f.Name, State: stateMissing, Detail: "Docker has no runtime named runsc", Mend: setupCommand}
	case !runsc.Overlay:
		f.State, f.Detail, f.Mend = stateWarning, "the box's own files are written to Docker's disk", setupCommand
	case runsc.OverlaySize == 0:
		f.State, f.Detail, f.Mend = stateWarning, "what a box may write outside the workspace has no limit", setupCommand
	default:
		f.Detail = fmt.Sprintf("%s, a box may write %d GB outside the workspace", runsc.Path, runsc.OverlaySize>>30)
	}
	return f
}

func (a *app) guardFinding(ctx context.Context) finding {
	f := finding{Name: "network guard", State: stateOK}
	client, err := a.rules(ctx)
	if err != nil {
		return finding{Name: f.Name, State: stateMissing, Detail: err.Error(), Mend: setupCommand}
	}
	status, err := client.Status(ctx)
	switch {
	case err != nil:
		f.State, f.Detail, f.Mend = stateMissing, err.Error(), setupCommand
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
	if free < 2<<30 {
		f.State, f.Mend = stateWarning, "make room: workspaces, records and images share this disk"
	}
	return f
}

func (a *app) printFindings(findings []finding) {
	var rows [][]string
	for _, f := range findings {
		mark := a.term.good("✓")
		switch f.State {
		case stateWarning:
			mark = a.term.warn("!")
		case stateMissing:
			mark = a.term.bad("✗")
		}
		detail := safe(f.Detail)
		if f.Mend != "" {
			detail += "  → " + safe(f.Mend)
		}
		rows = append(rows, []string{mark + " " + f.Name, detail})
	}
	_ = table(a.out, "", rows)
}
