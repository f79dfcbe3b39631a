package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/docker/docker/api/types/image"

	"aibox/bakery"
)

// daemon returns a Builder for the real daemon at DOCKER_HOST.
func daemon(t *testing.T) *Builder {
	t.Helper()
	if testing.Short() {
		t.Skip("needs Docker; go test without -short runs it")
	}
	host := os.Getenv("DOCKER_HOST")
	if host == "" {
		t.Fatal("DOCKER_HOST is not set: these tests need a running Docker daemon")
	}
	b, err := Open(host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	if _, err := b.api.Ping(t.Context()); err != nil {
		t.Fatalf("no Docker daemon answers at %s: %v", host, err)
	}
	return b
}

// probe compiles the program of the test images once.
var probe = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "aibox-probe")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "probe")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", file, "./testdata/probe")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, errors.New(string(out))
	}
	return os.ReadFile(file)
})

// system imports an image that holds only /probe, and returns its name.
func system(t *testing.T, b *Builder) string {
	t.Helper()
	program, err := probe()
	if err != nil {
		t.Fatal(err)
	}
	var root bytes.Buffer
	w := tar.NewWriter(&root)
	if err := w.WriteHeader(&tar.Header{Name: "probe", Mode: 0o755, Size: int64(len(program))}); err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write(program)
	_ = w.Close()
	ref := name(t, b, "system")
	if err := b.Import(t.Context(), ref, &root); err != nil {
		t.Fatal(err)
	}
	return ref
}

// name returns a reference that only this test uses, and removes the image when the test ends.
func name(t *testing.T, b *Builder, what string) string {
	ref := "aibox-test/" + what + ":" + strings.ToLower(rand.Text())
	t.Cleanup(func() { remove(b, ref) })
	return ref
}

func remove(b *Builder, ref string) {
	_, _ = b.api.ImageRemove(context.Background(), ref, image.RemoveOptions{PruneChildren: true})
}

// order returns a build of one Dockerfile on the system base.
func order(t *testing.T, b *Builder, base, dockerfile string) bakery.Build {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	if err := w.WriteHeader(&tar.Header{Name: "x.Dockerfile", Mode: 0o644, Size: int64(len(dockerfile))}); err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write([]byte(dockerfile))
	_ = w.Close()
	return bakery.Build{
		Ref: name(t, b, "built"), Context: archive.Bytes(), Dockerfile: "x.Dockerfile",
		Args: map[string]string{"BASE": base}, Labels: map[string]string{"aibox.test": "yes"},
	}
}

// news collects the updates of a build.
type news struct {
	steps map[string]bakery.Step
	log   strings.Builder
}

func (n *news) take(u bakery.Update) {
	for _, s := range u.Steps {
		if n.steps == nil {
			n.steps = map[string]bakery.Step{}
		}
		n.steps[s.ID] = s
	}
	for _, l := range u.Logs {
		n.log.Write(l.Data)
	}
}

func (n *news) step(t *testing.T, part string) bakery.Step {
	t.Helper()
	for _, s := range n.steps {
		if strings.Contains(s.Name, part) {
			return s
		}
	}
	t.Fatalf("no step with %q in %+v", part, n.steps)
	return bakery.Step{}
}

func TestBuildReportsStepsAndTheNextBuildIsCached(t *testing.T) {
	b := daemon(t)
	base := system(t, b)
	text := "ARG BASE\nFROM ${BASE}\nRUN [\"/probe\", \"say\", \"hello " + rand.Text() + "\"]\n"
	var first, second news
	build := order(t, b, base, text)
	if err := b.Build(t.Context(), build, first.take); err != nil {
		t.Fatal(err)
	}
	run := first.step(t, "RUN")
	if run.Cached || run.Error != "" || run.Started.IsZero() || run.Ended.Before(run.Started) || time.Since(run.Started) > time.Hour {
		t.Errorf("step: %+v", run)
	}
	if !strings.Contains(first.log.String(), "hello") {
		t.Errorf("log: %q", first.log.String())
	}
	image, err := b.Image(t.Context(), build.Ref)
	if err != nil || image.Labels["aibox.test"] != "yes" || !strings.HasPrefix(image.ID, "sha256:") || image.Size == 0 {
		t.Errorf("image: %+v, %v", image, err)
	}
	if err := b.Build(t.Context(), build, second.take); err != nil {
		t.Fatal(err)
	}
	if same, err := b.Image(t.Context(), build.Ref); err != nil || same.ID != image.ID {
		t.Errorf("the same image after a second build: %+v, %v", same, err)
	}
	if !second.step(t, "RUN").Cached {
		t.Errorf("second build: %+v", second.steps)
	}
}

func TestRebuildReplacesTheImageAndRemovesTheOldOneUnlessItIsNeeded(t *testing.T) {
	b := daemon(t)
	build := order(t, b, system(t, b), "ARG BASE\nFROM ${BASE}\nRUN [\"/probe\", \"say\", \"again "+rand.Text()+"\"]\n")
	var ids []string
	for i := range 3 {
		var got news
		build.NoCache = true
		build.Needed = func(id string) bool { return i == 2 && id == ids[1] }
		if err := b.Build(t.Context(), build, got.take); err != nil {
			t.Fatal(err)
		}
		if got.step(t, "RUN").Cached {
			t.Error("NoCache did not rebuild")
		}
		found, err := b.Image(t.Context(), build.Ref)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, found.ID)
	}
	if ids[0] == ids[1] || ids[1] == ids[2] {
		t.Fatal("two builds made the same image")
	}
	if _, err := b.Image(t.Context(), ids[0]); !errors.Is(err, bakery.ErrNoImage) {
		t.Errorf("the old image: %v", err)
	}
	if _, err := b.Image(t.Context(), ids[1]); err != nil {
		t.Errorf("an old image that is needed: %v", err)
	}
	remove(b, ids[1])
}

func TestCacheMountPersistsAcrossBuildsButNotInTheImage(t *testing.T) {
	b := daemon(t)
	base := system(t, b)
	mark := rand.Text() // also in the step, because another mount id does not make it a different step
	mount := "--mount=type=cache,id=aibox-test-" + mark + ",target=/cache"
	var last news
	for _, word := range []string{"one", "two"} {
		last = news{}
		if err := b.Build(t.Context(), order(t, b, base, "ARG BASE\nFROM ${BASE}\nRUN "+mount+" [\"/probe\", \"write\", \"/cache/f\", \""+word+mark+"\"]\n"), last.take); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(last.log.String(), "before: one"+mark+"\n") {
		t.Errorf("log: %q", last.log.String())
	}
}

func TestFailingStepReportsItsOutputAndLeavesNoReference(t *testing.T) {
	b := daemon(t)
	var got news
	build := order(t, b, system(t, b), "ARG BASE\nFROM ${BASE}\nRUN [\"/probe\", \"fail\"]\n")
	if err := b.Build(t.Context(), build, got.take); err == nil {
		t.Fatal("the build succeeded")
	}
	if step := got.step(t, "RUN"); !strings.Contains(step.Error, "exit code: 7") {
		t.Errorf("step: %+v", step)
	}
	if !strings.Contains(got.log.String(), "last line") {
		t.Errorf("log: %q", got.log.String())
	}
	if _, err := b.Image(t.Context(), build.Ref); !errors.Is(err, bakery.ErrNoImage) {
		t.Errorf("reference: %v", err)
	}
}

func TestCanceledBuildEndsItsProcessAndLeavesNoReference(t *testing.T) {
	b := daemon(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	token := rand.Text()
	build := order(t, b, system(t, b), "ARG BASE\nFROM ${BASE}\nRUN [\"/probe\", \"hang\", \""+token+"\"]\n")
	ran := false
	err := b.Build(ctx, build, func(u bakery.Update) {
		for _, l := range u.Logs {
			if strings.Contains(string(l.Data), "ready") {
				ran = running(token)
				cancel()
			}
		}
	})
	if !errors.Is(err, context.Canceled) || !ran {
		t.Errorf("error: %v, seen running: %v", err, ran)
	}
	if running(token) {
		t.Error("the step still runs after Build returned")
	}
	if _, err := b.Image(t.Context(), build.Ref); !errors.Is(err, bakery.ErrNoImage) {
		t.Errorf("reference: %v", err)
	}
}

// running looks for a probe with token in its command line. The daemon is the
// user's, so its processes are in the same /proc.
func running(token string) bool {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && strings.HasPrefix(string(line), "/probe\x00") && strings.Contains(string(line), token) {
			return true
		}
	}
	return false
}

func TestInterruptedImportLeavesNoReference(t *testing.T) {
	b := daemon(t)
	ref := name(t, b, "broken")
	r, w := io.Pipe()
	go func() {
		tw := tar.NewWriter(w)
		_ = tw.WriteHeader(&tar.Header{Name: "file", Mode: 0o644, Size: 1 << 20})
		_, _ = tw.Write(make([]byte, 1<<16))
		_ = w.CloseWithError(errors.New("the maker died"))
	}()
	if err := b.Import(t.Context(), ref, r); err == nil {
		t.Error("a broken import succeeded")
	}
	if _, err := b.Image(t.Context(), ref); !errors.Is(err, bakery.ErrNoImage) {
		t.Errorf("reference: %v", err)
	}
}

func TestBakeryWorksOnARealDaemon(t *testing.T) {
	b := daemon(t)
	base := system(t, b)
	salt := rand.Text()
	files := fstest.MapFS{
		"base.Dockerfile": {Data: []byte("ARG BASE\nFROM ${BASE}\nCOPY ca/ /ca/\nRUN [\"/probe\", \"say\", \"" + salt + "\"]\n")},
		"tiny.Dockerfile": {Data: []byte("ARG BASE\nFROM ${BASE}\nARG VERSION=1.0\nRUN [\"/probe\", \"say\", \"tiny\"]\n")},
	}
	k, err := bakery.New(b, files, bakery.Options{Base: base})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	done, err := k.Bake(t.Context(), nil, bakery.PlainProgress(&out))
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, d := range done {
		t.Cleanup(func() { remove(b, d.Ref) })
	}
	t.Cleanup(func() { removeTagsOf(b, base) })
	for _, want := range []string{"base: building aibox/base:", "tiny: building aibox/tiny:", `RUN ["/probe", "say", "tiny"]`, "tiny: aibox/tiny:"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
	all, err := k.Check(t.Context())
	if err != nil || len(all) != 2 || all[1].State != bakery.Fresh || all[1].Version != "1.0" {
		t.Errorf("check: %+v, %v", all, err)
	}
	again, err := k.Bake(t.Context(), []string{"tiny"}, nil)
	if err != nil || !again[0].Reused || again[0].Image.ID != done[1].Image.ID {
		t.Errorf("second bake: %+v, %v", again, err)
	}
	if free, dir, err := b.Free(t.Context()); err != nil || free == 0 || dir == "" {
		t.Errorf("free: %d in %q, %v", free, dir, err)
	}
}

// removeTagsOf removes the names that bakery gave the image ref.
func removeTagsOf(b *Builder, ref string) {
	if found, err := b.Image(context.Background(), ref); err == nil {
		for _, other := range found.Refs {
			remove(b, other)
		}
	}
}

func TestUnresponsiveRegistryTimesOut(t *testing.T) {
	b := openFake(t, func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done() // a daemon that is still waiting for its registry
	})
	if err := b.Pull(t.Context(), "debian:x", "aibox/debian:x", 50*time.Millisecond, func(string) {}); !errors.Is(err, errSilent) {
		t.Errorf("error: %v", err)
	}
}

func TestASizeQueryIsRepeatedAfterAFailureThatPasses(t *testing.T) {
	for name, message := range map[string]string{
		"another client's query":     "a disk usage operation is already running",
		"a container that goes away": "failed to calculate image disk usage: NotFound: snapshot b40f-init-key does not exist: not found",
	} {
		t.Run(name, func(t *testing.T) {
			var queries atomic.Int32
			b := openFake(t, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case !strings.HasSuffix(r.URL.Path, "/system/df"):
				case queries.Add(1) < 3:
					w.WriteHeader(http.StatusInternalServerError)
					fmt.Fprintf(w, `{"message":%q}`, message)
				default:
					w.Header().Set("Content-Type", "application/json")
					_, _ = io.WriteString(w, `{"Images":[{"Id":"one","Size":7,"SharedSize":2}]}`)
				}
			})
			if own, err := b.Own(t.Context()); err != nil || len(own) != 1 || own["one"] != 5 {
				t.Errorf("%v, %v", own, err)
			}
			if n := queries.Load(); n != 3 {
				t.Errorf("%d queries", n)
			}
		})
	}
}

// Docker with the image store of containerd refuses the name of an image that another build
// has made meanwhile.
func TestTheSecondOfTwoEqualBuildsIsNoFailure(t *testing.T) {
	for name, test := range map[string]struct {
		failure, label string // of this build, of the other's image
		before, builds bool   // the image was there before; the build is no failure
	}{
		"the same image":      {"image \"x\": already exists", "digest", false, true},
		"another image":       {"image \"x\": already exists", "other", false, false},
		"the image of before": {"image \"x\": already exists", "digest", true, false},
		"another failure":     {"no space left on device", "digest", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			var built atomic.Bool
			b := openFake(t, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case strings.HasSuffix(r.URL.Path, "/build"):
					built.Store(true)
					_ = json.NewEncoder(w).Encode(map[string]string{"error": test.failure})
				case strings.Contains(r.URL.Path, "/images/") && (built.Load() || test.before):
					_ = json.NewEncoder(w).Encode(map[string]any{"Id": "sha256:1", "RepoTags": []string{"aibox/x:1"}, "Config": map[string]any{"Labels": map[string]string{"recipe": test.label}}})
				case strings.Contains(r.URL.Path, "/images/"):
					http.Error(w, `{"message":"no such image"}`, http.StatusNotFound)
				}
			})
			order := bakery.Build{Ref: "aibox/x:1", Labels: map[string]string{"recipe": "digest"}}
			if err := b.Build(t.Context(), order, func(bakery.Update) {}); (err == nil) != test.builds {
				t.Errorf("the build ends with %v", err)
			}
		})
	}
}

// openFake opens a builder whose daemon is an HTTP handler.
func openFake(t *testing.T, answer http.HandlerFunc) *Builder {
	t.Helper()
	server := httptest.NewUnstartedServer(answer)
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	b, err := Open("unix://" + socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// The daemon cannot stop a build that is about to give the image its name.
func TestABuildThatEndsAlthoughItIsCanceledIsBuiltAndReplacesTheOldImage(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var built, removed atomic.Bool
	b := openFake(t, func(w http.ResponseWriter, r *http.Request) {
		old := strings.Contains(r.URL.Path, "sha256:old")
		switch {
		case strings.HasSuffix(r.URL.Path, "/build"):
			cancel()
			built.Store(true)
			_, _ = io.WriteString(w, "{}")
		case old && r.Method == http.MethodDelete:
			removed.Store(true)
			_, _ = io.WriteString(w, "[]")
		case old:
			_, _ = io.WriteString(w, `{"Id":"sha256:old"}`)
		case built.Load():
			_, _ = io.WriteString(w, `{"Id":"sha256:new","RepoTags":["aibox/x:1"]}`)
		case strings.Contains(r.URL.Path, "/images/"):
			_, _ = io.WriteString(w, `{"Id":"sha256:old","RepoTags":["aibox/x:1"]}`)
		}
	})
	if err := b.Build(ctx, bakery.Build{Ref: "aibox/x:1"}, func(bakery.Update) {}); err != nil || !removed.Load() {
		t.Errorf("it ends with %v; the old image is removed: %v", err, removed.Load())
	}
}
