package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"aibox/agents"
	"aibox/internal/scripted"
)

// coldRun measures the whole command. The command returns before the daemon has removed the
// dead sandbox, which docker run waits for; a row shows how long that takes.
func coldRun(ctx context.Context, b *bench) ([]Row, error) {
	var gone []float64
	ours, theirs, err := duel(ctx, b.pairs,
		func(ctx context.Context) (time.Duration, error) {
			begin := time.Now()
			took, err := b.timed(ctx, b.aibox, "run", "shell", "--network", "local", "--inference", "scripted", "--", "true")
			if err != nil {
				return took, err
			}
			found, err := b.sessions(ctx)
			if err != nil || len(found) == 0 {
				return took, err
			}
			if _, err := b.quiet(ctx, b.aibox, "stop", found[0].ID); err != nil { // waits until nothing remains
				return took, err
			}
			gone = append(gone, millis(time.Since(begin)))
			return took, b.removeSessions(ctx)
		},
		func(ctx context.Context) (time.Duration, error) {
			return b.dockerRun(ctx, "--runtime=runsc", b.image, "true")
		})
	if err != nil {
		return nil, err
	}
	row := versus("cold run, probes on", "docker run --rm --runtime=runsc IMAGE true", "ms", ours, theirs, target{most: 1.25})
	row.Note = "aibox's sandbox is cleared away after " + number(median(gone)) + " ms"
	return []Row{row}, nil
}

const task = "Say hello."

// agentRun compares an agent's headless run with the same command in a plain
// container, whose model server is the same program in the network namespace of
// the daemon's bridges.
func agentRun(name string) func(context.Context, *bench) ([]Row, error) {
	return func(ctx context.Context, b *bench) (rows []Row, err error) {
		args := []string{name, "--inference", "scripted", "--prompt", task}
		if _, err := b.timed(ctx, b.aibox, append([]string{"run"}, args...)...); err != nil {
			return nil, err
		}
		found, err := b.sessions(ctx)
		if err = errors.Join(err, b.removeSessions(ctx)); err != nil || len(found) == 0 {
			return nil, err
		}
		server, err := b.startServer(ctx)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, server.stop()) }()
		plain, err := b.plainCommand(name, found[0].State.ImageID, server.address)
		if err != nil {
			return nil, err
		}
		var runc []float64
		ours, theirs, err := duel(ctx, b.pairs,
			func(ctx context.Context) (time.Duration, error) { return b.aiboxRun(ctx, args...) },
			func(ctx context.Context) (time.Duration, error) {
				if err := measure(ctx, &runc, func(ctx context.Context) (time.Duration, error) {
					return b.dockerRun(ctx, append([]string{"--runtime=runc"}, plain...)...)
				}); err != nil {
					return 0, err
				}
				return b.dockerRun(ctx, append([]string{"--runtime=runsc"}, plain...)...)
			})
		if err != nil {
			return nil, err
		}
		row := versus(name+", a whole run", "docker run --rm --runtime=runsc, same image and command", "ms", ours, theirs, target{most: 1.15})
		row.Note = "under runc " + number(median(runc)) + " ms"
		return []Row{row}, nil
	}
}

// plainCommand is the rest of a `docker run` that does what aibox has the agent
// do, in a copy of the repository.
func (b *bench) plainCommand(name, image, url string) ([]string, error) {
	agent, err := agents.Builtin().Find(name)
	if err != nil {
		return nil, err
	}
	inv, err := agent.Command(agents.Task{
		Prompt: task, Workdir: "/workspace", Inference: agents.Inference{BaseURL: url, Key: serverKey, Model: scripted.Model},
	})
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(b.scratch, "plain-"+name)
	repo := filepath.Join(folder, "repo")
	if err := os.CopyFS(repo, os.DirFS(b.repo)); err != nil {
		return nil, err
	}
	args := []string{"-v", repo + ":/workspace", "-w", "/workspace"}
	for i, file := range inv.Files {
		source := filepath.Join(folder, strconv.Itoa(i))
		if err := os.WriteFile(source, file.Data, 0o600); err != nil {
			return nil, err
		}
		args = append(args, "-v", source+":"+strings.Replace(file.Path, "~/", "/root/", 1))
	}
	for _, variable := range inv.Env {
		args = append(args, "-e", variable)
	}
	return append(append(args, image), inv.Argv...), nil
}

func stopping(ctx context.Context, b *bench) ([]Row, error) {
	ours, theirs, err := duel(ctx, b.pairs,
		func(ctx context.Context) (time.Duration, error) {
			id, err := b.detached(ctx)
			if err != nil {
				return 0, err
			}
			took, err := b.timed(ctx, b.aibox, "stop", id)
			return took, errors.Join(err, b.removeSessions(ctx))
		},
		func(ctx context.Context) (time.Duration, error) {
			id, err := b.quiet(ctx, "docker", "run", "-d", "--rm", "--runtime=runsc", b.image, "sleep", "1000")
			if err != nil {
				return 0, err
			}
			return b.timed(ctx, "docker", "rm", "-f", id)
		})
	if err != nil {
		return nil, err
	}
	return []Row{versus("stopping, nothing left", "docker rm -f", "ms", ours, theirs, target{most: 1.5})}, nil
}

// detached starts a session that does nothing, and returns its id.
func (b *bench) detached(ctx context.Context) (string, error) {
	return b.quiet(ctx, b.aibox, "run", "-d", "shell", "--inference", "scripted", "--", "sleep", "1000")
}

// supervisor measures the supervisor of a detached session.
func supervisor(ctx context.Context, b *bench) ([]Row, error) {
	if _, err := b.detached(ctx); err != nil {
		return nil, err
	}
	found, err := b.sessions(ctx)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	pid := found[0].State.Supervisor.PID
	idle := 10 * time.Second
	if b.quick {
		idle = time.Second
	}
	share, err := busy(ctx, pid, idle, func() {})
	if err != nil {
		return nil, err
	}
	memory, err := resident(pid)
	if err != nil {
		return nil, err
	}
	return []Row{
		alone("supervisor of a detached session", "MB", memory, target{most: 25, absolute: true}),
		alone("that one idle", "% of a core", share, target{most: 0.5, absolute: true}),
	}, b.removeSessions(ctx)
}

// resident is a process's resident memory in MB.
func resident(pid int) (float64, error) {
	file, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "VmRSS:"); ok {
			kilobytes, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kilobytes / 1024, err
		}
	}
	return 0, errors.New("the process has no resident memory")
}
