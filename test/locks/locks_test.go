package locks

import (
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the locks again, from the versions in the Dockerfiles")

const (
	recipes = "../../dockerfiles"
	folder  = recipes + "/locks"
)

// npmImages are the images that npm installs, by name.
func npmImages(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(recipes + "/*.Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		if strings.Contains(read(t, file), "npm ci") {
			names = append(names, strings.TrimSuffix(filepath.Base(file), ".Dockerfile"))
		}
	}
	if len(names) < 9 {
		t.Fatalf("npm installs only %q", names)
	}
	return names
}

// read is a file's content, "" where there is none.
func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}

func readJSON(t *testing.T, file string, value any) {
	t.Helper()
	if err := json.Unmarshal([]byte(read(t, file)), value); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// versionOf is the version that an agent's Dockerfile pins; "" on the base.
func versionOf(t *testing.T, name string) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^ARG VERSION=(\S+)$`).FindStringSubmatch(read(t, filepath.Join(recipes, name+".Dockerfile")))
	if found == nil {
		return ""
	}
	return found[1]
}

// write puts the files of a lock in its folder.
func write(t *testing.T, name string, files map[string][]byte) {
	t.Helper()
	dir := filepath.Join(folder, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for file, data := range files {
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNPMLocksAreWholeAndCurrent(t *testing.T) {
	for _, name := range npmImages(t) {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(folder, name)
			var m manifest
			readJSON(t, filepath.Join(dir, "package.json"), &m)
			if version := versionOf(t, name); version != "" && *update {
				for dependency := range m.Required {
					m.Required[dependency] = version
				}
			}
			if *update {
				files, err := npmFiles(t.TempDir(), m)
				if err != nil {
					t.Fatal(err)
				}
				write(t, name, files)
				readJSON(t, filepath.Join(dir, "package.json"), &m)
			}
			checkManifest(t, name, m)
			checkLock(t, dir, m)
		})
	}
}

// checkManifest asks for the version of the Dockerfile, and for exact versions.
func checkManifest(t *testing.T, name string, m manifest) {
	t.Helper()
	version := versionOf(t, name)
	if version != "" && (len(m.Required) != 1 || len(m.Optional) != 0) {
		t.Errorf("package.json has to name the agent's package alone: %+v", m)
	}
	for _, list := range []map[string]string{m.Required, m.Optional} {
		for dependency, asked := range list {
			if version != "" && asked != version {
				t.Errorf("the lock has %s %s and the Dockerfile %s: make locks", dependency, asked, version)
			}
			if !regexp.MustCompile(`^[0-9][0-9A-Za-z.+-]*$`).MatchString(asked) {
				t.Errorf("%s %q is not one version", dependency, asked)
			}
		}
	}
}

// checkLock asks for a SHA-512 of every package, for no address of any registry, and
// for the native packages of the processors that the lock is for.
func checkLock(t *testing.T, dir string, m manifest) {
	t.Helper()
	file := filepath.Join(dir, "package-lock.json")
	if text := read(t, file) + read(t, filepath.Join(dir, "package.json")); strings.Contains(text, "://") || strings.Contains(text, `"resolved"`) {
		t.Error("an address stands in the lock")
	}
	var lock npmLock
	readJSON(t, file, &lock)
	if lock.Version != 3 || len(lock.Packages) < 2 {
		t.Fatalf("version %d with %d packages", lock.Version, len(lock.Packages))
	}
	sha512 := regexp.MustCompile(`^sha512-[A-Za-z0-9+/]{86}==$`)
	for key, entry := range lock.Packages {
		integrity, _ := entry["integrity"].(string)
		bundled, _ := entry["inBundle"].(bool)
		if key != "" && !bundled && !sha512.MatchString(integrity) {
			t.Errorf("%s has the checksum %q", key, integrity)
		}
		if bundled && !strings.Contains(key, "/node_modules/") {
			t.Errorf("%s is bundled with nothing", key)
		}
	}
	for _, list := range []map[string]string{m.Required, m.Optional} {
		for name, version := range list {
			if got := lock.Packages["node_modules/"+name]["version"]; got != version {
				t.Errorf("%s %s has the version %v in the lock: make locks", name, version, got)
			}
		}
	}
	checkProcessors(t, lock, m)
}

// checkProcessors checks that the lock has the same packages for both architectures.
func checkProcessors(t *testing.T, lock npmLock, m manifest) {
	t.Helper()
	native := map[string]map[string]bool{}
	for key := range lock.Packages {
		if found := regexp.MustCompile(`^(.*linux-)(x64|arm64)(|-gnu|-glibc)$`).FindStringSubmatch(key); found != nil {
			family := found[1] + "*" + found[3]
			if native[family] == nil {
				native[family] = map[string]bool{}
			}
			native[family][found[2]] = true
		}
	}
	cpus := m.CPU
	if len(cpus) == 0 {
		cpus = processors
	}
	for family, have := range native {
		for _, cpu := range cpus {
			if !have[cpu] {
				t.Errorf("%s is there for %v and not for %s", family, slices.Sorted(maps.Keys(have)), cpu)
			}
		}
	}
	if !slices.Contains(cpus, "x64") {
		t.Error("the lock is not for x64")
	}
}
