package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"aibox/internal/lifeline"
)

func TestWritingFilesKeepsThoseOfTheImage(t *testing.T) {
	home := t.TempDir()
	for name, content := range map[string]string{"there": "of the image", "empty": ""} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("nowhere", filepath.Join(home, "dangling")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"there": "of the image", "empty": "", "absent": "ours"} {
		if err := writeFiles(home, []lifeline.File{{Path: "~/" + name, Mode: 0o644, Data: []byte("ours"), Keep: true}}); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(filepath.Join(home, name)); err != nil || string(data) != want {
			t.Errorf("%s holds %q, %v", name, data, err)
		}
	}
	if err := writeFiles(home, []lifeline.File{{Path: "~/dangling", Data: []byte("ours"), Keep: true}}); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(filepath.Join(home, "dangling")); to != "nowhere" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
}

func TestWritingFilesReplacesLinksAndPipes(t *testing.T) {
	home := t.TempDir()
	other := filepath.Join(home, "other")
	if err := os.WriteFile(other, []byte("untouched"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, filepath.Join(home, "link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(home, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link", "pipe", "other-file", "other-file"} {
		if err := writeFiles(home, []lifeline.File{{Path: "~/" + name, Mode: 0o640, Data: []byte("config")}}); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(home, name)
		if info, err := os.Lstat(path); err != nil || info.Mode() != 0o640 {
			t.Fatalf("%s is %v (%v)", name, info.Mode(), err)
		}
		if data, err := os.ReadFile(path); string(data) != "config" || err != nil {
			t.Errorf("%s holds %q (%v)", name, data, err)
		}
	}
	if data, _ := os.ReadFile(other); string(data) != "untouched" {
		t.Errorf("a link was followed: %q", data)
	}
}
