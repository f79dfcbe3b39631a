package manager

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"aibox/session/feedback"
)

func TestWaitingForASessionEndsOnCancel(t *testing.T) {
	d := newFixture(t)
	d.ended("00001-a", "a.txt")
	held, err := d.store.Lock("00001-a") // held by its supervisor, which still cleans up
	d.must(err)
	defer held.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, err = d.Comment(ctx, "00001-a", feedback.Comment{Text: "x"})
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > cleanupTimeout/2 {
		t.Errorf("it ends after %v with %v", time.Since(begin), err)
	}
}

func TestFollowersOfARemovedSessionGetAnError(t *testing.T) {
	d := newFixture(t)
	d.ended("00001-a", "one.txt")
	held, err := d.store.Lock("00001-a")
	d.must(err)
	said := make(chan error)
	go func() {
		_, err := d.Discard(context.Background(), "00001-a")
		said <- err
	}()
	d.must(d.store.Remove(t.Context(), "00001-a"))
	d.must(held.Close())
	if err := <-said; err == nil || !strings.Contains(err.Error(), "was removed in the meantime") {
		t.Errorf("it says %v", err)
	}
}
