package volume

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"aibox/internal/fault"
)

func TestAVolumeThatIsHeldIsNotDeleted(t *testing.T) {
	s, _ := newStore(t)
	if _, err := s.Hold(t.Context(), "acme", "data"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("one that does not exist is held: %v", err)
	}
	if _, err := s.Create("acme", "data"); err != nil {
		t.Fatal(err)
	}
	first, err := s.Hold(t.Context(), "acme", "data")
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.Hold(t.Context(), "acme", "data")
	if err != nil {
		t.Fatal(err)
	}
	for _, release := range []func(){first, second} {
		if err := s.Delete(t.Context(), "acme", "data", unused); fault.KindOf(err) != fault.Conflict {
			t.Errorf("a volume that is held is deleted: %v", err)
		}
		release()
	}
	if err := s.Delete(t.Context(), "acme", "data", unused); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestAVolumeIsNotHeldWhileItsDeletionChecksWhetherItIsUsed(t *testing.T) {
	s, _ := newStore(t)
	if _, err := s.Create("acme", "data"); err != nil {
		t.Fatal(err)
	}
	used := errors.New("it is used")
	err := s.Delete(t.Context(), "acme", "data", func() error {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Hold(ctx, "acme", "data"); !errors.Is(err, context.Canceled) {
			t.Errorf("it is held: %v", err)
		}
		return used
	})
	if !errors.Is(err, used) {
		t.Errorf("the deletion ends with %v", err)
	}
	release, err := s.Hold(t.Context(), "acme", "data")
	if err != nil {
		t.Fatalf("a volume whose deletion was refused: %v", err)
	}
	release()
}

// The lock is of a folder. Another one can have its path by the time that the lock is taken.
func TestAVolumeThatReplacedADeletedOneIsNotTakenForIt(t *testing.T) {
	s, dir := newStore(t)
	path := filepath.Join(dir, "volumes", "acme", "data")
	if _, err := s.Create("acme", "data"); err != nil {
		t.Fatal(err)
	}
	opened, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	if !isAt(opened, path) {
		t.Error("the folder is not at its path")
	}
	if err := s.Delete(t.Context(), "acme", "data", unused); err != nil {
		t.Fatal(err)
	}
	if isAt(opened, path) {
		t.Error("a deleted folder is at its path")
	}
	if _, err := s.Create("acme", "data"); err != nil {
		t.Fatal(err)
	}
	if isAt(opened, path) {
		t.Error("the folder that replaced it is taken for it")
	}
}
