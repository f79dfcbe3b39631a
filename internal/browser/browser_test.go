package browser

import (
	"os"
	"path/filepath"
	"testing"

	"aibox/internal/fault"
)

func TestDesktopsOpenerReceivesTheAddress(t *testing.T) {
	dir := t.TempDir()
	opened := filepath.Join(dir, "opened")
	script := "#!/bin/sh\nprintf '%s %s' \"$#\" \"$1\" > " + opened + "\n"
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/bin:/usr/bin")
	if err := Open(t.Context(), "http://127.0.0.1:3000"); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(opened); string(got) != "1 http://127.0.0.1:3000" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, other := range []string{"file:///etc/passwd", "-version", "javascript:alert(1)", ""} {
		if err := Open(t.Context(), other); err == nil {
			t.Errorf("%q is opened", other)
		}
	}
}

func TestMissingOpenerIsReported(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if err := Open(t.Context(), "http://127.0.0.1:3000"); fault.KindOf(err) != fault.Environment {
		t.Errorf("got %v", err)
	}
}
