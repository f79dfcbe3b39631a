package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"aibox/internal/lifeline"
)

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environment adds own to the image's variables. Later values of a name replace earlier
// ones. PATH and HOME are always set.
func environment(image, own []string) []string {
	at := map[string]int{}
	var env []string
	for _, list := range [][]string{{"PATH=" + defaultPath, "HOME=/root"}, image, own} {
		for _, entry := range list {
			name, value, ok := strings.Cut(entry, "=")
			if !ok || name == "" || (name == "HOME" && value == "") {
				continue
			}
			if i, ok := at[name]; ok {
				env[i] = entry
				continue
			}
			at[name] = len(env)
			env = append(env, entry)
		}
	}
	return env
}

func lookup(env []string, name string) string {
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// writeFiles writes the agent's files.
func writeFiles(home string, files []lifeline.File) error {
	for _, f := range files {
		path := f.Path
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			path = filepath.Join(home, rest)
		}
		if !filepath.IsAbs(path) {
			return fmt.Errorf("file %q has no absolute path", f.Path)
		}
		mode := os.FileMode(f.Mode).Perm()
		if f.Mode == 0 {
			mode = 0o600
		}
		if _, err := os.Lstat(path); err == nil && f.Keep {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := writeFile(path, f.Data, mode); err != nil {
			return err
		}
	}
	return nil
}

// writeFile replaces the file at path. In a state folder, the agent of an earlier session
// may have left a pipe without a reader or a link there.
func writeFile(path string, data []byte, mode os.FileMode) error {
	if info, err := os.Lstat(path); err == nil && !info.IsDir() {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Chmod(mode), file.Close())
}
