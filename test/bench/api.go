package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/client"
)

// warmed is how many sandboxes the server keeps warm for the rows of claims.
const warmed = 3

// api is a running `aibox serve` and its client.
type api struct {
	*client.Client
	bench *bench
	cmd   *exec.Cmd
}

// serveAPI starts a server with its own state.
func (b *bench) serveAPI(ctx context.Context, args ...string) (*api, error) {
	cmd := b.command(context.WithoutCancel(ctx), b.aibox, append([]string{"serve"}, args...)...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if _, path, ok := strings.Cut(lines.Text(), "listening on unix:"); ok {
			go func() { _, _ = io.Copy(io.Discard, stderr) }()
			return &api{client.Unix(path), b, cmd}, nil
		}
	}
	return nil, errors.Join(errors.New("aibox serve did not start"), cmd.Wait())
}

// stop ends the server, and its warm sandboxes.
func (a *api) stop() error {
	a.Close()
	return errors.Join(a.cmd.Process.Signal(syscall.SIGTERM), a.cmd.Wait())
}

// create creates a sandbox and returns its id.
func (a *api) create(ctx context.Context) (string, error) {
	made, err := a.Create(ctx, &aiboxv1.CreateSandboxRequest{})
	return made.GetSandboxId(), err
}

// run runs `true` in a sandbox.
func (a *api) run(ctx context.Context, id string) error {
	ran, err := a.Exec(ctx, &aiboxv1.ExecRequest{SandboxId: id, Argv: []string{"true"}})
	if err == nil && ran.GetExit().GetCode() != 0 {
		err = fmt.Errorf("true ended with %v", ran.GetExit())
	}
	return err
}

// record is what the bench reads of a sandbox's record.
type record struct {
	Phase   string `json:"phase"`
	ImageID string `json:"image_id"`
}

// record reads the record of a sandbox.
func (a *api) record(id string) (record, error) {
	data, err := os.ReadFile(filepath.Join(a.bench.scratch, "state", "aibox", "sessions", id, "state.json"))
	if err != nil {
		return record{}, err
	}
	var r record
	return r, json.Unmarshal(data, &r)
}

// apiRows measures sandboxes over the API, with a client that stays connected.
func apiRows(ctx context.Context, b *bench) (rows []Row, err error) {
	a, err := b.serveAPI(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.stop()) }()
	id, err := a.create(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.Destroy(context.WithoutCancel(ctx), id)) }()
	r, err := a.record(id)
	if err != nil {
		return nil, err
	}
	plain, err := b.quiet(ctx, "docker", "run", "-d", "--rm", "--runtime=runsc", r.ImageID, "sleep", "10000")
	if err != nil {
		return nil, err
	}
	defer func() {
		_, removeErr := b.quiet(context.WithoutCancel(ctx), "docker", "rm", "-f", plain)
		err = errors.Join(err, removeErr)
	}()
	for _, row := range []func(context.Context) (Row, error){
		func(ctx context.Context) (Row, error) { return a.coldCreate(ctx, r.ImageID) },
		func(ctx context.Context) (Row, error) { return a.exec(ctx, id, plain) },
		func(ctx context.Context) (Row, error) { return a.stream(ctx, id, plain) },
		func(ctx context.Context) (Row, error) { return a.writeFile(ctx, id) },
		func(ctx context.Context) (Row, error) { return a.readFile(ctx, id) },
		func(ctx context.Context) (Row, error) { return a.steadyRequests(ctx, id) },
	} {
		measured, err := row(ctx)
		if err != nil {
			return rows, err
		}
		rows = append(rows, measured)
	}
	return rows, nil
}

// coldCreate measures the creation of a sandbox up to the end of its first command.
func (a *api) coldCreate(ctx context.Context, image string) (Row, error) {
	ours, theirs, err := duel(ctx, a.bench.pairs,
		func(ctx context.Context) (time.Duration, error) {
			begin := time.Now()
			id, err := a.create(ctx)
			if err == nil {
				err = a.run(ctx, id)
			}
			took := time.Since(begin)
			if id != "" {
				err = errors.Join(err, a.Destroy(context.WithoutCancel(ctx), id))
			}
			return took, err
		},
		func(ctx context.Context) (time.Duration, error) {
			return a.bench.dockerRun(ctx, "--runtime=runsc", image, "true")
		})
	if err != nil {
		return Row{}, err
	}
	return versus("create over the API and run true, cold", "docker run --rm --runtime=runsc IMAGE true", "ms", ours, theirs, target{most: 1.25}), nil
}

// exec measures a command in a sandbox that runs already.
func (a *api) exec(ctx context.Context, id, plain string) (Row, error) {
	ours, theirs, err := duel(ctx, a.bench.many(),
		func(ctx context.Context) (time.Duration, error) {
			begin := time.Now()
			err := a.run(ctx, id)
			return time.Since(begin), err
		},
		func(ctx context.Context) (time.Duration, error) {
			return a.bench.timed(ctx, "docker", "exec", plain, "true")
		})
	if err != nil {
		return Row{}, err
	}
	row := versus("exec over the API", "docker exec IMAGE true, under runsc", "ms", ours, theirs, target{most: 0.2})
	row.Note = "99 of 100 within " + number(quantile(ours, 0.99)) + " ms"
	return row, nil
}

// throughputs returns a row in MB/s.
func (b *bench) throughputs(ctx context.Context, what string, megabytes int, one func(context.Context) error) (Row, error) {
	var speeds []float64
	for range b.pairs {
		begin := time.Now()
		if err := one(ctx); err != nil {
			return Row{}, err
		}
		speeds = append(speeds, float64(megabytes)/time.Since(begin).Seconds())
	}
	row := alone(what, "MB/s", median(speeds), target{least: 200, absolute: true})
	row.All = speeds
	return row, nil
}

// stream measures the output of a process.
func (a *api) stream(ctx context.Context, id, plain string) (Row, error) {
	megabytes := 50
	if a.bench.quick {
		megabytes = 5
	}
	argv := []string{"head", "-c", strconv.Itoa(megabytes * 1e6), "/dev/zero"}
	ours, theirs, err := duel(ctx, a.bench.pairs,
		func(ctx context.Context) (time.Duration, error) {
			begin, got := time.Now(), 0
			err := a.Start(ctx, &aiboxv1.StartProcessRequest{SandboxId: id, Argv: argv}, func(event *aiboxv1.ProcessEvent) error {
				got += len(event.GetStdout().GetData())
				return nil
			})
			if err == nil && got != megabytes*1e6 {
				err = fmt.Errorf("%d bytes arrived", got)
			}
			return time.Since(begin), err
		},
		func(ctx context.Context) (time.Duration, error) {
			return a.bench.timed(ctx, "docker", append([]string{"exec", plain}, argv...)...)
		})
	if err != nil {
		return Row{}, err
	}
	row := versus(fmt.Sprintf("%d MB of output over the API", megabytes), "docker exec, under runsc", "ms", ours, theirs, target{most: 1.1})
	row.Note = number(1000*float64(megabytes)/row.Ours) + " MB/s"
	return row, nil
}

// fileSize is the size of the files that are written and read.
const fileSize = 64e6

func (a *api) writeFile(ctx context.Context, id string) (Row, error) {
	data := make([]byte, int(fileSize))
	return a.bench.throughputs(ctx, "write a file over the API", fileSize/1e6, func(ctx context.Context) error {
		_, err := a.WriteFile(ctx, id, "/tmp/bench", data)
		return err
	})
}

func (a *api) readFile(ctx context.Context, id string) (Row, error) {
	return a.bench.throughputs(ctx, "read a file over the API", fileSize/1e6, func(ctx context.Context) error {
		data, err := a.ReadFile(ctx, id, "/tmp/bench", 0, fileSize)
		if err == nil && len(data) != fileSize {
			err = fmt.Errorf("%d bytes arrived", len(data))
		}
		return err
	})
}

// steadyRequests makes 200 requests a second for a minute, each when it is due, and counts
// those that fail.
func (a *api) steadyRequests(ctx context.Context, id string) (Row, error) {
	const rate = 200
	long := time.Minute
	if a.bench.quick {
		long = 5 * time.Second
	}
	type answer struct {
		took time.Duration
		err  error
	}
	count := int(long.Seconds() * rate)
	answers := make(chan answer, count)
	due := time.NewTicker(time.Second / rate)
	defer due.Stop()
	for range count {
		select {
		case <-due.C:
		case <-ctx.Done():
			return Row{}, ctx.Err()
		}
		go func() {
			begin := time.Now()
			_, err := a.Get(ctx, id)
			answers <- answer{time.Since(begin), err}
		}()
	}
	failed, took := 0, make([]float64, 0, count)
	for range count {
		one := <-answers
		took = append(took, millis(one.took))
		if one.err != nil {
			failed++
			fmt.Fprintln(os.Stderr, "a request failed:", one.err)
		}
	}
	row := alone(fmt.Sprintf("failed of %d requests, 200 a second", count), "requests", float64(failed), target{absolute: true})
	row.Note = "median " + number(median(took)) + " ms, 99 of 100 within " + number(quantile(took, 0.99)) + " ms"
	return row, nil
}
