package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aibox/internal/command"
	"aibox/internal/fault"
	"aibox/internal/lazyregexp"
	"aibox/internal/paths"
	"aibox/scripts"
)

// ReplaceFlag is the flag of the setup, and of `aibox doctor`, that lets it replace a
// runtime that another program registered.
const ReplaceFlag = "--replace-runtime"

// setupEnv matches the variables that the setup needs: for paths, network access and
// output. It does not match keys and tokens.
var setupEnv = lazyregexp.New(`^(PATH|HOME|USER|LOGNAME|SHELL|TERM|COLORTERM|NO_COLOR|LANG|LC_.*|TZ|CI|TMPDIR|XDG_.*|DBUS_SESSION_BUS_ADDRESS|SSL_CERT_(FILE|DIR)|CURL_CA_BUNDLE|(HTTPS?|NO|ALL)_PROXY|(https?|no|all)_proxy|GO(PROXY|FLAGS|NOSUMDB|SUMDB|NOPROXY|PRIVATE|INSECURE|CACHE|MODCACHE|PATH))=`)

// Setup is aibox's setup script, written to a folder that only this user can open.
type Setup struct {
	Replace bool // run it with ReplaceFlag

	script string
}

// OpenSetup writes the script. The caller closes it, which removes the script.
func OpenSetup() (*Setup, error) {
	dirs, err := paths.Default()
	if err != nil {
		return nil, err
	}
	if err := paths.MakePrivate(dirs.Cache); err != nil {
		return nil, fmt.Errorf("saving the setup script: %w", err)
	}
	dir, err := os.MkdirTemp(dirs.Cache, "setup-")
	if err != nil {
		return nil, err
	}
	s := &Setup{script: filepath.Join(dir, "setup-rootless-gvisor.sh")}
	err = errors.Join(os.WriteFile(s.script, scripts.Setup, 0o600), os.Chmod(s.script, 0o700)) // independent of the umask
	if err == nil {
		err = onlyOurs(s.script, scripts.Setup)
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("saving the setup script: %w", err)
	}
	return s, nil
}

// Close removes the script.
func (s *Setup) Close() { os.RemoveAll(filepath.Dir(s.script)) }

// Command returns the command that Run runs.
func (s *Setup) Command() []string { return append([]string{"bash", s.script}, s.args()...) }

// planEnd matches the last line of a setup that has checked the whole machine.
var planEnd = lazyregexp.New(`(?m)^(\d+ of \d+ items are missing|nothing to do) for .+\n\z`)

// Plan returns what Run would do, a raw line for each step. It is an error if the setup
// could not check the machine; its exit code does not tell that from missing steps.
func (s *Setup) Plan(ctx context.Context) ([]string, error) {
	var plan bytes.Buffer
	err := s.command(&plan, append(s.args(), "--check")...).Run(ctx)
	var failed *command.Error
	if err != nil && (!errors.As(err, &failed) || failed.Code != 3) || !planEnd.MatchString(plan.String()) {
		return nil, noPlan(plan.String(), err)
	}
	var steps []string
	for line := range strings.Lines(plan.String()) {
		if state, _, _ := strings.Cut(line, " "); state == "todo" || state == "manual" {
			steps = append(steps, line)
		}
	}
	return steps, nil
}

// noPlan returns the error that the setup printed, with its hints, or else err.
func noPlan(printed string, err error) error {
	failure := fault.New(fault.Environment, "previewing the setup: %w", err)
	for line := range strings.Lines(printed) {
		line = strings.TrimRight(line, "\n")
		if sentence, ok := strings.CutPrefix(line, "setup: "); ok {
			failure.Message = "the setup cannot check this machine: " + sentence
		}
		if hint, ok := strings.CutPrefix(line, "  try: "); ok {
			failure.Hints = append(failure.Hints, hint)
		}
	}
	return failure
}

// Run runs the script, which prints to out.
func (s *Setup) Run(ctx context.Context, out io.Writer) error {
	return s.command(out, s.args()...).Run(ctx)
}

func (s *Setup) args() []string {
	if s.Replace {
		return []string{ReplaceFlag}
	}
	return nil
}

// command returns the command of the script, with both of its output streams going to out.
func (s *Setup) command(out io.Writer, args ...string) command.Cmd {
	env := slices.DeleteFunc(os.Environ(), func(setting string) bool { return !setupEnv.MatchString(setting) })
	run := append([]string{"-c", `exec bash "$0" "$@" 2>&1`, s.script}, args...)
	return command.Cmd{Name: "bash", Args: run, Env: env, Stdout: out}
}

// Replaced returns the registrations that the setup has to replace to fix the findings.
func Replaced(found []Finding) []string {
	var replaced []string
	for _, f := range found {
		if f.FixedBySetup() && f.Replaces != "" {
			replaced = append(replaced, f.Replaces)
		}
	}
	return replaced
}

// onlyOurs checks that file holds want and that no other user can open it or its folder:
// the file is about to be run and calls sudo.
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
		err = fmt.Errorf("%q does not contain what was written", file)
	}
	return err
}
