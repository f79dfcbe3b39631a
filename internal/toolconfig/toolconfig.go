// Package toolconfig reads how the user's package tools are set up to reach their
// registries: from the environment and the files that each tool reads itself, in its order.
// It runs no tool, and reads no other setting. A URL that it returns may hold a password.
package toolconfig

import (
	"cmp"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Source is where the settings of one user are.
type Source struct {
	Root fs.FS
	Env  func(string) string
	Home string // a whole path
}

// Own returns the settings of the user of this process.
func Own() Source {
	home, _ := os.UserHomeDir()
	return Source{Root: os.DirFS("/"), Env: os.Getenv, Home: home}
}

// read returns the content of a file with a whole path; "" if it cannot be read.
func (s Source) read(file string) string {
	data, err := fs.ReadFile(s.Root, strings.TrimPrefix(path.Clean("/"+file), "/"))
	if err != nil {
		return ""
	}
	return string(data)
}

// folder returns the user's folder of configurations.
func (s Source) folder() string {
	return cmp.Or(s.Env("XDG_CONFIG_HOME"), path.Join(s.Home, ".config"))
}

// NPM returns npm's registry; "" if none is set.
func (s Source) NPM() string {
	for _, name := range []string{"npm_config_registry", "NPM_CONFIG_REGISTRY"} {
		if value := s.Env(name); value != "" {
			return value
		}
	}
	user := cmp.Or(s.Env("NPM_CONFIG_USERCONFIG"), path.Join(s.Home, ".npmrc"))
	for _, file := range []string{user, "/usr/local/etc/npmrc", "/etc/npmrc"} {
		for line := range strings.Lines(s.read(file)) {
			key, value, ok := strings.Cut(line, "=")
			if ok && strings.TrimSpace(key) == "registry" {
				return strings.Trim(strings.TrimSpace(value), `"'`)
			}
		}
	}
	return ""
}

// Go returns the go command's list of module proxies and its checksum database, by
// variable, without those that are not set.
func (s Source) Go() map[string]string {
	found := map[string]string{}
	file := cmp.Or(s.Env("GOENV"), path.Join(s.folder(), "go/env"))
	for line := range strings.Lines(s.read(file)) { // a GOENV of "off" names no file
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if name == "GOPROXY" || name == "GOSUMDB" {
			found[name] = value
		}
	}
	for _, name := range []string{"GOPROXY", "GOSUMDB"} {
		if value := s.Env(name); value != "" {
			found[name] = value
		}
		if found[name] == "" {
			delete(found, name)
		}
	}
	return found
}
