package main

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// many is a multiple of the pairs, for what takes milliseconds.
func (b *bench) many() int { return 5 * b.pairs }

func help(ctx context.Context, b *bench) ([]Row, error) {
	ours, theirs, err := duel(ctx, b.many(),
		func(ctx context.Context) (time.Duration, error) { return b.timed(ctx, b.aibox, "--help") },
		func(ctx context.Context) (time.Duration, error) { return b.timed(ctx, "docker", "--help") })
	if err != nil {
		return nil, err
	}
	return []Row{versus("aibox --help", "docker --help", "ms", ours, theirs, target{most: 1})}, nil
}

// startUp measures a command that does nothing: what every command costs.
func startUp(ctx context.Context, b *bench) ([]Row, error) {
	ours, theirs, err := duel(ctx, b.many(),
		func(ctx context.Context) (time.Duration, error) { return b.timed(ctx, b.aibox, "version") },
		func(ctx context.Context) (time.Duration, error) {
			return b.timed(ctx, "docker", "--version")
		})
	if err != nil {
		return nil, err
	}
	return []Row{versus("aibox version", "docker --version", "ms", ours, theirs, target{most: 1.1})}, nil
}

// list measures `aibox ls` with a thousand sessions, made by copying one.
func list(ctx context.Context, b *bench) ([]Row, error) {
	if _, err := b.timed(ctx, b.aibox, "run", "shell", "--inference", "scripted", "--", "true"); err != nil {
		return nil, err
	}
	found, err := b.sessions(ctx)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	state := filepath.Join(b.scratch, "thousand")
	err = multiply(filepath.Join(b.scratch, "state", "aibox", "sessions", found[0].ID), found[0].ID, filepath.Join(state, "aibox", "sessions"), 1000)
	if err = errors.Join(err, b.removeSessions(ctx)); err != nil {
		return nil, err
	}
	crowded := *b
	crowded.env = append(slices.Clone(b.env), "XDG_STATE_HOME="+state)
	ours, theirs, err := duel(ctx, b.many(),
		func(ctx context.Context) (time.Duration, error) { return crowded.timed(ctx, b.aibox, "ls") },
		func(ctx context.Context) (time.Duration, error) { return b.timed(ctx, "docker", "ps") })
	if err != nil {
		return nil, err
	}
	return []Row{versus("aibox ls, 1000 sessions", "docker ps", "ms", ours, theirs, target{most: 1})}, nil
}

// multiply copies the files of an ended session to n sessions of other ids.
func multiply(from, id, to string, n int) error {
	for i := range n {
		name := fmt.Sprintf("%05d-shell", i)
		folder := filepath.Join(to, name)
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
		for _, file := range []string{"spec.json", "state.json", "changes.json", "output.raw", "output.idx"} {
			data, err := os.ReadFile(filepath.Join(from, file))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			data = bytes.ReplaceAll(data, []byte(id), []byte(name))
			if err := os.WriteFile(filepath.Join(folder, file), data, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

func binary(_ context.Context, b *bench) ([]Row, error) {
	info, err := os.Stat(b.aibox)
	if err != nil {
		return nil, err
	}
	file, err := elf.Open(b.aibox)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	row := alone("binary, one static file", "MB", float64(info.Size())/1e6, target{most: 40, absolute: true})
	if slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		row.Met, row.Note = false, "linked dynamically"
	}
	return []Row{row}, nil
}
