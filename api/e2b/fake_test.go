package e2b

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/aibox/v1/aiboxv1connect"
	"aibox/api/server"
)

// fakeAPI behaves as aibox's API does towards this package: two tenants with a token each,
// sandboxes, files in memory and processes that follow a script.
type fakeAPI struct {
	files fakeFiles

	mu         sync.Mutex
	sandboxes  map[string]*fakeSandbox
	created    []*aiboxv1.CreateSandboxRequest
	started    []*aiboxv1.StartProcessRequest
	signals    []int32
	policies   []*aiboxv1.NetworkPolicy
	revoked    map[string]bool
	recorded   []server.Call
	snapshots  []*aiboxv1.Snapshot
	deleting   func()                    // called when a snapshot is deleted; may be nil
	keeps      bool                      // no snapshot can be deleted
	creating   func(ctx context.Context) // called by each creation, which fails if its caller goes; nil for none
	unmeasured error                     // the error of each measurement; nil for none
	exit       chan struct{}             // processes end when it is closed
}

type fakeSandbox struct {
	started   time.Time // zero: 1000 seconds after 1970
	tenant    string
	state     aiboxv1.SandboxState
	processes []*aiboxv1.Process
	ends      time.Time
	metadata  map[string]string
}

// fakeTokens are the tokens of the two tenants.
var fakeTokens = map[string]string{"token-a": "a", "token-b": "b"}

type tenantKey struct{}

func tenantOf(ctx context.Context) string {
	tenant, _ := ctx.Value(tenantKey{}).(string)
	return tenant
}

// apiFault returns an error as aibox's API reports it.
func apiFault(code connect.Code, kind, message string) error {
	err := connect.NewError(code, errors.New(message))
	if d, detailErr := connect.NewErrorDetail(&aiboxv1.Error{Kind: kind, Message: message, Hints: []string{"a hint"}}); detailErr == nil {
		err.AddDetail(d)
	}
	return err
}

// serve starts a server in front of a fake.
func serve(t *testing.T) (*fakeAPI, *Server, *httptest.Server) {
	t.Helper()
	fake := &fakeAPI{sandboxes: map[string]*fakeSandbox{}, revoked: map[string]bool{}, exit: make(chan struct{})}
	fake.files = fakeFiles{api: fake, content: map[string][]byte{}}
	s, err := New(Config{API: fake.handler(), Key: make([]byte, KeySize), Domains: []string{"boxes.test"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	front := httptest.NewServer(s.Wrap(s.inside, s))
	t.Cleanup(front.Close)
	return fake, s, front
}

func (f *fakeAPI) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(aiboxv1connect.NewSandboxesHandler(fakeSandboxes{fakeAPI: f}))
	mux.Handle(aiboxv1connect.NewProcessesHandler(fakeProcesses{fakeAPI: f}))
	mux.Handle(aiboxv1connect.NewFilesHandler(&f.files))
	mux.Handle(aiboxv1connect.NewNetworkHandler(fakeNetwork{fakeAPI: f}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		tenant := fakeTokens[token]
		f.mu.Lock()
		refused := tenant == "" || f.revoked[token]
		f.mu.Unlock()
		if refused {
			_ = connect.NewErrorWriter().Write(w, r, apiFault(connect.CodeUnauthenticated, "unauthenticated", "the token is not valid"))
			return
		}
		mux.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), tenantKey{}, tenant)))
	})
}

// find returns a sandbox of the caller's tenant.
func (f *fakeAPI) find(ctx context.Context, id string) (*fakeSandbox, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := f.sandboxes[id]
	if found == nil || found.tenant != tenantOf(ctx) {
		return nil, apiFault(connect.CodeNotFound, "not_found", "there is no sandbox "+id)
	}
	return found, nil
}

// running is find for calls that need a running sandbox.
func (f *fakeAPI) running(ctx context.Context, id string) (*fakeSandbox, error) {
	found, err := f.find(ctx, id)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil && found.state != aiboxv1.SandboxState_SANDBOX_STATE_RUNNING {
		return nil, apiFault(connect.CodeFailedPrecondition, "conflict", "the sandbox does not run")
	}
	return found, err
}

func (f *fakeAPI) describe(id string, s *fakeSandbox) *aiboxv1.Sandbox {
	return &aiboxv1.Sandbox{
		SandboxId: id, Template: "code", State: s.state, CreateTime: timestamppb.New(cmp.Or(s.started, time.Unix(1000, 0))), ExpireTime: timestamppb.New(s.ends),
		Metadata: s.metadata, Network: &aiboxv1.NetworkPolicy{Mode: aiboxv1.NetworkMode_NETWORK_MODE_NONE},
	}
}

type fakeSandboxes struct {
	aiboxv1connect.UnimplementedSandboxesHandler
	*fakeAPI
}

func (f fakeSandboxes) Create(ctx context.Context, r *connect.Request[aiboxv1.CreateSandboxRequest]) (*connect.Response[aiboxv1.Sandbox], error) {
	if f.creating != nil {
		f.creating(ctx)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.created = append(f.created, r.Msg)
	id := fmt.Sprintf("s%d-sandbox", len(f.sandboxes))
	f.sandboxes[id] = &fakeSandbox{
		tenant: tenantOf(ctx), state: aiboxv1.SandboxState_SANDBOX_STATE_RUNNING,
		ends: time.Now().Add(r.Msg.Timeout.AsDuration()), metadata: r.Msg.Metadata,
	}
	return connect.NewResponse(f.describe(id, f.sandboxes[id])), nil
}

func (f fakeSandboxes) Get(ctx context.Context, r *connect.Request[aiboxv1.GetSandboxRequest]) (*connect.Response[aiboxv1.Sandbox], error) {
	found, err := f.find(ctx, r.Msg.SandboxId)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return connect.NewResponse(f.describe(r.Msg.SandboxId, found)), nil
}

func (f fakeSandboxes) List(ctx context.Context, _ *connect.Request[aiboxv1.ListSandboxesRequest]) (*connect.Response[aiboxv1.ListSandboxesResponse], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	answer := &aiboxv1.ListSandboxesResponse{NextPageToken: "more"}
	for id, s := range f.sandboxes {
		if s.tenant == tenantOf(ctx) {
			answer.Sandboxes = append(answer.Sandboxes, f.describe(id, s))
		}
	}
	slices.SortFunc(answer.Sandboxes, func(a, b *aiboxv1.Sandbox) int { return cmp.Compare(b.SandboxId, a.SandboxId) })
	return connect.NewResponse(answer), nil
}

func (f fakeSandboxes) Destroy(ctx context.Context, r *connect.Request[aiboxv1.DestroySandboxRequest]) (*connect.Response[emptypb.Empty], error) {
	found, err := f.find(ctx, r.Msg.SandboxId)
	if err != nil {
		return nil, err
	}
	found.state = aiboxv1.SandboxState_SANDBOX_STATE_ENDED
	return connect.NewResponse(&emptypb.Empty{}), nil
}

func (f fakeSandboxes) Update(ctx context.Context, r *connect.Request[aiboxv1.UpdateSandboxRequest]) (*connect.Response[aiboxv1.Sandbox], error) {
	found, err := f.running(ctx, r.Msg.SandboxId)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	found.ends = time.Now().Add(r.Msg.Timeout.AsDuration())
	return connect.NewResponse(f.describe(r.Msg.SandboxId, found)), nil
}

func (f fakeSandboxes) Pause(ctx context.Context, r *connect.Request[aiboxv1.PauseSandboxRequest]) (*connect.Response[aiboxv1.Sandbox], error) {
	found, err := f.running(ctx, r.Msg.SandboxId)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	found.state = aiboxv1.SandboxState_SANDBOX_STATE_PAUSED
	return connect.NewResponse(f.describe(r.Msg.SandboxId, found)), nil
}

func (f fakeSandboxes) Resume(ctx context.Context, r *connect.Request[aiboxv1.ResumeSandboxRequest]) (*connect.Response[aiboxv1.Sandbox], error) {
	found, err := f.find(ctx, r.Msg.SandboxId)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	found.state = aiboxv1.SandboxState_SANDBOX_STATE_RUNNING
	if r.Msg.Timeout != nil {
		found.ends = time.Now().Add(r.Msg.Timeout.AsDuration())
	}
	return connect.NewResponse(f.describe(r.Msg.SandboxId, found)), nil
}

func (f fakeSandboxes) Metrics(ctx context.Context, r *connect.Request[aiboxv1.SandboxMetricsRequest]) (*connect.Response[aiboxv1.SandboxMetrics], error) {
	if _, err := f.running(ctx, r.Msg.SandboxId); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unmeasured != nil {
		return nil, f.unmeasured
	}
	return connect.NewResponse(&aiboxv1.SandboxMetrics{Time: timestamppb.Now(), Cpus: 0.5, MemoryBytes: 1 << 20}), nil
}

func (f fakeSandboxes) Snapshot(ctx context.Context, r *connect.Request[aiboxv1.SnapshotSandboxRequest]) (*connect.Response[aiboxv1.Snapshot], error) {
	if _, err := f.running(ctx, r.Msg.SandboxId); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	made := &aiboxv1.Snapshot{SnapshotId: fmt.Sprintf("snap-%d", len(f.snapshots)), Name: r.Msg.Name, SandboxId: r.Msg.SandboxId}
	f.snapshots = append(f.snapshots, made)
	return connect.NewResponse(made), nil
}

func (f fakeSandboxes) ListSnapshots(context.Context, *connect.Request[aiboxv1.ListSnapshotsRequest]) (*connect.Response[aiboxv1.ListSnapshotsResponse], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return connect.NewResponse(&aiboxv1.ListSnapshotsResponse{Snapshots: slices.Clone(f.snapshots)}), nil
}

func (f fakeSandboxes) DeleteSnapshot(_ context.Context, r *connect.Request[aiboxv1.DeleteSnapshotRequest]) (*connect.Response[emptypb.Empty], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.deleting != nil {
		f.deleting()
	}
	if f.keeps {
		return nil, apiFault(connect.CodeInternal, "internal", "the snapshot cannot be deleted")
	}
	f.snapshots = slices.DeleteFunc(f.snapshots, func(one *aiboxv1.Snapshot) bool { return one.SnapshotId == r.Msg.SnapshotId })
	return connect.NewResponse(&emptypb.Empty{}), nil
}

type fakeNetwork struct {
	aiboxv1connect.UnimplementedNetworkHandler
	*fakeAPI
}

func (f fakeNetwork) Set(ctx context.Context, r *connect.Request[aiboxv1.SetNetworkRequest]) (*connect.Response[aiboxv1.NetworkPolicy], error) {
	if _, err := f.running(ctx, r.Msg.SandboxId); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.policies = append(f.policies, r.Msg.Policy)
	return connect.NewResponse(r.Msg.Policy), nil
}

type fakeProcesses struct {
	aiboxv1connect.UnimplementedProcessesHandler
	*fakeAPI
}

// Start runs "print TEXT" and "wait"; anything else cannot be run.
func (f fakeProcesses) Start(ctx context.Context, r *connect.Request[aiboxv1.StartProcessRequest], out *connect.ServerStream[aiboxv1.ProcessEvent]) error {
	found, err := f.running(ctx, r.Msg.SandboxId)
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.started = append(f.started, r.Msg)
	process := &aiboxv1.Process{ProcessId: int32(len(found.processes) + 1), Pid: int32(100 + len(found.processes)), Argv: r.Msg.Argv, Tty: r.Msg.Tty != nil}
	found.processes = append(found.processes, process)
	started := proto.CloneOf(process)
	f.mu.Unlock()
	if r.Msg.Argv[0] != "print" && r.Msg.Argv[0] != "wait" {
		started.Pid, started.Exit = 0, &aiboxv1.ProcessExit{Code: 127, Error: "not found"}
	}
	events := []*aiboxv1.ProcessEvent{{Event: &aiboxv1.ProcessEvent_Started{Started: started}}}
	if r.Msg.Argv[0] == "print" {
		events = append(events, &aiboxv1.ProcessEvent{Seq: 1, Event: &aiboxv1.ProcessEvent_Stdout{Stdout: &aiboxv1.ProcessOutput{Data: []byte(r.Msg.Argv[1])}}})
	}
	for _, e := range events {
		if err := out.Send(e); err != nil {
			return err
		}
	}
	if r.Msg.Argv[0] == "wait" {
		select {
		case <-f.exit:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	f.mu.Lock()
	process.Exit = &aiboxv1.ProcessExit{}
	f.mu.Unlock()
	return out.Send(&aiboxv1.ProcessEvent{Seq: 2, Event: &aiboxv1.ProcessEvent_Exit{Exit: &aiboxv1.ProcessExit{}}})
}

func (f fakeProcesses) List(ctx context.Context, r *connect.Request[aiboxv1.ListProcessesRequest]) (*connect.Response[aiboxv1.ListProcessesResponse], error) {
	found, err := f.running(ctx, r.Msg.SandboxId)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	answer := &aiboxv1.ListProcessesResponse{}
	for _, process := range found.processes {
		answer.Processes = append(answer.Processes, proto.CloneOf(process))
	}
	return connect.NewResponse(answer), nil
}

func (f fakeProcesses) Signal(ctx context.Context, r *connect.Request[aiboxv1.SignalProcessRequest]) (*connect.Response[emptypb.Empty], error) {
	if _, err := f.running(ctx, r.Msg.SandboxId); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.signals = append(f.signals, r.Msg.Signal)
	return connect.NewResponse(&emptypb.Empty{}), nil
}

// fakeFiles are files by their paths.
type fakeFiles struct {
	aiboxv1connect.UnimplementedFilesHandler
	api     *fakeAPI
	mu      sync.Mutex
	content map[string][]byte
	ended   chan error // receives the result of each Read, if it is not nil
	pages   int        // of the list of each directory
}

// List returns one file with a long path on each page.
func (f *fakeFiles) List(_ context.Context, r *connect.Request[aiboxv1.ListFilesRequest]) (*connect.Response[aiboxv1.ListFilesResponse], error) {
	token := r.Msg.PageToken + "x"
	answer := &aiboxv1.ListFilesResponse{Entries: []*aiboxv1.FileInfo{info("/"+strings.Repeat("d/", 16<<10)+token, 1)}}
	if len(token) < f.pages {
		answer.NextPageToken = token
	}
	return connect.NewResponse(answer), nil
}

func info(name string, size int) *aiboxv1.FileInfo {
	return &aiboxv1.FileInfo{Path: name, Name: path.Base(name), Type: aiboxv1.FileType_FILE_TYPE_FILE, SizeBytes: int64(size), Mode: 0o4644}
}

func (f *fakeFiles) Stat(ctx context.Context, r *connect.Request[aiboxv1.StatFileRequest]) (*connect.Response[aiboxv1.FileInfo], error) {
	if _, err := f.api.running(ctx, r.Msg.SandboxId); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	data, ok := f.content[r.Msg.Path]
	if !ok {
		return nil, apiFault(connect.CodeNotFound, "not_found", "there is no such file")
	}
	return connect.NewResponse(info(r.Msg.Path, len(data))), nil
}

func (f *fakeFiles) Read(ctx context.Context, r *connect.Request[aiboxv1.ReadFileRequest], out *connect.ServerStream[aiboxv1.ReadFileResponse]) (err error) {
	defer func() {
		if f.ended != nil {
			f.ended <- err
		}
	}()
	if _, err := f.Stat(ctx, connect.NewRequest(&aiboxv1.StatFileRequest{SandboxId: r.Msg.SandboxId, Path: r.Msg.Path})); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	whole := f.content[r.Msg.Path]
	rest := whole[min(r.Msg.Offset, int64(len(whole))):]
	if r.Msg.Length > 0 {
		rest = rest[:min(r.Msg.Length, int64(len(rest)))]
	}
	for len(rest) > 0 {
		piece := rest[:min(len(rest), 1<<16)]
		rest = rest[len(piece):]
		if err := out.Send(&aiboxv1.ReadFileResponse{Content: &httpbody.HttpBody{Data: piece}}); err != nil {
			return err
		}
	}
	return nil
}

func (f *fakeFiles) Write(ctx context.Context, in *connect.ClientStream[aiboxv1.WriteFileRequest]) (*connect.Response[aiboxv1.FileInfo], error) {
	var id, name string
	var data []byte
	for first := true; in.Receive(); first = false {
		if first {
			id, name = in.Msg().SandboxId, in.Msg().Path
		}
		data = append(data, in.Msg().GetContent().GetData()...)
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	if _, err := f.api.running(ctx, id); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.content[name] = data
	return connect.NewResponse(info(name, len(data))), nil
}
