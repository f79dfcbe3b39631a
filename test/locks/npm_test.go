package locks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// manifest is a package.json: one package to install, or on the base several.
type manifest struct {
	Private  bool              `json:"private"`
	CPU      []string          `json:"cpu,omitempty"` // empty: both processors
	Required map[string]string `json:"dependencies,omitempty"`
	Optional map[string]string `json:"optionalDependencies,omitempty"`
}

// npmLock is a package-lock.json of lockfileVersion 3. A package's key is its path, as in
// node_modules/a/node_modules/b; the root's is empty.
type npmLock struct {
	Version  int                       `json:"lockfileVersion"`
	Requires bool                      `json:"requires"`
	Packages map[string]map[string]any `json:"packages"`
}

// npmFiles asks npm for the whole tree of a manifest, and keeps what a Linux with glibc on
// one of the two processors can install. It answers the files of the lock.
func npmFiles(dir string, m manifest) (map[string][]byte, error) {
	m.CPU = nil
	if err := writeJSON(filepath.Join(dir, "package.json"), m); err != nil {
		return nil, err
	}
	// Without the setting the lock would name the registry that was asked.
	npm := exec.Command("npm", "install", "--package-lock-only", "--omit-lockfile-registry-resolved",
		"--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("npm: %w: %s", err, out)
	}
	data, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return nil, err
	}
	var lock npmLock
	if err := json.Unmarshal(data, &lock); err != nil {
		return nil, err
	}
	missing := lock.prune()
	for _, cpu := range processors {
		if !slices.Contains(missing, cpu) {
			m.CPU = append(m.CPU, cpu)
		}
	}
	if len(m.CPU) == len(processors) {
		m.CPU = nil
	}
	files := map[string][]byte{}
	for name, value := range map[string]any{"package.json": m, "package-lock.json": lock} {
		if files[name], err = indented(value); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// processors are those that gVisor runs on, as npm names them.
var processors = []string{"x64", "arm64"}

// prune drops what a sandbox never installs, and answers the processors for which the
// registry did not have every package. `npm ci` takes the dependencies of a package from
// the lock, so that what was dropped is not asked for.
func (l *npmLock) prune() []string {
	var missing []string
	for key, entry := range l.Packages {
		delete(entry, "funding")
		if key != "" && !runsInSandbox(key, entry) {
			delete(l.Packages, key)
		}
	}
	delete(l.Packages[""], "name") // that of a scratch folder
	for key, entry := range l.Packages {
		optional, _ := entry["optionalDependencies"].(map[string]any)
		for name := range optional {
			if l.resolve(key, name) != "" {
				continue
			}
			delete(optional, name)
			if native := nativeName.FindStringSubmatch(name); native != nil && !musl(name) {
				missing = append(missing, native[1])
			}
		}
		if len(optional) == 0 {
			delete(entry, "optionalDependencies")
		}
	}
	l.dropUnreachable()
	return missing
}

var nativeName = regexp.MustCompile(`linux-(x64|arm64)(?:-|$)`)

// runsInSandbox reports whether a package is for Linux with glibc on one of the processors.
func runsInSandbox(name string, entry map[string]any) bool {
	allows := func(field string, wanted ...string) bool {
		list, ok := entry[field].([]any)
		return !ok || slices.ContainsFunc(list, func(v any) bool { return slices.Contains(wanted, v.(string)) })
	}
	return allows("os", "linux") && allows("cpu", processors...) && allows("libc", "glibc") && !musl(name)
}

// musl reports whether a package is for another C library than the sandbox's. Some packages
// show this only by their names.
func musl(name string) bool { return strings.Contains(name, "musl") }

// resolve finds the package that the one at key gets for a name, as Node does: in its own
// node_modules, then in those above. It is "" where there is none.
func (l *npmLock) resolve(key, name string) string {
	for at := key; ; {
		found := path.Join(at, "node_modules", name)
		if _, ok := l.Packages[found]; ok {
			return found
		}
		if at == "" {
			return ""
		}
		at = strings.TrimSuffix(at[:max(strings.LastIndex(at, "node_modules/"), 0)], "/")
	}
}

func (l *npmLock) dropUnreachable() {
	reached := map[string]bool{}
	var visit func(string)
	visit = func(key string) {
		if reached[key] {
			return
		}
		reached[key] = true
		for _, kind := range []string{"dependencies", "optionalDependencies", "peerDependencies"} {
			names, _ := l.Packages[key][kind].(map[string]any)
			for name := range names {
				if found := l.resolve(key, name); found != "" {
					visit(found)
				}
			}
		}
	}
	visit("")
	for key, entry := range l.Packages {
		if bundled, _ := entry["inBundle"].(bool); !reached[key] && !bundled {
			delete(l.Packages, key)
		}
	}
}

func writeJSON(file string, value any) error {
	data, err := indented(value)
	if err == nil {
		err = os.WriteFile(file, data, 0o644)
	}
	return err
}

// indented is value as npm writes JSON.
func indented(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(value)
	return out.Bytes(), err
}
