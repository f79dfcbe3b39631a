package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// idle measures the terminal UI without input: 20 sessions, some of them running, all with
// output and changes that the screen has shown before. A git that leaves a mark, and the
// kernel's counters, show whether the UI starts programs or reads files.
func idle(ctx context.Context, b *bench) (rows []Row, err error) {
	running := 3
	if b.quick {
		running = 1
	}
	state, err := b.crowd(ctx, 20-running)
	if err != nil {
		return nil, err
	}
	marks := filepath.Join(b.scratch, "marks")
	path, err := b.markedGit(marks)
	if err != nil {
		return nil, err
	}
	s := b.screens(state)
	var started []string
	defer func() { err = errors.Join(err, s.remove(context.WithoutCancel(ctx), started...)) }()
	for range running {
		id, err := s.quiet(ctx, s.aibox, "run", "-d", "shell", "--network", "none", "--", "sh", "-c", "echo made > made.txt; cat made.txt; exec sleep 1000")
		if err != nil {
			return nil, err
		}
		started = append(started, id)
	}
	s.env = append(s.env, "PATH="+path)
	on, _, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, on.Close()) }()
	if _, err := s.seen(ctx, on, fmt.Sprintf("%d running", running)); err != nil {
		return nil, err
	}
	if _, err := s.seen(ctx, on, "so far"); err != nil {
		return nil, err
	}
	if err := on.Quiet(ctx, time.Second); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(marks); err != nil {
		return nil, err
	}
	return b.still(ctx, on.Process().Pid, marks)
}

// still measures an idle process for a while.
func (b *bench) still(ctx context.Context, pid int, marks string) ([]Row, error) {
	long := 20 * time.Second
	if b.quick {
		long = 3 * time.Second
	}
	bytes, err := read(pid)
	if err != nil {
		return nil, err
	}
	children := 0
	share, err := busy(ctx, pid, long, func() { children = max(children, childrenOf(pid)) })
	if err != nil {
		return nil, err
	}
	now, err := read(pid)
	if err != nil {
		return nil, err
	}
	row := alone("terminal UI idle, 20 sessions", "% of a core", share, target{most: 1, absolute: true})
	started, _ := os.ReadFile(marks)
	row.Note = fmt.Sprintf("%d bytes read, %d calls of git, %d child processes", now-bytes, strings.Count(string(started), "\n"), children)
	// Go's runtime reads some bytes a second to wake itself; reading lists and records takes more.
	row.Met = row.Met && len(started) == 0 && children == 0 && float64(now-bytes) < 1000*long.Seconds()
	return []Row{row}, nil
}

// busy leaves a process alone for a while and returns the share of a core, in percent,
// that it took. It looks many times a second meanwhile.
func busy(ctx context.Context, pid int, long time.Duration, look func()) (share float64, err error) {
	before, err := ran(pid)
	if err != nil {
		return 0, err
	}
	over := time.After(long)
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for waiting := true; waiting; {
		select {
		case <-over:
			waiting = false
		case <-again.C:
			look()
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	after, err := ran(pid)
	return (after - before).Seconds() / long.Seconds() * 100, err
}

// ran is the time that a process was on a processor. It is exact, where the ticks of
// proc(5) miss what wakes often and briefly (sched-stats in the kernel's documentation).
func ran(pid int) (time.Duration, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err == nil && len(threads) == 0 {
		err = errors.New("the process's time is not counted")
	}
	var sum time.Duration
	for _, thread := range threads {
		data, failed := os.ReadFile(thread)
		if failed != nil {
			continue // it has just ended
		}
		first, _, _ := strings.Cut(string(data), " ")
		nanoseconds, failed := strconv.ParseInt(first, 10, 64)
		err = errors.Join(err, failed)
		sum += time.Duration(nanoseconds)
	}
	return sum, err
}

// read is how many bytes a process has read, from files or anything else (proc(5):
// io, rchar).
func read(pid int) (int, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return 0, err
	}
	rest, found := strings.CutPrefix(string(data), "rchar: ")
	if !found {
		return 0, errors.New("the process's reads are not counted")
	}
	line, _, _ := strings.Cut(rest, "\n")
	return strconv.Atoi(line)
}

// childrenOf counts the processes that pid has started.
func childrenOf(pid int) int {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	n := 0
	for _, list := range lists {
		data, _ := os.ReadFile(list)
		n += len(strings.Fields(string(data)))
	}
	return n
}

// markedGit makes a git that leaves a line in a file before it does its work, and
// returns a PATH on which it comes first.
func (b *bench) markedGit(marks string) (path string, err error) {
	folder := filepath.Join(b.scratch, "marked")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	script := fmt.Sprintf("#!/bin/sh\necho git >> %s\nPATH=${PATH#*:} exec git \"$@\"\n", marks)
	err = os.WriteFile(filepath.Join(folder, "git"), []byte(script), 0o700) //nolint:gosec // a program
	return folder + ":" + os.Getenv("PATH"), err
}
