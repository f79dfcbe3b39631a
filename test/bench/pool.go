package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// claims measures a creation that gets a warm sandbox, up to the end of its first command.
func claims(ctx context.Context, b *bench) (rows []Row, err error) {
	a, err := b.serveAPI(ctx, "--warm", fmt.Sprintf("code=%d..%d", warmed, warmed))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.stop()) }()
	return measureClaims(ctx, a, b.claims())
}

// claimer creates and uses sandboxes of a server that keeps some warm.
type claimer interface {
	awaitWarm(ctx context.Context) error
	claim(ctx context.Context) (id string, warm bool, err error)
	run(ctx context.Context, id string) error
	Destroy(ctx context.Context, id string) error
}

// claims returns how many claims are measured: enough for the slowest of 100.
func (b *bench) claims() int {
	if b.quick {
		return b.pairs
	}
	return 100
}

// measureClaims measures so many creations that got a warm sandbox, however long they took.
func measureClaims(ctx context.Context, a claimer, count int) ([]Row, error) {
	var claimed, first, cold []float64
	for len(first) < count {
		if err := a.awaitWarm(ctx); err != nil {
			return nil, err
		}
		begin := time.Now()
		id, warm, err := a.claim(ctx)
		took := time.Since(begin)
		if err == nil {
			err = a.run(ctx, id)
		}
		if all := time.Since(begin); warm {
			claimed, first = append(claimed, millis(took)), append(first, millis(all))
		} else {
			cold = append(cold, millis(all))
		}
		if err = errors.Join(err, a.Destroy(context.WithoutCancel(ctx), id)); err != nil {
			return nil, err
		}
		if len(cold) > count {
			return nil, errors.New("no request gets a warm sandbox")
		}
	}
	note := "the claim alone " + number(median(claimed)) + " ms"
	if len(cold) > 0 {
		note += fmt.Sprintf("; %d other requests got no warm sandbox", len(cold))
	}
	half := alone("claim of a warm sandbox, and its first command", "ms", median(first), target{most: 50, absolute: true})
	half.Note, half.All = note, first
	most := alone("the same, 99 of 100", "ms", quantile(first, 0.99), target{most: 150, absolute: true})
	return []Row{half, most}, nil
}

// awaitWarm waits until all warm sandboxes run and the machine has come to rest.
func (a *api) awaitWarm(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stuck)
	defer cancel()
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	for calm := 0; calm < 5; {
		if calm++; a.warm() < warmed {
			calm = 0
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// warm counts the sandboxes that wait for a claim.
func (a *api) warm() int {
	sandboxes, _ := filepath.Glob(filepath.Join(a.bench.scratch, "state", "aibox", "sessions", "*"))
	count := 0
	for _, path := range sandboxes {
		if r, err := a.record(filepath.Base(path)); err == nil && r.Phase == "warm" { // else it was removed meanwhile
			count++
		}
	}
	return count
}

// crowdSize is how many sandboxes run at once.
const crowdSize = 30

// crowded measures many sandboxes at once, and what the server and each of them use.
func crowded(ctx context.Context, b *bench) (rows []Row, err error) {
	size := crowdSize
	if b.quick {
		size = 4
	}
	a, err := b.serveAPI(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.stop()) }()
	free, err := availableMemory()
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	ids, failures := make([]string, size), make([]error, size)
	defer func() {
		for _, id := range ids {
			if id != "" {
				err = errors.Join(err, a.Destroy(context.WithoutCancel(ctx), id))
			}
		}
	}()
	var creating sync.WaitGroup
	for i := range size {
		creating.Go(func() {
			if ids[i], failures[i] = a.create(ctx); failures[i] == nil {
				failures[i] = a.run(ctx, ids[i])
			}
		})
	}
	creating.Wait()
	took := time.Since(begin)
	failed := 0
	for _, failure := range failures {
		if failure != nil {
			failed++
			fmt.Fprintln(os.Stderr, "a sandbox failed:", failure)
		}
	}
	left, err := availableMemory()
	if err != nil {
		return nil, err
	}
	memory, err := resident(a.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	row := alone(fmt.Sprintf("failed of %d sandboxes created at once", size), "sandboxes", float64(failed), target{absolute: true})
	row.Note = "all of them within " + number(took.Seconds()) + " s"
	rows = append(rows, row, alone("server, resident memory with them", "MB", memory, target{most: 150, absolute: true}))
	if running := size - failed; running > 0 {
		each := alone("each sandbox, memory of the machine", "MB", (free-left)/1e6/float64(running), target{most: 150, absolute: true})
		each.Note = "with its supervisor, watchdog, shim and gVisor"
		rows = append(rows, each)
	}
	return rows, nil
}

// availableMemory returns the bytes that the machine could give to programs.
func availableMemory() (float64, error) {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "MemAvailable:" {
			kilobytes, err := strconv.ParseFloat(fields[1], 64)
			return kilobytes * 1024, err
		}
	}
	return 0, errors.New("the kernel does not report the available memory")
}
