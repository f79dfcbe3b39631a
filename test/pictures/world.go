package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// files are the repositories that agents work on and the scripts that the built-in
// model server plays for it.
//
//go:embed world
var files embed.FS

// world is a user with a home, repositories and sessions of their own. Docker and what
// else belongs to the machine is the user's who runs this.
type world struct {
	aibox string
	home  string
	env   []string
	mend  string // the session whose changes are worth a look
	live  string // one that goes on
	shell string // an interactive one that goes on
}

// newWorld is a world without sessions, whose user has an empty home.
func newWorld(aibox, home string) *world {
	w := &world{aibox: aibox, home: home}
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, "AIBOX_") && !strings.HasPrefix(name, "XDG_CONFIG") && !strings.HasPrefix(name, "XDG_STATE") &&
			!strings.HasPrefix(name, "XDG_DATA") && !strings.HasPrefix(name, "XDG_CACHE") && name != "HOME" && name != "NO_COLOR" && name != "COLORTERM" && name != "TMUX" {
			w.env = append(w.env, pair)
		}
	}
	w.env = append(w.env, "HOME="+w.home, "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com")
	return w
}

// named has the home in a line where Ann's would be on a machine of her own, in as many
// columns.
func (w *world) named(line string) string {
	const hers = "/home/ann"
	path := regexp.MustCompile(regexp.QuoteMeta(w.home) + "[^ \x1b…]*…?")
	return path.ReplaceAllStringFunc(line, func(found string) string {
		return hers + found[len(w.home):] + strings.Repeat(" ", max(0, len(w.home)-len(hers)))
	})
}

// repo is where a repository of this world is.
func (w *world) repo(name string) string { return filepath.Join(w.home, name) }

// makeRepo makes a repository of the files in world/NAME.
func (w *world) makeRepo(ctx context.Context, name string) error {
	err := fs.WalkDir(files, "world/"+name, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := files.ReadFile(file)
		if err != nil {
			return err
		}
		to := filepath.Join(w.repo(name), strings.TrimSuffix(strings.TrimPrefix(file, "world/"+name+"/"), ".txt"))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o644)
	})
	if err != nil {
		return err
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"commit", "-q", "-m", "The beginning"}} {
		if _, err := w.run(ctx, "git", append([]string{"-C", w.repo(name)}, args...)...); err != nil {
			return err
		}
	}
	return nil
}

// run runs a program as the user of this world and gives what it prints on stdout.
func (w *world) run(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = w.env
	out, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return string(out), fmt.Errorf("%s %s: %w: %s", path.Base(name), strings.Join(args, " "), err, failed.Stderr)
	}
	return string(out), err
}

// fill makes the repositories and the sessions.
func (w *world) fill(ctx context.Context) error {
	scripts := map[string]string{}
	for _, name := range []string{"mend", "look"} {
		data, err := files.ReadFile("world/" + name + ".toml")
		if err != nil {
			return err
		}
		scripts[name] = filepath.Join(w.home, name+".toml")
		if err := os.WriteFile(scripts[name], data, 0o600); err != nil {
			return err
		}
	}
	for _, name := range []string{"shop", "blog"} {
		if err := w.makeRepo(ctx, name); err != nil {
			return err
		}
	}
	if _, err := w.run(ctx, w.aibox, "bake", "base", "codex"); err != nil {
		return err
	}
	shop, blog := w.repo("shop"), w.repo("blog")
	var err error
	if _, err = w.session(ctx, 0, "run", "shell", "--repo", blog, "--network", "none", "--accept", "branch", "--", "bash", "-c", "echo 'More words.' >> README.md"); err != nil {
		return err
	}
	gone, err := w.session(ctx, 0, "run", "shell", "--repo", blog, "--network", "none", "--", "bash", "-c", "echo 'Words nobody wants.' >> README.md")
	if err != nil {
		return err
	}
	if _, err := w.run(ctx, w.aibox, "discard", gone); err != nil {
		return err
	}
	if _, err := w.session(ctx, 1, "run", "shell", "--repo", shop, "--network", "none", "--", "bash", "-c", "echo 'make: *** No rule to make target deploy'; exit 2"); err != nil {
		return err
	}
	w.mend, err = w.session(ctx, 0, "run", "codex", "--repo", shop, "--inference", "scripted:"+scripts["mend"], "--prompt", "The total of a cart is wrong. Mend it, and add coupons.")
	if err != nil {
		return err
	}
	w.shell, err = w.session(ctx, 0, "run", "-d", "-i", "shell", "--repo", blog, "--network", "none")
	if err != nil {
		return err
	}
	w.live, err = w.session(ctx, 0, "run", "-d", "codex", "--repo", shop, "--inference", "scripted:"+scripts["look"], "--prompt", "Find the test that fails only sometimes.")
	if err != nil {
		return err
	}
	return w.said(ctx, w.live, "Now I wait")
}

// work is how long an agent may take to say something.
const work = time.Minute

// said waits until a session's agent has printed a text.
func (w *world) said(ctx context.Context, session, text string) error {
	out := ""
	for end := time.Now().Add(work); time.Now().Before(end); {
		// What the agent said on either stream.
		cmd := exec.CommandContext(ctx, w.aibox, "logs", session)
		cmd.Env = w.env
		said, err := cmd.CombinedOutput()
		if out = string(said); err != nil || strings.Contains(out, text) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
	return fmt.Errorf("%s has not said %q within %v, but:\n%s", session, text, work, out)
}

// session runs a command that starts a session, which must end with the code, and gives
// the session's id.
func (w *world) session(ctx context.Context, code int, args ...string) (string, error) {
	before, err := w.sessions(ctx)
	if err != nil {
		return "", err
	}
	_, err = w.run(ctx, w.aibox, args...)
	var failed *exec.ExitError
	if errors.As(err, &failed) && failed.ExitCode() == code {
		err = nil
	}
	if err != nil {
		return "", err
	}
	after, err := w.sessions(ctx)
	for _, id := range after {
		if !slices.Contains(before, id) {
			return id, err
		}
	}
	return "", fmt.Errorf("aibox %s left no session: %w", strings.Join(args, " "), err)
}

// sessions are the ids of all.
func (w *world) sessions(ctx context.Context) (ids []string, err error) {
	out, err := w.run(ctx, w.aibox, "ls", "--json")
	if err != nil {
		return nil, err
	}
	var all []struct{ ID string }
	err = json.Unmarshal([]byte(out), &all)
	for _, s := range all {
		ids = append(ids, s.ID)
	}
	return ids, err
}

// end stops and removes every session.
func (w *world) end(ctx context.Context) error {
	all, err := w.sessions(ctx)
	for _, id := range all {
		_, stopped := w.run(ctx, w.aibox, "stop", id)
		_, removed := w.run(ctx, w.aibox, "rm", "--force", id)
		if removed != nil {
			err = errors.Join(err, stopped, removed)
		}
	}
	return err
}
