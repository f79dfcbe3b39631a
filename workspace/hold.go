package workspace

import (
	"context"
	"errors"
	"path/filepath"

	"aibox/internal/flock"
)

// holdFile, in the aibox folder of a repository that aibox owns, is locked shared
// (flock) by whoever writes objects there before a ref names them, and exclusively
// while what no ref names is thrown away.
const holdFile = "use.lock"

// Hold keeps what is written to the repository at gitDir from being thrown away
// until release is called. It waits while the repository is being tidied. Holds may
// be nested.
func Hold(ctx context.Context, gitDir string) (release func(), err error) {
	held, err := flock.Wait(ctx, filepath.Join(gitDir, "aibox", holdFile), flock.Shared)
	if err != nil {
		return nil, err
	}
	return func() { _ = held.Close() }, nil
}

// seize keeps everybody from writing to the repository at gitDir. It waits for
// nobody.
func seize(gitDir string) (release func(), err error) {
	held, err := flock.Try(filepath.Join(gitDir, "aibox", holdFile), flock.Exclusive)
	if errors.Is(err, flock.ErrHeld) {
		err = ErrBusy
	}
	if err != nil {
		return nil, err
	}
	return func() { _ = held.Close() }, nil
}
