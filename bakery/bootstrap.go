package bakery

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aibox/internal/command"
	"aibox/internal/fault"
	"aibox/internal/termtext"
)

// keyring verifies Debian's archives. It comes with Debian, and on other hosts
// of the family with the package debian-archive-keyring.
const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// bootstrapArgs returns mmdebstrap's arguments for a minimal Debian as a tar stream on
// stdout. It is created in a user namespace, so an ordinary user can do it. Root has no
// subordinate ids, so it needs a mode other than unshare.
func bootstrapArgs(h Host, mode string) []string {
	if mode == "" {
		mode = "unshare"
	}
	args := []string{
		"--mode=" + mode, "--variant=minbase", "--format=tar", "--quiet",
		"--include=ca-certificates", "--keyring=" + keyring,
		// As in the registry's slim image: no manuals, and no fsync for every file, which also
		// speeds up apt-get in a sandbox.
		"--dpkgopt=force-unsafe-io",
		"--dpkgopt=path-exclude=/usr/share/man/*", "--dpkgopt=path-exclude=/usr/share/doc/*",
		"--dpkgopt=path-include=/usr/share/doc/*/copyright", "--dpkgopt=path-exclude=/usr/share/locale/*",
		"--aptopt=Acquire::Retries \"3\"", "--", suite, "-",
	}
	if h.Mirror.Main != "" {
		args = append(args, "deb "+h.Mirror.Main+" "+suite+" main", "deb "+h.Mirror.Main+" "+suite+"-updates main")
		if h.Mirror.Security != "" {
			args = append(args, "deb "+h.Mirror.Security+" "+suite+"-security main")
		}
	}
	return args
}

// bootstrap builds the system from Debian's packages and imports it.
func (r *run) bootstrap(ctx context.Context, source BaseSource) error {
	if err := bootstrapReady(); err != nil {
		return err
	}
	if m := r.options.Host.Mirror; m.Main != "" && m.Security == "" {
		r.note("Debian's security updates are missing from the base: the apt sources of this machine have no address for them that aibox can use")
	}
	return r.step("bootstrapping Debian 12 from packages", StepFailed, func(log func(string)) error {
		return importFrom(ctx, r.builder, source.Ref(), func(w io.Writer) error {
			return mmdebstrap(ctx, r.options.Host, w)
		})
	})
}

// bootstrapReady returns a fault if the host lacks what bootstrap needs.
func bootstrapReady() error {
	if _, err := exec.LookPath("mmdebstrap"); err != nil {
		return fault.New(fault.Environment, "mmdebstrap is not installed, which builds the Debian base of all images").
			Hint("sudo apt-get install -y mmdebstrap uidmap debian-archive-keyring")
	}
	if _, err := os.Stat(keyring); err != nil {
		return fault.New(fault.Environment, "the keys of Debian's archives are not installed (%s)", keyring).
			Hint("sudo apt-get install -y debian-archive-keyring")
	}
	return nil
}

// cleanUpTime is how long mmdebstrap may take to remove the system that it has built, after it
// was canceled.
const cleanUpTime = time.Minute

// mmdebstrap writes the system to w. It has a process group of its own: at a signal it waits for its
// child processes before it removes its folder, so they must get the signal too; and when its output
// is not taken, it sends SIGHUP to its whole group, in which aibox must not be.
func mmdebstrap(ctx context.Context, h Host, w io.Writer) error {
	mode := "unshare"
	if os.Getuid() == 0 {
		mode = "root"
	}
	env := command.Base()
	for name, value := range h.Proxies {
		env = append(env, name+"="+value, strings.ToLower(name)+"="+value) // apt knows only the lowercase names
	}
	if dir := os.Getenv("TMPDIR"); filepath.IsAbs(dir) && openToAll(dir) {
		env = append(env, "TMPDIR="+dir)
	}
	slices.Sort(env)
	err := command.Cmd{Name: "mmdebstrap", Args: bootstrapArgs(h, mode), Env: env, Stdout: w, Group: true, Grace: cleanUpTime}.Run(ctx)
	var failed *command.Error
	if errors.As(err, &failed) && ctx.Err() == nil {
		return fault.New(fault.Environment, "mmdebstrap failed with exit code %d: %s", failed.Code, termtext.Escape(lastLine(failed.Stderr))).
			Hint("mmdebstrap --mode=unshare --variant=minbase %s /tmp/debian.tar shows why", suite).
			Hint("if /tmp is too small or forbids programs, set TMPDIR to a folder where all users can write, such as /var/tmp")
	}
	return err
}

// openToAll reports whether every user can create files in dir, and remove only their own. mmdebstrap builds the system as another one
// of the user's ids, to which a private folder for temporary files is closed.
func openToAll(dir string) bool {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	need := 0o003 | fs.ModeSticky
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode()&need != need {
			return false
		}
		if dir == "/" {
			return true
		}
		dir, need = filepath.Dir(dir), 0o001
	}
}

// importFrom imports the output of produce. If produce fails, the stream ends with an
// error, so the daemon drops the partial image and names nothing.
func importFrom(ctx context.Context, builder ImageBuilder, ref string, produce func(io.Writer) error) error {
	pr, pw := io.Pipe()
	produced := make(chan error, 1)
	go func() {
		err := produce(pw)
		produced <- err // before the reader can see the end
		_ = pw.CloseWithError(err)
	}()
	err := builder.Import(ctx, ref, pr)
	var made error
	select {
	case made = <-produced: // the stream ended before the import did
	default:
		_ = pr.CloseWithError(errors.New("the daemon stopped reading"))
		<-produced //nolint:errcheck // it ended because the import failed, and that error is returned
	}
	if made != nil {
		return made
	}
	return err
}
