package diskuse

import (
	"errors"
	"io/fs"
	"testing"
)

func TestFreeSpaceIsKnownOrAnError(t *testing.T) {
	if free, err := Free(t.TempDir()); err != nil || free <= 0 {
		t.Errorf("a folder: %d, %v", free, err)
	}
	if free, err := Free("/proc"); !errors.Is(err, ErrNoSize) {
		t.Errorf("a file system without a size: %d, %v", free, err)
	}
	if free, err := Free(t.TempDir() + "/missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder: %d, %v", free, err)
	}
}
