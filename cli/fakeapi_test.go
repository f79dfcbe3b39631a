package cli

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/emptypb"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/aibox/v1/aiboxv1connect"
	"aibox/api/server"
	"aibox/internal/paths"
)

// fakeAPI is a server with the sandboxes that are asked for.
type fakeAPI struct {
	listed   *aiboxv1.ListSandboxesRequest
	launched *aiboxv1.StartProcessRequest
}

// serveFakeAPI starts it where the commands of the test find it.
func serveFakeAPI(t *testing.T) *fakeAPI {
	t.Helper()
	dir, err := os.MkdirTemp("", "aibox-api-") // short, as the path of a socket has to be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	t.Setenv("XDG_RUNTIME_DIR", dir)
	dirs, err := paths.Default()
	if err != nil {
		t.Fatal(err)
	}
	socket := server.SocketPath(dirs)
	if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	f, mux := &fakeAPI{}, http.NewServeMux()
	mux.Handle(aiboxv1connect.NewSandboxesHandler(fakeSandboxes{api: f}))
	mux.Handle(aiboxv1connect.NewProcessesHandler(fakeProcesses{api: f}))
	mux.Handle(aiboxv1connect.NewPortsHandler(fakePorts{}))
	s := &http.Server{Handler: mux, ReadHeaderTimeout: patience}
	go func() { _ = s.Serve(listener) }()
	t.Cleanup(func() { _ = s.Close() })
	return f
}

// fakeSandboxes is the service Sandboxes of a fakeAPI. A sandbox named stuck cannot be destroyed,
// and a snapshot named kept cannot be deleted.
type fakeSandboxes struct {
	aiboxv1connect.UnimplementedSandboxesHandler
	api *fakeAPI
}

func (fakeSandboxes) Get(_ context.Context, r *connect.Request[aiboxv1.GetSandboxRequest]) (*connect.Response[aiboxv1.Sandbox], error) {
	return connect.NewResponse(&aiboxv1.Sandbox{SandboxId: r.Msg.GetSandboxId()}), nil
}

func (s fakeSandboxes) List(_ context.Context, r *connect.Request[aiboxv1.ListSandboxesRequest]) (*connect.Response[aiboxv1.ListSandboxesResponse], error) {
	s.api.listed = r.Msg
	return connect.NewResponse(&aiboxv1.ListSandboxesResponse{}), nil
}

func (fakeSandboxes) Snapshot(context.Context, *connect.Request[aiboxv1.SnapshotSandboxRequest]) (*connect.Response[aiboxv1.Snapshot], error) {
	return connect.NewResponse(&aiboxv1.Snapshot{SnapshotId: "kept"}), nil
}

func (fakeSandboxes) ListSnapshots(context.Context, *connect.Request[aiboxv1.ListSnapshotsRequest]) (*connect.Response[aiboxv1.ListSnapshotsResponse], error) {
	return connect.NewResponse(&aiboxv1.ListSnapshotsResponse{Snapshots: []*aiboxv1.Snapshot{{SnapshotId: "snap-7d2k"}}}), nil
}

func (fakeSandboxes) DeleteSnapshot(_ context.Context, r *connect.Request[aiboxv1.DeleteSnapshotRequest]) (*connect.Response[emptypb.Empty], error) {
	if r.Msg.GetSnapshotId() == "kept" {
		return nil, connect.NewError(connect.CodeUnavailable, errors.New("it is not deleted"))
	}
	return connect.NewResponse(&emptypb.Empty{}), nil
}

func (fakeSandboxes) Create(context.Context, *connect.Request[aiboxv1.CreateSandboxRequest]) (*connect.Response[aiboxv1.Sandbox], error) {
	return connect.NewResponse(&aiboxv1.Sandbox{SandboxId: "0dq4h"}), nil
}

func (fakeSandboxes) Destroy(_ context.Context, r *connect.Request[aiboxv1.DestroySandboxRequest]) (*connect.Response[emptypb.Empty], error) {
	if r.Msg.GetSandboxId() == "stuck" {
		return nil, connect.NewError(connect.CodeUnavailable, errors.New("it does not end"))
	}
	return connect.NewResponse(&emptypb.Empty{}), nil
}

// fakeProcesses is the service Processes of a fakeAPI.
type fakeProcesses struct {
	aiboxv1connect.UnimplementedProcessesHandler
	api *fakeAPI
}

func (p fakeProcesses) Launch(_ context.Context, r *connect.Request[aiboxv1.StartProcessRequest]) (*connect.Response[aiboxv1.Process], error) {
	p.api.launched = r.Msg
	return connect.NewResponse(&aiboxv1.Process{ProcessId: 7}), nil
}

// fakePorts is the service Ports of a fakeAPI.
type fakePorts struct {
	aiboxv1connect.UnimplementedPortsHandler
}

func (fakePorts) Sign(context.Context, *connect.Request[aiboxv1.SignPortRequest]) (*connect.Response[aiboxv1.SignPortResponse], error) {
	return connect.NewResponse(&aiboxv1.SignPortResponse{Url: "http://127.0.0.1:8800/signed"}), nil
}
