package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"aibox/internal/paths"
)

// bench is shared by all rows: a scratch folder, aibox with its own state, and a small
// repository to work on.
type bench struct {
	options
	scratch string
	env     []string
	repo    string
	image   string         // of the agent "shell", by id; see shellImage
	large   map[int]string // repositories made by repository, by their number of files
}

func open(o options) (*bench, error) {
	aibox, err := filepath.Abs(o.aibox)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(aibox); err != nil {
		return nil, fmt.Errorf("nothing to measure (make build builds it): %w", err)
	}
	o.aibox = aibox
	scratch, err := os.MkdirTemp("", "aibox-bench-")
	if err != nil {
		return nil, err
	}
	// Workspaces are in the home folder, where another run of this program can have its own.
	b := &bench{options: o, scratch: scratch, repo: filepath.Join(scratch, "repo-"+filepath.Base(scratch)), large: map[int]string{}}
	// HOME stays the same, because the recipes of the images depend on its configuration.
	for _, name := range []string{"PATH", "HOME", "XDG_RUNTIME_DIR", "DOCKER_HOST", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "LANG", "USER", "npm_config_registry"} {
		if value, ok := os.LookupEnv(name); ok {
			b.env = append(b.env, name+"="+value)
		}
	}
	for _, kind := range []string{"STATE", "DATA", "CACHE"} {
		b.env = append(b.env, "XDG_"+kind+"_HOME="+filepath.Join(scratch, strings.ToLower(kind)))
	}
	return b, errors.Join(b.smallRepository(), b.warm())
}

// close removes everything that b created, even if ctx is done.
func (b *bench) close() error {
	return errors.Join(b.removeSessions(context.Background()), os.RemoveAll(b.scratch))
}

// dirs are the folders of a use case that is called in this process.
func (b *bench) dirs() paths.Dirs {
	at := func(name string) string { return filepath.Join(b.scratch, "inside", name) }
	return paths.Dirs{
		Home: b.scratch, Config: at("config"), State: at("state"), Data: at("data"), Cache: at("cache"),
		Runtime: at("runtime"), Workspace: at("workspace"),
	}
}

// command is a program with the bench's environment. Its output is dropped.
func (b *bench) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env, cmd.Dir = b.env, b.repo
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // docker run ends with its container
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// stuck is the time after which a program counts as hanging.
const stuck = 3 * time.Minute

// timed runs a program and returns how long it took.
func (b *bench) timed(ctx context.Context, name string, args ...string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, stuck)
	defer cancel()
	cmd := b.command(ctx, name, args...)
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	begin := time.Now()
	err := cmd.Run()
	took := time.Since(begin)
	if err != nil {
		return took, fmt.Errorf("%s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err, lastLines(errOut.String()))
	}
	return took, nil
}

// quiet runs a program and discards its output.
func (b *bench) quiet(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, stuck)
	defer cancel()
	cmd := b.command(ctx, name, args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err, lastLines(errOut.String()))
	}
	return strings.TrimSpace(out.String()), nil
}

func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-4):], " | ")
}

// aiboxRun runs a whole `aibox run`. The time does not include the removal of its session.
func (b *bench) aiboxRun(ctx context.Context, args ...string) (time.Duration, error) {
	took, err := b.timed(ctx, b.aibox, append([]string{"run"}, args...)...)
	return took, errors.Join(err, b.removeSessions(context.WithoutCancel(ctx)))
}

// dockerRun is a whole `docker run --rm`. gVisor now and then loses a race with a
// program that ends at once; that run is measured again.
func (b *bench) dockerRun(ctx context.Context, args ...string) (took time.Duration, err error) {
	for range 5 {
		took, err = b.timed(ctx, "docker", append([]string{"run", "--rm"}, args...)...)
		if err == nil || !strings.Contains(err.Error(), "oom_score_adj") {
			break
		}
	}
	return took, err
}

// session is what the bench reads of `aibox ls --json`.
type session struct {
	ID    string `json:"id"`
	State struct {
		Phase      string `json:"phase"`
		ImageID    string `json:"image_id"`
		Supervisor struct {
			PID int `json:"pid"`
		} `json:"supervisor"`
	} `json:"state"`
}

func (b *bench) sessions(ctx context.Context) ([]session, error) {
	out, err := b.quiet(ctx, b.aibox, "ls", "--json")
	if err != nil {
		return nil, err
	}
	var found []session
	return found, json.Unmarshal([]byte(out), &found)
}

// removeSessions stops and removes every session, and returns when nothing of them remains.
func (b *bench) removeSessions(ctx context.Context) error {
	found, err := b.sessions(ctx)
	if err != nil || len(found) == 0 {
		return err
	}
	ids := make([]string, len(found))
	for i, s := range found {
		ids[i] = s.ID
	}
	return b.remove(ctx, ids...)
}

// remove stops sessions and removes them with their workspaces, which are in the
// user's home and not in the scratch folder.
func (b *bench) remove(ctx context.Context, ids ...string) error {
	for _, id := range ids {
		if _, err := b.quiet(ctx, b.aibox, "stop", id); err != nil {
			return err
		}
		if _, err := b.quiet(ctx, b.aibox, "rm", "--force", id); err != nil {
			return err
		}
	}
	return nil
}

// warm runs everything once before it is measured, so that the image, a network and the
// disk caches are ready.
func (b *bench) warm() error {
	ctx := context.Background()
	needs := []string{"cold run", "side by side", "stop", "gateway throughput", "gateway throughput beside its model server", "gateway requests", "egress proxy from a sandbox", "probes"}
	if !slices.ContainsFunc(needs, func(name string) bool { return wanted(name, b.only) }) {
		return nil
	}
	if _, err := b.timed(ctx, b.aibox, "run", "shell", "--network", "local", "--inference", "scripted", "--", "true"); err != nil {
		return err
	}
	found, err := b.sessions(ctx)
	if err == nil && len(found) > 0 {
		b.image = found[0].State.ImageID
	}
	return errors.Join(err, b.removeSessions(ctx))
}

func (b *bench) smallRepository() error {
	if err := os.MkdirAll(b.repo, 0o700); err != nil {
		return err
	}
	for i := range 5 {
		if err := os.WriteFile(filepath.Join(b.repo, fmt.Sprintf("file%d.txt", i)), []byte("text\n"), 0o600); err != nil {
			return err
		}
	}
	return b.commit(context.Background(), b.repo)
}

// commit makes dir a repository with all its files committed.
func (b *bench) commit(ctx context.Context, dir string) error {
	for _, args := range [][]string{
		{"init", "-q"},
		{"add", "-A"},
		{"-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0", "commit", "-q", "-m", "Start"},
	} {
		if _, err := b.quiet(ctx, "git", append([]string{"-C", dir}, args...)...); err != nil {
			return err
		}
	}
	return nil
}
