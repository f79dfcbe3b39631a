package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/docker/docker/api/types/image"

	"aibox/netguard/rules"
	"aibox/runtime/runtimetest"
)

// prefix begins the names of everything that the tests create in a shared daemon.
const prefix = "rt"

// TestMain lets the test binary also run as the network guard's job, and as another process
// that holds a lease.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "netguard-job" {
		if err := rules.ServeJob(context.Background(), os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(holdLease) != "" {
		hold()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// open connects to the daemon the tests need; without it they fail.
func open(t testing.TB) *Backend {
	t.Helper()
	if testing.Short() {
		t.Skip("needs rootless Docker and runsc; go test without -short runs it")
	}
	b, err := Open(context.Background(), options(t))
	if err != nil {
		t.Fatalf("these tests need a rootless Docker daemon with runsc: %v", err)
	}
	t.Cleanup(func() { _ = b.Close() })
	if _, err := b.Info(context.Background()); err != nil {
		t.Fatalf("these tests need a rootless Docker daemon with runsc: %v", err)
	}
	return b
}

// options returns options with separate leases and subnets, so that a test does not take the
// bridges of real sessions on the daemon.
func options(t testing.TB) Options {
	third := byte(os.Getpid() % 16 * 16)
	return Options{
		Leases: filepath.Join(t.TempDir(), "leases"),
		Pool:   netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 202, third, 0}), 20),
	}
}

// build compiles a program that runs in any sandbox.
func build(t testing.TB, pkg string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), filepath.Base(pkg))
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", out, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", pkg, err, text)
	}
	return out
}

// importImage imports an image and removes it after the test.
func importImage(t testing.TB, b *Backend, program string) string {
	t.Helper()
	ref := importInto(t, b, program)
	t.Cleanup(func() {
		if _, err := b.api.ImageRemove(context.Background(), ref, image.RemoveOptions{Force: true, PruneChildren: true}); err != nil {
			t.Error(err)
		}
	})
	return ref
}

// importInto makes an image that holds one program, /workload, and nothing else, so
// that the tests need no registry.
func importInto(t testing.TB, b *Backend, program string) string {
	t.Helper()
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	for _, dir := range []string{"etc/", "proc/", "sys/", "dev/", "tmp/", "root/", "workspace/"} {
		if err := w.WriteHeader(&tar.Header{Name: dir, Typeflag: tar.TypeDir, Mode: 0o755}); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string][]byte{"workload": data, "etc/passwd": []byte("root:x:0:0:root:/root:/bin/sh\n")} {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	ref := fmt.Sprintf("aibox-%s:%d-%s", prefix, os.Getpid(), filepath.Base(t.TempDir()))
	progress, err := b.api.ImageImport(context.Background(), image.ImportSource{Source: &layer, SourceName: "-"}, ref,
		image.ImportOptions{Changes: []string{"ENV FROM_IMAGE=yes"}})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, progress)
	_ = progress.Close()
	return ref
}

// pool returns a pool with its own range, with its bridges removed at the end.
func pool(t testing.TB, b *Backend) *Networks {
	t.Helper()
	n := b.Networks()
	t.Cleanup(func() {
		if _, err := n.Prune(context.Background(), false); err != nil {
			t.Error(err)
		}
	})
	return n
}

func TestDockerPassesTheSuite(t *testing.T) {
	b := open(t)
	program := build(t, "./testdata/workload")
	networks := pool(t, b)
	other := newNetworks(b, Options{Leases: networks.dir, Pool: networks.pool})
	runtimetest.Suite(t, runtimetest.Harness{
		Backend: b, Networks: networks, Other: other,
		Image: importImage(t, b, program), Prefix: prefix, Init: program,
	})
}
