package locks

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"aibox/bakery"
	"aibox/bakery/docker"
	"aibox/dockerfiles"
)

// registry is a registry of npm's whose packages were all replaced.
//
//go:embed testdata/registry.js
var registry string

// poisoned is what every program that a replaced package brings prints.
const poisoned = "this program was replaced"

// lines collects the output of a bake.
type lines struct{ strings.Builder }

func (l *lines) Handle(e bakery.Event) {
	fmt.Fprintln(l, e.Text, e.Err, strings.Join(e.Tail, "\n"))
}

// daemon is the one of DOCKER_HOST.
func daemon(t *testing.T) *docker.Builder {
	t.Helper()
	b, err := docker.Open(os.Getenv("DOCKER_HOST"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// realBase is aibox's own base image, baked once where it is not there.
var realBase = sync.OnceValues(func() (string, error) {
	b, err := docker.Open(os.Getenv("DOCKER_HOST"))
	if err != nil {
		return "", err
	}
	defer b.Close()
	k, err := bakery.New(b, dockerfiles.FS, bakery.Options{Host: bakery.ReadHost()})
	if err != nil {
		return "", err
	}
	done, err := k.Bake(context.Background(), []string{bakery.Base}, nil)
	if err != nil {
		return "", err
	}
	return done[0].Ref, nil
})

// ours are the Dockerfiles of aibox and their locks, with another base: one on which the
// network is hostile.
func ours(t *testing.T, base string, changes map[string]string) fstest.MapFS {
	t.Helper()
	all := fstest.MapFS{}
	err := fs.WalkDir(dockerfiles.FS, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(name, "locks/base/") {
			return err
		}
		data, err := fs.ReadFile(dockerfiles.FS, name)
		all[name] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	// What a program prints is seen only where its step was not done before.
	all["base.Dockerfile"] = &fstest.MapFile{Data: []byte("ARG BASE\nFROM ${BASE}\n" + base + "ENV RUN_OF=" + rand.Text() + "\n")}
	for name, text := range changes {
		delete(all, name)
		if text != "" {
			all[name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	return all
}

// bakeOn bakes an agent from its own Dockerfile, and returns the output.
func bakeOn(t *testing.T, files fstest.MapFS, agent string) (string, error) {
	t.Helper()
	base, err := realBase()
	if err != nil {
		t.Fatal(err)
	}
	b := daemon(t)
	k, err := bakery.New(b, files, bakery.Options{Base: base, Host: bakery.Host{Arch: bakery.ReadHost().Arch}})
	if err != nil {
		t.Fatal(err)
	}
	var said lines
	done, err := k.Bake(t.Context(), []string{bakery.Base, agent}, &said)
	var made []string
	for _, image := range slices.Backward(done) {
		made = append(made, image.Ref)
	}
	image, lost := b.Image(context.Background(), base)
	if lost != nil {
		t.Error(lost)
	}
	for _, ref := range image.Refs { // the name that a given base gets
		if strings.HasPrefix(ref, "aibox/debian:") {
			made = append(made, ref)
		}
	}
	for _, ref := range made {
		if err := b.Remove(context.Background(), ref); err != nil && !errors.Is(err, bakery.ErrNoImage) {
			t.Error(err)
		}
	}
	return said.String(), err
}

// install is a line of a Dockerfile that makes a program of a text.
func install(file, text string) string {
	return fmt.Sprintf("RUN mkdir -p %s && rm -f %s && echo %s | base64 -d >%s && chmod 0755 %s\n", path.Dir(file), file, base64.StdEncoding.EncodeToString([]byte(text)), file, file)
}

// hostileNPM makes npm use a registry where all packages of an agent were replaced. If lie
// is set, the registry returns the checksums of the lock, but serves other content.
// archives is the list of programs in the package of Crush, as JSON.
func hostileNPM(t *testing.T, agent string, lie bool, archives string) string {
	t.Helper()
	var lock npmLock
	readJSON(t, filepath.Join(folder, agent, "package-lock.json"), &lock)
	known := map[string]map[string]any{}
	for key, entry := range lock.Packages {
		if key == "" {
			continue
		}
		name := key[strings.LastIndex(key, "node_modules/")+len("node_modules/"):]
		if real, ok := entry["name"].(string); ok { // key is an alias
			name = real
		}
		if known[name] == nil {
			known[name] = map[string]any{}
		}
		known[name][fmt.Sprint(entry["version"])] = entry
	}
	packages, err := json.Marshal(known)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("PACKAGES", string(packages), "LIE", fmt.Sprint(lie), "POISONED", poisoned, "ARCHIVES", archives).Replace(registry)
	return install("/usr/local/bin/npm", "#!/usr/local/bin/node\n"+text)
}

func TestAReplacedPackageFailsTheBakeOfEveryAgentThatNPMInstalls(t *testing.T) {
	for _, agent := range npmImages(t) {
		if agent == bakery.Base {
			continue // only agents are baked here; npm checks the base's lock in the same way
		}
		if said, err := bakeOn(t, ours(t, hostileNPM(t, agent, true, "{}"), nil), agent); err == nil || !strings.Contains(said, "EINTEGRITY") {
			t.Errorf("%s: %v\n%s", agent, err, said)
		}
	}
}

func TestAReplacedPackageWithItsRealChecksumFailsTheBakeToo(t *testing.T) {
	if said, err := bakeOn(t, ours(t, hostileNPM(t, "claude", false, "{}"), nil), "claude"); err == nil || !strings.Contains(said, "EINTEGRITY") {
		t.Errorf("%v\n%s", err, said)
	}
}

// Without the lock the same registry has its way: what the tests above hold is the lock.
func TestWithoutItsLockAReplacedPackageIsInstalled(t *testing.T) {
	files := ours(t, hostileNPM(t, "claude", false, "{}"), map[string]string{"locks/claude/package-lock.json": ""})
	said, err := bakeOn(t, files, "claude")
	if err != nil || !strings.Contains(said, poisoned) || !strings.Contains(said, "not pinned: claude") {
		t.Errorf("%v\n%s", err, said)
	}
}

func TestAProgramOfCrushsWithAnotherChecksumThanItsPackageSaysIsRefused(t *testing.T) {
	program := "#!/bin/sh\necho " + poisoned + "\n"
	archive := tarball(t, "crush_1_Linux/crush", program)
	curl := install("/usr/local/bin/curl", "#!/bin/sh\nwhile [ \"$1\" != --output ]; do shift; done\ncp /archive.bin \"$2\"\n")
	for name, test := range map[string]struct {
		checksum string
		taken    bool
	}{
		"the right checksum": {fmt.Sprintf(`{"algorithm": "sha256", "digest": "%x"}`, sha256.Sum256([]byte(archive))), true},
		"another checksum":   {fmt.Sprintf(`{"algorithm": "sha256", "digest": "%064x"}`, 0), false},
		"a weaker sort":      {`{"algorithm": "md5", "digest": "d41d8cd98f00b204e9800998ecf8427e"}`, false},
		"no checksum":        {`{"algorithm": "sha256", "digest": ""}`, false},
		"none at all":        {`null`, false},
	} {
		one := `{"url": "https://packages.invalid/x.tar.gz", "wrappedIn": "crush_1_Linux", "checksum": ` + test.checksum + `}`
		npm := hostileNPM(t, "crush", false, `{"linux-x64": `+one+`, "linux-arm64": `+one+`}`)
		// Without its lock npm takes the package of the registry here.
		said, err := bakeOn(t, ours(t, npm+curl+install("/archive.bin", archive), map[string]string{"locks/crush/package-lock.json": ""}), "crush")
		if (err == nil) != test.taken || strings.Contains(said, poisoned) != test.taken {
			t.Errorf("%s: %v\n%s", name, err, said)
		}
	}
}

// tarball is an archive of one program.
func tarball(t *testing.T, name, program string) string {
	t.Helper()
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	w := tar.NewWriter(packed)
	err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(program))})
	if err == nil {
		_, err = w.Write([]byte(program))
	}
	if err := errors.Join(err, w.Close(), packed.Close()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestAnArchiveOfCursorsWithAnotherChecksumIsRefused(t *testing.T) {
	program := "#!/bin/sh\necho " + poisoned + "\n"
	// curl -o FILE: the archive, whatever is asked for.
	curl := install("/usr/local/bin/curl", `#!/bin/sh
while [ "$1" != --output ]; do shift; done
mkdir -p /a/dist && cp /archive/cursor-agent /a/dist/ && tar --sort=name --mtime=@0 --owner=0 --group=0 -cf "$2.tar" -C /a dist && gzip -n <"$2.tar" >"$2"
if [ -e /archive/sums ]; then sha256sum "$2"; fi
`)
	base := install("/archive/cursor-agent", program) + curl
	said, err := bakeOn(t, ours(t, base+"RUN touch /archive/sums\n", nil), "cursor")
	if err != nil || !strings.Contains(said, poisoned) || !strings.Contains(said, "not pinned: cursor") {
		t.Fatalf("without a checksum: %v\n%s", err, said)
	}
	sum := said[strings.Index(said, "  /x64.tar.gz")-64:][:64]
	if strings.Contains(said, "  /arm64.tar.gz") {
		sum = said[strings.Index(said, "  /arm64.tar.gz")-64:][:64]
	}
	for wanted, ok := range map[string]bool{sum: true, strings.Repeat("0", 64): false} {
		sums := wanted + "  x64.tar.gz\n" + wanted + "  arm64.tar.gz\n"
		said, err := bakeOn(t, ours(t, base, map[string]string{"locks/cursor/SHA256SUMS": sums}), "cursor")
		if (err == nil) != ok || strings.Contains(said, poisoned) != ok || strings.Contains(said, "not pinned") {
			t.Errorf("with %s: %v\n%s", wanted, err, said)
		}
	}
}

// wheel is a package of Python's with a program.
func wheel(t *testing.T, name, version, module, requires string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	info := strings.ReplaceAll(name, "-", "_") + "-" + version + ".dist-info/"
	files := map[string]string{
		module + ".py":            "def main():\n    print('" + name + " " + version + "')\n",
		info + "METADATA":         "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n" + requires,
		info + "WHEEL":            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		info + "entry_points.txt": "[console_scripts]\n" + module + " = " + module + ":main\n",
		info + "RECORD":           "",
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		part, err := w.Create(file)
		if err == nil {
			_, err = part.Write([]byte(files[file]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestAPackageOfAidersWithAnotherChecksumIsRefused(t *testing.T) {
	version := versionOf(t, "aider")
	aider := wheel(t, "aider-chat", version, "aider", "Requires-Dist: helper\n")
	helper := wheel(t, "helper", "1.0", "helper", "")
	builder := wheel(t, "builder", "1.0", "builder", "")
	base := install("/wheels/aider_chat-"+version+"-py3-none-any.whl", string(aider)) +
		install("/wheels/helper-1.0-py3-none-any.whl", string(helper)) + install("/wheels/builder-1.0-py3-none-any.whl", string(builder)) +
		"ENV PIP_NO_INDEX=1 PIP_FIND_LINKS=/wheels\n"
	pinned := func(name, version string, content []byte) string {
		return fmt.Sprintf("%s==%s --hash=sha256:%x\n", name, version, sha256.Sum256(content))
	}
	right := pinned("aider-chat", version, aider)
	for name, test := range map[string]struct {
		requirements, build string
		refused             string // by these words of pip's; "": it is taken
	}{
		"as pinned":                  {right + pinned("helper", "1.0", helper), pinned("builder", "1.0", builder), ""},
		"a dependency was replaced":  {right + pinned("helper", "1.0", aider), pinned("builder", "1.0", builder), "DO NOT MATCH THE HASHES"},
		"a dependency is not listed": {right, pinned("builder", "1.0", builder), "all requirements must have their versions pinned"},
		"what it is built with":      {right + pinned("helper", "1.0", helper), pinned("builder", "1.0", aider), "DO NOT MATCH THE HASHES"},
	} {
		said, err := bakeOn(t, ours(t, base, map[string]string{"locks/aider/requirements.txt": test.requirements, "locks/aider/build.txt": test.build}), "aider")
		taken := test.refused == ""
		if (err == nil) != taken || strings.Contains(said, "aider-chat "+version) != taken || !strings.Contains(said, test.refused) || strings.Contains(said, "not pinned") {
			t.Errorf("%s: %v\n%s", name, err, said)
		}
	}
}
