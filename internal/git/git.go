// Package git runs the git command; nothing else does. It knows two kinds of repository:
// aibox's own, where only git's default configuration applies, and the user's, where the
// user's configuration applies but hooks and monitors do not run. It never runs in a folder
// that an agent can write to.
//
// It does not use go-git, which runs no filters and compares whole trees in memory. A Pack is
// written by hand because git itself then checks and stores it (git index-pack).
package git

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aibox/internal/command"
	"aibox/internal/termtext"
)

// quiet has the settings for every repository: no program that the repository chooses runs,
// and nothing runs in the background.
var quiet = []string{
	"-c", "core.hooksPath=/dev/null",
	"-c", "core.fsmonitor=false",
	"-c", "core.untrackedCache=false",
	"-c", "gc.auto=0",
	"-c", "maintenance.auto=false",
	"-c", "submodule.recurse=false",
}

// inherited has the variables of aibox's own environment that git receives in the user's
// repository: where the user's settings are and how to reach remotes.
var inherited = slices.Concat([]string{
	"XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
	"SSH_AUTH_SOCK", "GIT_SSL_CAINFO", "SSL_CERT_FILE", "SSL_CERT_DIR",
}, command.ProxyVariables)

// Repo runs git in one repository. It is safe for concurrent use.
type Repo struct {
	dir      string
	args     []string
	env      []string
	group    bool      // git's child processes end with it
	warnings io.Writer // receives git's stderr; can be nil
}

// Dir returns the folder of the repository, or the one in it that git runs in.
func (r *Repo) Dir() string { return r.dir }

// Owned returns a bare repository that aibox made at dir. System and user configuration,
// attributes, hooks and remote helpers have no effect there.
func Owned(dir string) *Repo {
	env := append(command.Base(),
		"GIT_DIR="+dir,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_ATTR_NOSYSTEM=1", "GIT_ALLOW_PROTOCOL=none",
	)
	args := append([]string{
		"-c", "core.attributesFile=/dev/null",
		"-c", "core.excludesFile=/dev/null",
		"-c", "core.bigFileThreshold=16m",
		"-c", "core.quotePath=true",
		"-c", "core.ignoreCase=false", // git init sets it by the disk, and git fast-import would make one file of a and A
		"-c", "core.fsync=all", // a workspace is removed once a ref holds its work
		"-c", "fastimport.unpackLimit=1",
	}, quiet...)
	return &Repo{dir: dir, args: args, env: append(env, common...)}
}

// Scratch creates a temporary bare repository in the empty folder dir, which borrows the
// objects of aibox's own repository at of. It does not sync its files to the disk.
func Scratch(ctx context.Context, dir, of string, format Format) (*Repo, error) {
	r := Owned(dir).With("GIT_ALTERNATE_OBJECT_DIRECTORIES=" + Quote(filepath.Join(of, "objects")))
	r.args = append(r.args, "-c", "core.fsync=none")
	return r, r.Run(ctx, nil, nil, "init", "--quiet", "--bare", "--template=", "--initial-branch=none", "--object-format="+string(format), dir)
}

// User returns the user's repository that contains dir. The user's own settings apply
// there, as if they had typed the command, but no hook and no monitor runs.
func User(dir string) *Repo {
	return &Repo{dir: dir, args: append([]string{"-C", dir}, quiet...), env: userEnv()}
}

// Beside returns the user's repository whose git directory is gitDir, with another working
// tree, a folder that aibox made, and another index, which need not exist yet. Adding its
// files runs the user's filters over them. Objects are written to the repository.
func Beside(gitDir, tree, index string) *Repo {
	args := append([]string{
		"-C", tree,
		"-c", "core.safecrlf=false", // no file of the user can be lost
		"-c", "core.splitIndex=false", "-c", "index.sparse=false", "-c", "core.sparseCheckout=false", // the index is never split into two files
	}, quiet...)
	env := append(userEnv(), "GIT_DIR="+gitDir, "GIT_WORK_TREE="+tree, "GIT_INDEX_FILE="+index)
	return &Repo{dir: tree, args: args, env: env, group: true}
}

// Anywhere runs git outside any repository, with the user's settings. It is for clone.
func Anywhere() *Repo {
	env := append(userEnv(), "GIT_ALLOW_PROTOCOL=https:ssh:git:file")
	return &Repo{dir: "/", args: append([]string{"-C", "/"}, quiet...), env: env}
}

// common prevents prompts, optional writes and replaced objects.
var common = []string{
	"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1",
	"GIT_LITERAL_PATHSPECS=1", "GIT_PAGER=cat", "GIT_EDITOR=false", "GIT_ASKPASS=",
	"GIT_NO_LAZY_FETCH=1",
}

func userEnv() []string {
	env := command.Base()
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return append(env, common...)
}

// With returns a copy of r with more environment variables, NAME=VALUE.
func (r *Repo) With(env ...string) *Repo {
	with := *r
	with.env = append(append([]string(nil), r.env...), env...)
	return &with
}

// Warned returns a copy of r that also writes git's stderr to w.
func (r *Repo) Warned(w io.Writer) *Repo {
	warned := *r
	warned.warnings = w
	return &warned
}

// Run runs a git command. stdin and stdout may be nil. A failure is a
// *command.Error.
func (r *Repo) Run(ctx context.Context, stdin io.Reader, stdout io.Writer, args ...string) error {
	return command.Cmd{
		Name:   "git",
		Args:   append(append([]string(nil), r.args...), args...),
		Dir:    "/", // not aibox's current folder, which may be gone or a workspace
		Env:    r.env,
		Stdin:  stdin,
		Stdout: stdout,
		Group:  r.group,
		Stderr: r.warnings,
	}.Run(ctx)
}

// Output runs a git command and returns its stdout.
func (r *Repo) Output(ctx context.Context, args ...string) ([]byte, error) {
	var out bytes.Buffer
	err := r.Run(ctx, nil, &out, args...)
	return out.Bytes(), err
}

// Line runs a git command and returns its stdout without the last newline.
func (r *Repo) Line(ctx context.Context, args ...string) (string, error) {
	out, err := r.Output(ctx, args...)
	return strings.TrimSuffix(string(out), "\n"), err
}

// Records runs a git command with -z output and returns the records.
func (r *Repo) Records(ctx context.Context, args ...string) ([]string, error) {
	out, err := r.Output(ctx, args...)
	if err != nil || len(out) == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), nil
}

// Stderr returns the end of git's stderr after a failure, unescaped.
func Stderr(err error) string {
	if failed, ok := errors.AsType[*command.Error](err); ok {
		return failed.Stderr
	}
	return ""
}

// Brief returns err with Message as its text.
func Brief(err error) error { return brief{err, Message(err)} }

type brief struct {
	error
	text string
}

func (b brief) Error() string { return b.text }
func (b brief) Unwrap() error { return b.error }

// Message returns git's own error in one line that is safe to print: its first error
// message, else its last line.
func Message(err error) string {
	failed, ok := errors.AsType[*command.Error](err)
	if !ok {
		return termtext.Escape(err.Error())
	}
	text := strings.TrimSpace(failed.Stderr)
	if text == "" {
		return failed.Err.Error()
	}
	for line := range strings.SplitSeq(text, "\n") {
		for _, prefix := range []string{"error: ", "fatal: "} {
			if rest, ok := strings.CutPrefix(line, prefix); ok {
				return termtext.Escape(rest)
			}
		}
	}
	return termtext.Escape(text[strings.LastIndexByte(text, '\n')+1:])
}
