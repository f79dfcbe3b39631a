package workspace

import (
	"context"
	"errors"
	"path/filepath"

	"aibox/internal/flock"
)

// holdFile is a lock (flock) in the aibox folder of a repository that aibox owns. A writer
// of objects that no ref names yet holds it shared; garbage collection holds it
// exclusively.
const holdFile = "use.lock"

// Hold protects new objects of the repository at gitDir from garbage collection until
// release is called. It waits while one is running. Holds may be nested.
func Hold(ctx context.Context, gitDir string) (release func(), err error) {
	held, err := flock.Wait(ctx, filepath.Join(gitDir, "aibox", holdFile), flock.Shared)
	if err != nil {
		return nil, err
	}
	return func() { _ = held.Close() }, nil
}

// lockExclusive keeps all other processes from writing to the repository at gitDir. It
// does not wait.
func lockExclusive(gitDir string) (release func(), err error) {
	held, err := flock.Try(filepath.Join(gitDir, "aibox", holdFile), flock.Exclusive)
	if errors.Is(err, flock.ErrHeld) {
		err = ErrBusy
	}
	if err != nil {
		return nil, err
	}
	return func() { _ = held.Close() }, nil
}
