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
	id, _, err := a.claim(ctx)
	return id, err
}

// claim creates a sandbox, and returns its id and whether it was warm.
func (a *api) claim(ctx context.Context) (id string, warm bool, err error) {
	made, err := a.Create(ctx, &aiboxv1.CreateSandboxRequest{})
	return made.GetSandboxId(), made.GetWarm(), err
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

// subject is a sandbox that runs, and a plain container of its image.
type subject struct {
	sandbox, image, container string
}

// inSandbox measures rows over the API, with a client that stays connected.
func inSandbox(measure func(*api, context.Context, subject) ([]Row, error)) func(context.Context, *bench) ([]Row, error) {
	return func(ctx context.Context, b *bench) (rows []Row, err error) {
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
		return measure(a, ctx, subject{id, r.ImageID, plain})
	}
}

// coldCreate measures the creation of a sandbox up to the end of its first command.
func (a *api) coldCreate(ctx context.Context, s subject) ([]Row, error) {
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
			return a.bench.dockerRun(ctx, "--runtime=runsc", s.image, "true")
		})
	if err != nil {
		return nil, err
	}
	return []Row{versus("create over the API and run true, cold", "docker run --rm --runtime=runsc IMAGE true", "ms", ours, theirs, target{most: 1.25})}, nil
}

// exec measures a command in a sandbox that runs already: over the API, and by the command line.
func (a *api) exec(ctx context.Context, s subject) ([]Row, error) {
	plain := func(ctx context.Context) (time.Duration, error) {
		return a.bench.timed(ctx, "docker", "exec", s.container, "true")
	}
	var rows []Row
	for _, way := range []struct {
		name string
		run  func(context.Context) (time.Duration, error)
	}{
		{"exec over the API", func(ctx context.Context) (time.Duration, error) {
			begin := time.Now()
			err := a.run(ctx, s.sandbox)
			return time.Since(begin), err
		}},
		{"aibox sandbox exec", func(ctx context.Context) (time.Duration, error) {
			return a.bench.timed(ctx, a.bench.aibox, "sandbox", "exec", s.sandbox, "--", "true")
		}},
	} {
		ours, theirs, err := duel(ctx, a.bench.many(), way.run, plain)
		if err != nil {
			return rows, err
		}
		row := versus(way.name, "docker exec CONTAINER true, under runsc", "ms", ours, theirs, target{most: 0.2})
		row.Note = "99 of 100 within " + number(quantile(ours, 0.99)) + " ms"
		rows = append(rows, row)
	}
	return rows, nil
}

// speeds makes a row in MB/s from two series of times in ms.
func speeds(what, against string, megabytes int, ours, theirs []float64) Row {
	row := versus(what, against, "MB/s", perSecond(ours, megabytes), perSecond(theirs, megabytes), target{})
	fast := target{least: 200, absolute: true}
	row.Target, row.Met = fast.String()+" MB/s", fast.met(row.Ours)
	return row
}

// output measures the output of a process, over the API and by the command line. Under gVisor,
// the system calls of a program that writes small pieces take most of the time. So another
// program writes large ones.
func (a *api) output(ctx context.Context, s subject) ([]Row, error) {
	megabytes := 200
	if a.bench.quick {
		megabytes = 5
	}
	size := strconv.Itoa(megabytes * 1e6)
	var rows []Row
	for _, program := range []struct {
		pieces string
		argv   []string
	}{
		{"4 KiB", []string{"head", "-c", size, "/dev/zero"}},
		{"64 KiB", []string{"dd", "if=/dev/zero", "bs=64K", "iflag=count_bytes", "count=" + size, "status=none"}},
	} {
		measured, err := a.outputOf(ctx, s, program.argv, megabytes, program.pieces)
		if rows = append(rows, measured...); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// outputOf measures the output of a program that writes pieces of one size.
func (a *api) outputOf(ctx context.Context, s subject, argv []string, megabytes int, pieces string) (rows []Row, err error) {
	plain := func(ctx context.Context) (time.Duration, error) {
		return a.bench.timed(ctx, "docker", append([]string{"exec", s.container}, argv...)...)
	}
	for _, way := range []struct {
		name string
		run  func(context.Context) (time.Duration, error)
	}{
		{"output over the API", func(ctx context.Context) (time.Duration, error) {
			begin, got := time.Now(), 0
			err := a.Start(ctx, &aiboxv1.StartProcessRequest{SandboxId: s.sandbox, Argv: argv}, func(event *aiboxv1.ProcessEvent) error {
				got += len(event.GetStdout().GetData())
				return nil
			})
			if err == nil && got != megabytes*1e6 {
				err = fmt.Errorf("%d bytes arrived", got)
			}
			return time.Since(begin), err
		}},
		{"output by aibox sandbox exec", func(ctx context.Context) (time.Duration, error) {
			return a.bench.timed(ctx, a.bench.aibox, append([]string{"sandbox", "exec", s.sandbox, "--"}, argv...)...)
		}},
	} {
		ours, theirs, err := duel(ctx, a.bench.pairs, way.run, plain)
		if err != nil {
			return rows, err
		}
		what := fmt.Sprintf("%s, %d MB in pieces of %s", way.name, megabytes, pieces)
		rows = append(rows, speeds(what, "docker exec, under runsc", megabytes, ours, theirs))
	}
	return rows, nil
}

// fileSize is the size of the files that are written and read.
const fileSize = 64e6

// files measures files that are written, read and copied.
func (a *api) files(ctx context.Context, s subject) ([]Row, error) {
	data := make([]byte, int(fileSize))
	local := filepath.Join(a.bench.scratch, "file")
	if err := os.WriteFile(local, data, 0o600); err != nil {
		return nil, err
	}
	// docker cp does not reach the files of a running sandbox under gVisor, so that a pipe
	// through docker exec takes its place.
	shell := func(line string) func(context.Context) (time.Duration, error) {
		return func(ctx context.Context) (time.Duration, error) {
			return a.bench.timed(ctx, "sh", "-c", line, "sh", s.container, local)
		}
	}
	in := shell(`docker exec -i "$1" sh -c 'cat > /tmp/bench' < "$2"`)
	out := shell(`docker exec "$1" cat /tmp/bench > "$2.copy"`)
	var rows []Row
	for _, way := range []struct {
		name       string
		run, plain func(context.Context) (time.Duration, error)
	}{
		{"write a file over the API", func(ctx context.Context) (time.Duration, error) {
			begin := time.Now()
			_, err := a.WriteFile(ctx, s.sandbox, "/tmp/bench", data)
			return time.Since(begin), err
		}, in},
		{"read a file over the API", func(ctx context.Context) (time.Duration, error) {
			begin := time.Now()
			got, err := a.ReadFile(ctx, s.sandbox, "/tmp/bench", 0, fileSize)
			if err == nil && len(got) != fileSize {
				err = fmt.Errorf("%d bytes arrived", len(got))
			}
			return time.Since(begin), err
		}, out},
		{"aibox sandbox cp FILE ID:PATH", func(ctx context.Context) (time.Duration, error) {
			return a.bench.timed(ctx, a.bench.aibox, "sandbox", "cp", local, s.sandbox+":/tmp/bench")
		}, in},
		{"aibox sandbox cp ID:PATH FILE", func(ctx context.Context) (time.Duration, error) {
			return a.bench.timed(ctx, a.bench.aibox, "sandbox", "cp", s.sandbox+":/tmp/bench", local+".copy")
		}, out},
	} {
		ours, theirs, err := duel(ctx, a.bench.pairs, way.run, way.plain)
		if err != nil {
			return rows, err
		}
		rows = append(rows, speeds(way.name, "a pipe through docker exec, under runsc", fileSize/1e6, ours, theirs))
	}
	return rows, nil
}

// steadyRequests makes 200 requests a second for a minute, each when it is due, and counts
// those that fail.
func (a *api) steadyRequests(ctx context.Context, s subject) ([]Row, error) {
	const rate = 200
	long := time.Minute
	if a.bench.quick {
		long = 5 * time.Second
	}
	count := int(long.Seconds() * rate)
	answers, reached, err := steadily(ctx, count, time.Second/rate, func() error {
		_, err := a.Get(ctx, s.sandbox)
		return err
	})
	if err != nil {
		return nil, err
	}
	failed, took := 0, make([]float64, 0, count)
	for _, one := range answers {
		took = append(took, millis(one.took))
		if one.err != nil {
			failed++
			fmt.Fprintln(os.Stderr, "a request failed:", one.err)
		}
	}
	row := alone(fmt.Sprintf("failed of %d requests, 200 a second", count), "requests", float64(failed), target{absolute: true})
	row.Note = "median " + number(median(took)) + " ms, 99 of 100 within " + number(quantile(took, 0.99)) + " ms; " + number(reached) + " a second were made"
	if reached < rate*0.99 {
		row.Met, row.Note = false, row.Note+", which is too few"
	}
	return []Row{row}, nil
}

// answer is how long a request took after it was due, and its error.
type answer struct {
	took time.Duration
	err  error
}

// steadily makes count requests, each at its own time, so far apart. A request that begins late
// is made nevertheless, and its time counts from when it was due. reached is how many requests
// began in a second.
func steadily(ctx context.Context, count int, apart time.Duration, request func() error) (all []answer, reached float64, err error) {
	answers := make(chan answer, count)
	begin := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for i := range count {
		due := begin.Add(time.Duration(i) * apart)
		timer.Reset(time.Until(due))
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		}
		go func() {
			err := request()
			answers <- answer{time.Since(due), err}
		}()
	}
	if long := time.Since(begin) + apart; long > 0 {
		reached = float64(count) / long.Seconds()
	}
	for range count {
		all = append(all, <-answers)
	}
	return all, reached, nil
}
