package docker

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/runtime"

	"github.com/containerd/errdefs"
)

// fakeDaemon answers on a socket like a daemon with these properties.
func fakeDaemon(t *testing.T, api, info string) Options {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "docker.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", api)
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/_ping"):
			_, _ = fmt.Fprint(w, "OK")
		case strings.HasSuffix(r.URL.Path, "/info"):
			_, _ = fmt.Fprint(w, info)
		default:
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = fmt.Fprint(w, `{"message":"OCI runtime create failed: \u001b[31mrunsc: no such file"}`)
		}
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return Options{Host: "unix://" + socket, Leases: t.TempDir()}
}

const (
	rootless = `{"ServerVersion":"20.10.24","SecurityOptions":["name=seccomp,profile=default","name=rootless"],"Runtimes":{"runc":{"path":"runc"},"runsc":{"path":"runsc"}}}`
	rootful  = `{"ServerVersion":"20.10.24","SecurityOptions":["name=seccomp,profile=default"],"Runtimes":{"runsc":{"path":"runsc"}}}`
	noRunsc  = `{"ServerVersion":"20.10.24","SecurityOptions":["name=rootless"],"Runtimes":{"runc":{"path":"runc"}}}`
)

// refused checks that err is an Environment fault with a hint.
func refused(t *testing.T, err error, text string) {
	t.Helper()
	if fault.KindOf(err) != fault.Environment || !strings.Contains(err.Error(), text) || len(fault.Hints(err)) == 0 {
		t.Errorf("got %v (%v) with hints %q, want %q", err, fault.KindOf(err), fault.Hints(err), text)
	}
}

func TestAWrongImageReferenceIsRefusedWithAnExample(t *testing.T) {
	err := new(Backend).imageError("BAD IMAGE", errdefs.ErrInvalidArgument)
	if fault.KindOf(err) != fault.Usage || !strings.Contains(strings.Join(fault.Hints(err), "\n"), "debian:13") {
		t.Errorf("got %v (%v) with hints %q", err, fault.KindOf(err), fault.Hints(err))
	}
}

func TestMissingDaemonIsRejected(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "docker.sock")
	_, err := Open(t.Context(), Options{Host: "unix://" + gone})
	refused(t, err, "no Docker daemon answers")

	listener, err := net.Listen("unix", gone)
	if err != nil {
		t.Fatal(err)
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = listener.Close()
	_, err = Open(t.Context(), Options{Host: "unix://" + gone})
	refused(t, err, "no Docker daemon answers")
}

func TestAnotherUsersSocketIsRejected(t *testing.T) {
	if os.Getuid() == 0 {
		t.Log("root may use every socket; the rest of this test needs another user")
		return
	}
	options := fakeDaemon(t, "1.41", rootless)
	if err := os.Chmod(strings.TrimPrefix(options.Host, "unix://"), 0); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), options)
	refused(t, err, "may not use the Docker socket")
	options.Rootful = true
	_, err = Open(t.Context(), options)
	refused(t, err, "may not use the Docker socket")
	if hints := strings.Join(fault.Hints(err), "\n"); !errors.Is(err, fs.ErrPermission) || strings.Contains(hints, "unset DOCKER_HOST") || !strings.Contains(hints, "group") {
		t.Errorf("got %v with hints %q", err, hints)
	}
}

func TestOldDaemonIsRejected(t *testing.T) {
	_, err := Open(t.Context(), fakeDaemon(t, "1.40", rootless))
	refused(t, err, "too old")
}

func TestRootDaemonIsRejectedUnlessAllowed(t *testing.T) {
	options := fakeDaemon(t, "1.41", rootful)
	b, err := Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Info(t.Context())
	refused(t, err, "runs as root")
	_, err = b.Create(t.Context(), whole())
	refused(t, err, "runs as root")

	options.Rootful = true
	if b, err = Open(t.Context(), options); err != nil {
		t.Fatal(err)
	}
	if info, err := b.Info(t.Context()); err != nil || info.Rootless || info.Site.PID != 0 {
		t.Errorf("got %+v, %v", info, err)
	}
}

func TestDaemonWithoutGVisorIsRejected(t *testing.T) {
	b, err := Open(t.Context(), fakeDaemon(t, "1.41", noRunsc))
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Info(t.Context())
	refused(t, err, "no runtime \"runsc\"")
}

func TestNoContainerIsCreatedWithAnUnsafeRuntime(t *testing.T) {
	for registration, want := range map[string]string{
		`{"path":"/opt/runsc","runtimeArgs":["--network=host"]}`:                          "its argument --network=host",
		`{"runtimeType":"io.containerd.runsc.v1","options":{"ConfigPath":"/etc/r.toml"}}`: "its setting runtimeType",
		`{"path":"/opt/runsc","options":{"TypeUrl":"io.containerd.runsc.v1.options"}}`:    "its setting options",
		`{}`: "does not report its program",
	} {
		options := fakeDaemon(t, "1.43", strings.Replace(rootful, `{"path":"runsc"}`, registration, 1))
		options.Rootful = true
		b, err := Open(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		_, err = b.Create(t.Context(), whole())
		refused(t, err, want)
	}
	options := fakeDaemon(t, "1.43", rootful)
	options.Rootful = true
	b, err := Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	other := whole()
	other.Runtime = "other"
	_, err = b.Create(t.Context(), other)
	refused(t, err, "does not report its program")
	if _, err = b.Create(t.Context(), whole()); err == nil || strings.Contains(err.Error(), "let a sandbox out") {
		t.Errorf("a safe one is refused: %v", err)
	}
}

func TestNothingIsRestoredWithoutTheRuntimeForThat(t *testing.T) {
	for name, info := range map[string]string{
		"none":     rootful,
		"of other": strings.Replace(rootful, `"Runtimes":{`, `"Runtimes":{"aibox-restore":{"path":"/usr/local/lib/aibox/runsc-restore","runtimeArgs":["--aibox-runsc=/tmp/runsc"]},`, 1),
	} {
		o := fakeDaemon(t, "1.41", info)
		o.Rootful = true
		b, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		spec := whole()
		spec.Checkpoint = t.TempDir()
		_, err = b.Create(t.Context(), spec)
		refused(t, err, "restores sandboxes")
		refused(t, (&sandbox{backend: b, api: b.api}).Checkpoint(t.Context(), t.TempDir()), "restores sandboxes")
		if hints := fault.Hints(err); len(hints) != 1 || hints[0] != runtime.RestorerNeedsRootless {
			t.Errorf("%s: the hints are %q", name, hints)
		}
	}
}

func TestSocketThatIsNotTheUsersDaemonIsRejected(t *testing.T) {
	// It claims to be rootless, but runs in our own user namespace.
	b, err := Open(t.Context(), fakeDaemon(t, "1.41", rootless))
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Info(t.Context())
	refused(t, err, "namespaces of the rootless Docker daemon")
}

func TestRemoteDaemonIsRejected(t *testing.T) {
	for _, host := range []string{"tcp://192.0.2.1:2375", "ssh://host", "unix://relative", "junk"} {
		if _, err := Open(t.Context(), Options{Host: host}); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v", host, err)
		}
	}
}

func TestRuntimeStartErrorHasNoControlBytes(t *testing.T) {
	b, err := Open(t.Context(), fakeDaemon(t, "1.41", rootless))
	if err != nil {
		t.Fatal(err)
	}
	broken := &sandbox{backend: b, api: b.api, id: strings.Repeat("0", 64), runtime: "runsc"}
	err = broken.Start(t.Context())
	refused(t, err, "could not start the sandbox")
	if strings.ContainsRune(err.Error(), 0x1b) {
		t.Errorf("an escape sequence got through: %q", err)
	}
}

func TestLostDaemonIsDistinguishedFromAnError(t *testing.T) {
	options := fakeDaemon(t, "1.41", rootless)
	b, err := Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	lost := &sandbox{backend: b, api: b.api, id: strings.Repeat("0", 64)}
	if _, err := lost.State(t.Context()); err == nil || errors.Is(err, runtime.ErrDaemonLost) {
		t.Errorf("an answered error became %v", err)
	}
	if err := os.Remove(strings.TrimPrefix(options.Host, "unix://")); err != nil {
		t.Fatal(err)
	}
	_ = b.Close() // drop the connection that is kept open
	if _, err := lost.State(t.Context()); !errors.Is(err, runtime.ErrDaemonLost) {
		t.Errorf("State says %v", err)
	}
	if _, err := lost.Wait(t.Context()); !errors.Is(err, runtime.ErrDaemonLost) {
		t.Errorf("Wait says %v", err)
	}
	if err := lost.Destroy(t.Context()); !errors.Is(err, runtime.ErrDaemonLost) {
		t.Errorf("Destroy says %v", err)
	}
}

func whole() runtime.Spec {
	return runtime.Spec{Session: "s", Image: "sha256:0", Init: "/init", Network: runtime.Network{ID: "n"}}
}

func TestOverlaySizeIsParsed(t *testing.T) {
	for _, c := range []struct {
		args string
		on   bool
		size int64
	}{
		{"--ignore-cgroups --overlay2=root:self,size=10g", true, 10 << 30},
		{"-overlay2 root:self,size=512m", true, 512 << 20},
		{"--overlay2=all:memory", true, 0},
		{"--overlay2=none", false, 0},
		{"--overlay2=root:self,size=1k --overlay2=none", false, 0},
		{"--overlay2=root:self,size=junk", true, 0},
		{"--overlay2=root:self,size=99999999999g", true, 0},
		{"", true, 0},
	} {
		if on, size := overlay(strings.Fields(c.args)); on != c.on || size != c.size {
			t.Errorf("%q: got %t, %d", c.args, on, size)
		}
	}
}
