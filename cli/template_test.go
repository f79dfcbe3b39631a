package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"aibox/internal/fault"
)

func TestATemplateIsNotCreatedFromAFileThatIsNotADockerfile(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "latin1"), []byte("ARG BASE\nFROM ${BASE}\nRUN echo \xe9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		filepath.Join(dir, "none"): "no such file", dir: "is a directory", filepath.Join(dir, "pipe"): "dockerfile is missing",
		filepath.Join(dir, "latin1"): "UTF-8", "/dev/zero": "must not exceed 256 KiB",
	} {
		a, _, _ := testApp(t)
		err := a.execute(t.Context(), []string{"template", "create", "mine", "--dockerfile", name})
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

func TestReadingAFileEndsWithTheCommand(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	writer, err := os.OpenFile(pipe, os.O_RDWR, 0) // does not wait for a reader
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(fault.New(fault.Interrupted, "ctrl-c"))
	if _, err := readFile(ctx, pipe, 100); fault.KindOf(err) != fault.Interrupted {
		t.Error(err)
	}
}
