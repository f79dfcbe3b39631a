package main

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"
)

// atOnce is how many sandboxes sideBySide starts at the same time.
const atOnce = 4

// sideBySide measures a batch of sessions and, against the same number of containers, as many
// commands at once. Each ends when all have ended.
func sideBySide(ctx context.Context, b *bench) ([]Row, error) {
	run := []string{"run", "shell", "--network", "local", "--inference", "scripted"}
	var batches []float64
	ours, theirs, err := duel(ctx, b.pairs,
		func(ctx context.Context) (time.Duration, error) {
			if err := measure(ctx, &batches, func(ctx context.Context) (time.Duration, error) {
				took, err := b.timed(ctx, b.aibox, append(run, "--times", strconv.Itoa(atOnce), "--", "true")...)
				return took, errors.Join(err, b.removeSessions(ctx))
			}); err != nil {
				return 0, err
			}
			took, err := together(ctx, func(ctx context.Context) error {
				_, err := b.timed(ctx, b.aibox, append(run, "--", "true")...)
				return err
			})
			return took, errors.Join(err, b.removeSessions(ctx))
		},
		func(ctx context.Context) (time.Duration, error) {
			return together(ctx, func(ctx context.Context) error {
				_, err := b.dockerRun(ctx, "--runtime=runsc", b.image, "true")
				return err
			})
		})
	if err != nil {
		return nil, err
	}
	row := versus("4 runs side by side, probes on", "4 docker run --rm --runtime=runsc IMAGE true at once", "ms", ours, theirs, target{most: 1.25})
	row.Note = "as one batch " + number(median(batches)) + " ms"
	return []Row{row}, nil
}

// together runs atOnce calls at the same time and returns how long all of them took.
func together(ctx context.Context, one func(context.Context) error) (time.Duration, error) {
	begin := time.Now()
	failures := make([]error, atOnce)
	var running sync.WaitGroup
	for i := range atOnce {
		running.Go(func() { failures[i] = one(ctx) })
	}
	running.Wait()
	return time.Since(begin), errors.Join(failures...)
}
