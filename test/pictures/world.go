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

// files contains the repositories that agents work on, and the scripts of the built-in
// model server.
//
//go:embed world
var files embed.FS

// world is a user, Ann, with a home, repositories and sessions. The user who runs this
// program provides Docker.
type world struct {
	aibox string
	home  string
	env   []string
	fix   string // a session with changes to review
	live  string // a running session
	shell string // a running interactive session
}

// newWorld returns a world without sessions. The home is empty.
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

// named replaces the home in a line with /home/ann, and keeps the width.
func (w *world) named(line string) string {
	const masked = "/home/ann"
	path := regexp.MustCompile(regexp.QuoteMeta(w.home) + "[^ \x1b…]*…?")
	return path.ReplaceAllStringFunc(line, func(found string) string {
		return masked + found[len(w.home):] + strings.Repeat(" ", max(0, len(w.home)-len(masked)))
	})
}

// repo returns the path of a repository of this world.
func (w *world) repo(name string) string { return filepath.Join(w.home, name) }

// makeRepo creates a repository from the files in world/NAME.
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
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"commit", "-q", "-m", "Initial commit"}} {
		if _, err := w.run(ctx, "git", append([]string{"-C", w.repo(name)}, args...)...); err != nil {
			return err
		}
	}
	return nil
}

// run runs a program as the user of this world and returns its standard output.
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

// fillForWalk creates what the recorded walk starts from: a repository, and settings for the
// built-in model server.
func (w *world) fillForWalk(ctx context.Context) error {
	script, err := w.script("fix")
	if err != nil {
		return err
	}
	if err := w.makeRepo(ctx, "shop"); err != nil {
		return err
	}
	config := filepath.Join(w.home, ".config/aibox/config.toml")
	if err := os.MkdirAll(filepath.Dir(config), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(config, fmt.Appendf(nil, "inference = %q\n", "scripted:"+script), 0o600); err != nil {
		return err
	}
	_, err = w.run(ctx, w.aibox, "bake", "base", "codex")
	return err
}

// script writes a script of the model server to the home and returns its path.
func (w *world) script(name string) (string, error) {
	data, err := files.ReadFile("world/" + name + ".toml")
	if err != nil {
		return "", err
	}
	path := filepath.Join(w.home, name+".toml")
	return path, os.WriteFile(path, data, 0o600)
}

// fill creates the repositories and the sessions.
func (w *world) fill(ctx context.Context) error {
	fix, err := w.script("fix")
	if err != nil {
		return err
	}
	look, err := w.script("look")
	if err != nil {
		return err
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
	if _, err = w.session(ctx, 0, "run", "shell", "--repo", blog, "--network", "none", "--accept", "branch", "--", "bash", "-c", "echo 'More words.' >> README.md"); err != nil {
		return err
	}
	if _, err := w.run(ctx, w.aibox, "run", "shell", "--repo", blog, "--network", "none", "--times", "2", "--", "bash", "-c", "echo \"$RANDOM words of its own.\" >> README.md"); err != nil {
		return err
	}
	discarded, err := w.session(ctx, 0, "run", "shell", "--repo", blog, "--network", "none", "--", "bash", "-c", "echo 'A sentence that the user discards.' >> README.md")
	if err != nil {
		return err
	}
	if _, err := w.run(ctx, w.aibox, "discard", discarded); err != nil {
		return err
	}
	if _, err := w.session(ctx, 1, "run", "shell", "--repo", shop, "--network", "none", "--", "bash", "-c", "echo 'make: *** No rule to make target deploy'; exit 2"); err != nil {
		return err
	}
	w.fix, err = w.session(ctx, 0, "run", "codex", "--repo", shop, "--set", "events=true", "--inference", "scripted:"+fix, "--prompt", "The total of a cart is wrong. Fix it, and add coupons.")
	if err != nil {
		return err
	}
	worker, err := w.session(ctx, 0, "sandbox", "create", "--template", "codex", "--name", "lint-worker")
	if err != nil {
		return err
	}
	if _, err := w.run(ctx, w.aibox, "sandbox", "snapshot", "--name", "warm", worker); err != nil {
		return err
	}
	w.shell, err = w.session(ctx, 0, "run", "-d", "-i", "shell", "--repo", blog, "--network", "none")
	if err != nil {
		return err
	}
	w.live, err = w.session(ctx, 0, "run", "-d", "codex", "--repo", shop, "--inference", "scripted:"+look, "--prompt", "Find the flaky test.")
	if err != nil {
		return err
	}
	return w.awaitOutput(ctx, w.live, "Now I wait")
}

// longestWork is the time limit for an agent's output.
const longestWork = 2 * time.Minute

// awaitOutput waits until a session's agent has printed a text.
func (w *world) awaitOutput(ctx context.Context, session, text string) error {
	out := ""
	for end := time.Now().Add(longestWork); time.Now().Before(end); {
		cmd := exec.CommandContext(ctx, w.aibox, "logs", session)
		cmd.Env = w.env
		printed, err := cmd.CombinedOutput()
		if out = string(printed); err != nil || strings.Contains(out, text) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
	return fmt.Errorf("%s has not printed %q within %v, but:\n%s", session, text, longestWork, out)
}

// session runs a command that starts a session, which must exit with the code, and returns
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

// sessions returns the ids of all sessions.
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
