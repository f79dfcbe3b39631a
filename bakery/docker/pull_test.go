package docker

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/go-connections/nat"

	"aibox/bakery"
)

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// published makes the files of a registry that holds one image, with one file in it, and
// returns the digest of its manifest.
func published(t *testing.T) (map[string][]byte, string) {
	t.Helper()
	var layer, packed bytes.Buffer
	w := tar.NewWriter(&layer)
	_ = w.WriteHeader(&tar.Header{Name: "hello", Mode: 0o644, Size: 5})
	_, _ = w.Write([]byte("hello"))
	_ = w.Close()
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(layer.Bytes())
	_ = z.Close()
	encode := func(v any) []byte {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	config := encode(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux", "config": map[string]any{},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + digest(layer.Bytes())}},
	})
	part := func(kind string, data []byte) map[string]any {
		return map[string]any{"mediaType": kind, "size": len(data), "digest": "sha256:" + digest(data)}
	}
	manifest := encode(map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
		"config": part("application/vnd.docker.container.image.v1+json", config),
		"layers": []any{part("application/vnd.docker.image.rootfs.diff.tar.gzip", packed.Bytes())},
	})
	files := map[string][]byte{}
	for _, data := range [][]byte{config, packed.Bytes(), manifest} {
		files[digest(data)] = data
	}
	return files, digest(manifest)
}

// registry runs a registry with files in a container that the daemon can reach, and returns its
// address.
func registry(t *testing.T, b *Builder, files map[string][]byte) string {
	t.Helper()
	program, err := probe()
	if err != nil {
		t.Fatal(err)
	}
	var root bytes.Buffer
	w := tar.NewWriter(&root)
	for name, data := range files {
		_ = w.WriteHeader(&tar.Header{Name: "data/" + name, Mode: 0o644, Size: int64(len(data))})
		_, _ = w.Write(data)
	}
	_ = w.WriteHeader(&tar.Header{Name: "probe", Mode: 0o755, Size: int64(len(program))})
	_, _ = w.Write(program)
	_ = w.Close()
	ref := name(t, b, "registry")
	if err := b.Import(t.Context(), ref, &root); err != nil {
		t.Fatal(err)
	}
	port := nat.Port("5000/tcp")
	made, err := b.api.ContainerCreate(t.Context(),
		&container.Config{Image: ref, Cmd: []string{"/probe", "registry"}, ExposedPorts: nat.PortSet{port: {}}},
		&container.HostConfig{PortBindings: nat.PortMap{port: {{HostIP: "127.0.0.1"}}}}, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = b.api.ContainerRemove(context.Background(), made.ID, container.RemoveOptions{Force: true})
	})
	if err := b.api.ContainerStart(t.Context(), made.ID, container.StartOptions{}); err != nil {
		t.Fatal(err)
	}
	seen, err := b.api.ContainerInspect(t.Context(), made.ID)
	if err != nil {
		t.Fatal(err)
	}
	return "127.0.0.1:" + seen.NetworkSettings.Ports[port][0].HostPort
}

func TestImageIsPulledByDigestAndAnotherDigestIsRejected(t *testing.T) {
	b := daemon(t)
	files, manifest := published(t)
	address := registry(t, b, files)
	as := name(t, b, "pulled")
	pinned := fmt.Sprintf("%s/debian:slim@sha256:%s", address, manifest)
	t.Cleanup(func() { remove(b, fmt.Sprintf("%s/debian@sha256:%s", address, manifest)) })
	// The server in the container may not listen yet when its start returns.
	var lines []string
	err := errors.New("never tried")
	for deadline := time.Now().Add(time.Minute); err != nil && time.Now().Before(deadline); {
		err = b.Pull(t.Context(), pinned, as, 15*time.Second, func(line string) { lines = append(lines, line) })
	}
	if err != nil {
		t.Fatal(err)
	}
	// With containerd's image store an image's id is that of its manifest, and its size is the
	// compressed one.
	if image, err := b.Image(t.Context(), as); err != nil || image.Size != 5 && image.ID != "sha256:"+manifest {
		t.Errorf("image: %+v, %v", image, err)
	}
	if !strings.Contains(strings.Join(lines, "\n"), "Pull") {
		t.Errorf("lines: %q", lines)
	}
	wrong := name(t, b, "wrong")
	err = b.Pull(t.Context(), fmt.Sprintf("%s/debian:slim@sha256:%s", address, strings.Repeat("0", 64)), wrong, 15*time.Second, func(string) {})
	if err == nil {
		t.Error("a digest that the registry does not have was pulled")
	}
	if _, err := b.Image(t.Context(), wrong); !errors.Is(err, bakery.ErrNoImage) {
		t.Errorf("reference: %v", err)
	}
	repository, _, _ := strings.Cut(as, ":")
	systems, err := b.Tagged(t.Context(), repository)
	if err != nil || len(systems) != 1 || !slices.Equal(systems[0].Refs, []string{as}) || len(systems[0].Digests) == 0 {
		t.Fatalf("the images with its name are %+v, %v", systems, err)
	}
	k, err := bakery.New(b, fstest.MapFS{}, bakery.Options{})
	if err != nil {
		t.Fatal(err)
	}
	made, err := b.api.ContainerCreate(t.Context(), &container.Config{Image: systems[0].ID, Cmd: []string{"/x"}}, nil, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	err = k.Remove(t.Context(), systems[0])
	if left, failed := b.Tagged(t.Context(), repository); !errors.Is(err, bakery.ErrInUse) || failed != nil || len(left) != 1 {
		t.Errorf("one that a container uses: %v; the images with its name are %+v, %v", err, left, failed)
	}
	if err := b.api.ContainerRemove(t.Context(), made.ID, container.RemoveOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := k.Remove(t.Context(), systems[0]); err != nil {
		t.Fatal(err)
	}
	if left, err := b.Image(t.Context(), systems[0].ID); !errors.Is(err, bakery.ErrNoImage) {
		t.Errorf("its digest keeps it: %+v, %v", left, err)
	}
}
