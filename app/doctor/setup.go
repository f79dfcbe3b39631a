package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"aibox/internal/command"
	"aibox/internal/fault"
	"aibox/internal/health"
	"aibox/internal/paths"
	"aibox/scripts"
)

// setupEnv are the settings of a person that the set-up needs: where things are, how
// the network is reached, how to print. Keys and tokens are not among them.
var setupEnv = regexp.MustCompile(`^(PATH|HOME|USER|LOGNAME|SHELL|TERM|COLORTERM|NO_COLOR|LANG|LC_.*|TZ|CI|XDG_.*|DBUS_SESSION_BUS_ADDRESS|SSL_CERT_(FILE|DIR)|CURL_CA_BUNDLE|(HTTPS?|NO|ALL)_PROXY|(https?|no|all)_proxy|GO(PROXY|FLAGS|NOSUMDB|SUMDB|NOPROXY|PRIVATE|INSECURE|CACHE|MODCACHE|PATH))=`)

// fixing is how --fix goes.
type fixing struct {
	yes     bool // without a question
	replace bool // the runtime that others registered gives way to aibox's
}

// replaceFlag is the flag of the set-up, and of doctor, for fixing.replace.
const replaceFlag = "--replace-runtime"

// args are those of the set-up.
func (f fixing) args() []string {
	if f.replace {
		return []string{replaceFlag}
	}
	return nil
}

// fix runs the set-up for what it can mend of found, after showing what that is and
// a question, and examines again. The question covers the replacement of a runtime that
// others registered; how.yes does not. An error beside findings says that the set-up
// stopped; findings are nil where it could not be asked to start.
func (a *cli) fix(ctx context.Context, found []health.Finding, how fixing) ([]health.Finding, error) {
	if system, _ := a.app.SystemDocker(); system {
		return nil, fault.New(fault.Usage, "--fix sets up rootless Docker, but the system's Docker is asked for").
			Hint("leave --rootful out, and rootful out of the settings")
	}
	if os.Getuid() == 0 {
		return nil, fault.New(fault.Usage, "rootless Docker needs a user other than root, and you are root").
			Hint("as that user: %s", health.SetUp).Hint("or from a checkout of aibox: scripts/setup-rootless-gvisor.sh --user NAME")
	}
	if !slices.ContainsFunc(found, health.Finding.BySetUp) {
		fmt.Fprintln(a.err, "nothing is missing that the set-up could mend")
		return found, nil
	}
	script, remove, err := a.setupScript()
	if err != nil {
		return nil, err
	}
	defer remove()
	replaced, consented := replacedBy(found), how.replace
	how.replace = consented || len(replaced) > 0
	if err := a.showPlan(ctx, script, how, replaced); err != nil {
		return nil, err
	}
	switch {
	case how.yes && how.replace && !consented:
		return nil, fault.New(fault.Usage, "--yes does not cover the replacement of a runtime that is registered with Docker; nothing was changed").
			Hint("`%s --yes %s` replaces it", health.SetUp, replaceFlag).
			Hint("`%s` asks first", health.SetUp)
	case !how.yes:
		agreed, err := a.askToFix(ctx, how)
		if err != nil {
			return nil, err
		}
		if !agreed {
			return found, nil
		}
	}
	// An interrupt reaches the set-up too, which shares the terminal; killing it here as
	// well would leave packages half installed.
	err = setupCommand(a.err, script, how.args()...).Run(context.WithoutCancel(ctx))
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		err = fault.New(fault.Environment, "the set-up did not come to its end; it says above why").Hint("do what it says, then: %s", health.SetUp)
	}
	fmt.Fprintln(a.err)
	return health.All(ctx, a.checks()), err
}

// replacedBy are the registrations that the set-up has to replace to mend what was found.
func replacedBy(found []health.Finding) []string {
	var replaced []string
	for _, f := range found {
		if f.BySetUp() && f.Replaces != "" {
			replaced = append(replaced, f.Replaces)
		}
	}
	return replaced
}

// setupScript writes the script into a folder of its own that nobody else can open,
// and returns it with the function that removes both.
func (a *cli) setupScript() (string, func(), error) {
	dirs, err := paths.Default()
	if err != nil {
		return "", nil, err
	}
	if err := paths.MakePrivate(dirs.Cache); err != nil {
		return "", nil, fmt.Errorf("keeping the set-up script: %w", err)
	}
	dir, err := os.MkdirTemp(dirs.Cache, "setup-")
	if err != nil {
		return "", nil, err
	}
	remove := func() { os.RemoveAll(dir) }
	file := filepath.Join(dir, "setup-rootless-gvisor.sh")
	err = errors.Join(os.WriteFile(file, scripts.Setup, 0o600), os.Chmod(file, 0o700)) // whatever the umask
	if err == nil {
		err = onlyOurs(file, scripts.Setup)
	}
	if err != nil {
		remove()
		return "", nil, fmt.Errorf("keeping the set-up script: %w", err)
	}
	return file, remove, nil
}

// onlyOurs checks that file holds want and that neither it nor its folder can be
// opened by anybody else: what stands there is about to be run with sudo in it.
func onlyOurs(file string, want []byte) error {
	for _, path := range []string{filepath.Dir(file), file} {
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		if info.Mode().Perm() != 0o700 || info.Mode()&os.ModeSymlink != 0 {
			return fmt.Errorf("%q is open to others (%v)", path, info.Mode())
		}
	}
	got, err := os.ReadFile(file)
	if err == nil && !bytes.Equal(got, want) {
		err = fmt.Errorf("%q does not hold what was written", file)
	}
	return err
}

// showPlan prints the command that would be run, what it says it would do, and what
// would be replaced.
func (a *cli) showPlan(ctx context.Context, script string, how fixing, replaced []string) error {
	var plan bytes.Buffer
	err := setupCommand(&plan, script, append(how.args(), "--check")...).Run(ctx)
	var failed *command.Error
	if err != nil && (!errors.As(err, &failed) || failed.Code != 3) {
		return fmt.Errorf("asking the set-up what it would do: %w", err)
	}
	fmt.Fprintf(a.err, "To run, as you, with sudo where it needs root:\n\n  %s\n\nIt would do this, then start a container as a proof:\n\n", safe(quoteAll(append([]string{"bash", script}, how.args()...))))
	for line := range strings.Lines(plan.String()) {
		if state, _, _ := strings.Cut(line, " "); state == "todo" || state == "hand" {
			fmt.Fprintf(a.err, "  %s\n", safe(line))
		}
	}
	for _, registered := range replaced {
		fmt.Fprintf(a.err, "\nIt would replace this runtime, which is registered with Docker:\n\n  %s\n", safe(registered))
	}
	fmt.Fprintln(a.err)
	return nil
}

// askToFix asks a person, with no as the answer of the return key.
func (a *cli) askToFix(ctx context.Context, how fixing) (bool, error) {
	if !a.errTerm.interactive || !terminalOf(a.in).interactive {
		return false, fault.New(fault.Usage, "nobody can be asked here whether to do that").Hint("`%s` does it without a question", strings.Join(append([]string{health.SetUp, "--yes"}, how.args()...), " "))
	}
	question := "Do that? [y/N] "
	if how.replace {
		question = "Do that, and replace the registered runtime? [y/N] "
	}
	agreed, err := a.yes(ctx, question)
	switch {
	case err != nil:
		return false, fault.New(fault.Interrupted, "interrupted; nothing was changed")
	case !agreed:
		fmt.Fprint(a.err, "nothing was changed\n\n")
	}
	return agreed, nil
}

// setupCommand is the script with both of its streams going to out.
func setupCommand(out io.Writer, script string, args ...string) command.Cmd {
	env := slices.DeleteFunc(os.Environ(), func(setting string) bool { return !setupEnv.MatchString(setting) })
	run := append([]string{"-c", `exec bash "$0" "$@" 2>&1`, script}, args...)
	return command.Cmd{Name: "bash", Args: run, Env: env, Stdout: out}
}
