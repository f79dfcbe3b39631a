package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestCommitsOfARunInASubfolderAreFound(t *testing.T) {
	top := t.TempDir()
	below := filepath.Join(top, "a", "b")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := repository(below); got != below {
		t.Errorf("without a repository: %s", got)
	}
	if err := os.Mkdir(filepath.Join(top, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{top, below} {
		if got := repository(dir); got != top {
			t.Errorf("of %s: %s", dir, got)
		}
	}
}
