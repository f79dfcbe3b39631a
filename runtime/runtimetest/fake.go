// Package runtimetest holds a backend that behaves without any daemon, and the
// suite that it and every real backend pass. It is for tests.
package runtimetest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"aibox/runtime"
)

// Fake is a Backend in memory. Sandboxes run a Go function in place of a sandbox. It
// is safe for concurrent use; set the exported fields before the first call.
type Fake struct {
	// Images maps references to ids.
	Images map[string]runtime.ImageID
	// Facts is what Info returns.
	Facts runtime.Info
	// Run is PID 1: it gets the spec and returns the exit code. It must return
	// soon after ctx ends, which is the sandbox being killed. Nil means RunArgs.
	Run func(ctx context.Context, spec runtime.Spec) int
	// Fail may return an error for a call with one of the names "info", "image", "create",
	// "start", "state", "wait", "destroy", "sandboxes", "acquire", "checkpoint"; nil lets it
	// pass.
	Fail func(call string) error

	mu        sync.Mutex
	sandboxes map[string]*fakeSandbox
	lost      bool
	gone      chan struct{} // closed by Lose
}

var fakeRunsc = runtime.Runtime{Name: "runsc", Path: "/usr/local/bin/runsc", Overlay: true, OverlaySize: 10 << 30}

// NewFake returns a fake with one image, "fake:latest", and a rootless daemon with
// runsc whose root overlay is capped, and which can restore sandboxes.
func NewFake() *Fake {
	return &Fake{
		Images: map[string]runtime.ImageID{"fake:latest": "sha256:" + runtime.ImageID(strings.Repeat("0", 64))},
		Facts: runtime.Info{
			Version: "fake", APIVersion: "1.41", Rootless: true, DataRoot: "/nonexistent",
			Runtimes: []runtime.Runtime{runtime.RestorerOf(fakeRunsc), fakeRunsc},
			Site:     runtime.Site{PID: 2, Rootless: true},
		},
		sandboxes: map[string]*fakeSandbox{},
		gone:      make(chan struct{}),
	}
}

// RunArgs carries out a sandbox's InitArgs: "exit N" ends with N, "wait" stays until killed.
func RunArgs(ctx context.Context, spec runtime.Spec) int {
	if len(spec.InitArgs) == 2 && spec.InitArgs[0] == "exit" {
		code, _ := strconv.Atoi(spec.InitArgs[1])
		return code
	}
	<-ctx.Done()
	return 137
}

// Lose simulates the death of the daemon: waits and all later calls return ErrDaemonLost.
// Running sandboxes continue, as real ones do.
func (f *Fake) Lose() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.lost {
		f.lost = true
		close(f.gone)
	}
}

func (f *Fake) fail(call string) error {
	f.mu.Lock()
	lost, fail := f.lost, f.Fail
	f.mu.Unlock()
	if lost {
		return runtime.ErrDaemonLost
	}
	if fail != nil {
		return fail(call)
	}
	return nil
}

// Info returns Facts.
func (f *Fake) Info(context.Context) (runtime.Info, error) {
	return f.Facts, f.fail("info")
}

// Image looks in Images.
func (f *Fake) Image(_ context.Context, ref string) (runtime.ImageID, error) {
	if err := f.fail("image"); err != nil {
		return "", err
	}
	id, ok := f.Images[ref]
	if !ok {
		return "", fmt.Errorf("%w: %q", runtime.ErrNoImage, ref)
	}
	return id, nil
}

// Create makes a sandbox; its session must be new and its image known.
func (f *Fake) Create(ctx context.Context, spec runtime.Spec) (runtime.Sandbox, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err := f.fail("create"); err != nil {
		return nil, err
	}
	if spec.Session == "" || spec.Image == "" || spec.Init == "" || spec.Network.ID == "" {
		return nil, errors.New("the spec has a hole")
	}
	if spec.Checkpoint != "" {
		if err := f.Facts.CheckRestorer("runsc"); err != nil {
			return nil, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	known := false
	for _, id := range f.Images {
		known = known || id == spec.Image
	}
	if !known {
		return nil, fmt.Errorf("%w: %q", runtime.ErrNoImage, spec.Image)
	}
	for _, b := range f.sandboxes {
		if b.spec.Session == spec.Session {
			return nil, fmt.Errorf("a sandbox of session %q is there already", spec.Session)
		}
	}
	b := &fakeSandbox{fake: f, id: randomID(), spec: spec, status: runtime.Created, ended: make(chan struct{})}
	f.sandboxes[b.id] = b
	return b, nil
}

// Sandboxes lists the sandboxes by session.
func (f *Fake) Sandboxes(context.Context) ([]runtime.Sandbox, error) {
	if err := f.fail("sandboxes"); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []runtime.Sandbox
	for _, b := range f.sandboxes {
		list = append(list, b)
	}
	slices.SortFunc(list, func(a, b runtime.Sandbox) int { return strings.Compare(a.Session(), b.Session()) })
	return list, nil
}

type fakeSandbox struct {
	fake *Fake
	id   string
	spec runtime.Spec

	mu     sync.Mutex
	status runtime.Status
	code   int
	began  time.Time
	kill   context.CancelFunc
	ended  chan struct{}
}

func (b *fakeSandbox) ID() string      { return b.id }
func (b *fakeSandbox) Session() string { return b.spec.Session }

// Spec returns the spec that the sandbox was created from.
func (b *fakeSandbox) Spec() runtime.Spec { return b.spec }

func (b *fakeSandbox) Start(context.Context) error {
	if err := b.fake.fail("start"); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.status != runtime.Created {
		return fmt.Errorf("the sandbox is %s", b.status)
	}
	if b.spec.Checkpoint != "" {
		if err := b.restore(); err != nil {
			return err
		}
	}
	run := b.fake.Run
	if run == nil {
		run = RunArgs
	}
	ctx, kill := context.WithCancel(context.Background())
	b.status, b.began, b.kill = runtime.Running, time.Now(), kill
	go func() {
		code := run(ctx, b.spec)
		kill()
		b.mu.Lock()
		b.status, b.code = runtime.Gone, code // sandboxes remove themselves
		b.mu.Unlock()
		b.fake.mu.Lock()
		delete(b.fake.sandboxes, b.id)
		b.fake.mu.Unlock()
		close(b.ended)
	}()
	return nil
}

// fakeCheckpoint is what a fake checkpoint holds. A sandbox that differs cannot be restored.
type fakeCheckpoint struct {
	Image    runtime.ImageID
	InitArgs []string
	Targets  []string
}

func checkpointOf(spec *runtime.Spec) fakeCheckpoint {
	c := fakeCheckpoint{Image: spec.Image, InitArgs: append([]string{}, spec.InitArgs...), Targets: []string{}}
	for _, m := range spec.Mounts {
		c.Targets = append(c.Targets, m.Target)
	}
	return c
}

// checkpointFile is the file of a fake checkpoint, with a name of runsc.
const checkpointFile = "checkpoint.img"

// Checkpoint writes the properties that a restored sandbox must share.
func (b *fakeSandbox) Checkpoint(_ context.Context, folder string) error {
	if err := b.fake.Facts.CheckRestorer("runsc"); err != nil {
		return err
	}
	if err := b.fake.fail("checkpoint"); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.status != runtime.Running {
		return fmt.Errorf("the sandbox is %s", b.status)
	}
	data, err := json.Marshal(checkpointOf(&b.spec))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, checkpointFile), data, 0o600)
}

// restore checks the checkpoint of a sandbox that starts.
func (b *fakeSandbox) restore() error {
	data, err := os.ReadFile(filepath.Join(b.spec.Checkpoint, checkpointFile))
	if err != nil {
		return err
	}
	var stored fakeCheckpoint
	if err := json.Unmarshal(data, &stored); err != nil {
		return err
	}
	if !reflect.DeepEqual(stored, checkpointOf(&b.spec)) {
		return errors.New("the checkpoint is of another sandbox")
	}
	return nil
}

func (b *fakeSandbox) State(context.Context) (runtime.State, error) {
	if err := b.fake.fail("state"); err != nil {
		return runtime.State{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return runtime.State{Status: b.status, ExitCode: b.code, Started: b.began}, nil
}

func (b *fakeSandbox) Wait(ctx context.Context) (runtime.State, error) {
	if err := b.fake.fail("wait"); err != nil {
		return runtime.State{}, err
	}
	b.mu.Lock()
	if b.status == runtime.Created {
		b.mu.Unlock()
		return runtime.State{Status: runtime.Created}, nil
	}
	b.mu.Unlock()
	select {
	case <-b.ended:
		b.mu.Lock()
		defer b.mu.Unlock()
		return runtime.State{Status: runtime.Exited, ExitCode: b.code, Started: b.began}, nil
	case <-b.fake.gone:
		return runtime.State{}, runtime.ErrDaemonLost
	case <-ctx.Done():
		return runtime.State{}, ctx.Err()
	}
}

func (b *fakeSandbox) Destroy(ctx context.Context) error {
	failure := b.fake.fail("destroy")
	if failure != nil && !errors.Is(failure, runtime.ErrDaemonLost) {
		return failure
	}
	b.mu.Lock()
	kill, status := b.kill, b.status
	if status == runtime.Created {
		b.status = runtime.Gone
	}
	b.mu.Unlock()
	if status == runtime.Created {
		b.fake.mu.Lock()
		delete(b.fake.sandboxes, b.id)
		b.fake.mu.Unlock()
		return failure
	}
	if kill != nil {
		kill()
		select {
		case <-b.ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return failure
}

func randomID() string {
	var raw [32]byte
	_, _ = rand.Read(raw[:]) // documented to never fail
	return hex.EncodeToString(raw[:])
}
