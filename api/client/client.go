// Package client calls the API, for the command line: over the Unix socket of a server, or
// in the same process if none runs. Errors are the faults that the server reported.
package client

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/aibox/v1/aiboxv1connect"
	"aibox/internal/fault"
	"aibox/internal/pipe"
)

// Client calls the API. It is safe for concurrent use. Close must be called.
type Client struct {
	http      *http.Client
	sandboxes aiboxv1connect.SandboxesClient
	processes aiboxv1connect.ProcessesClient
	files     aiboxv1connect.FilesClient
	network   aiboxv1connect.NetworkClient
	ports     aiboxv1connect.PortsClient
	volumes   aiboxv1connect.VolumesClient
	server    aiboxv1connect.ServerClient
}

// connectionBuffer is the size of a connection's buffers, in bytes. It holds an event of a
// process with all its output.
const connectionBuffer = 80 << 10

// New returns a client whose connections dial makes.
func New(dial func(ctx context.Context) (net.Conn, error)) *Client {
	transport := &http.Transport{
		DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		DisableCompression: true, MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute,
		ReadBufferSize: connectionBuffer, WriteBufferSize: connectionBuffer,
	}
	c := &http.Client{Transport: authorized{transport}}
	const url = "http://aibox"
	// The server is on this machine.
	uncompressed := connect.WithAcceptCompression("gzip", nil, nil)
	return &Client{
		http:      c,
		sandboxes: aiboxv1connect.NewSandboxesClient(c, url, uncompressed),
		processes: aiboxv1connect.NewProcessesClient(c, url, uncompressed),
		files:     aiboxv1connect.NewFilesClient(c, url, uncompressed),
		network:   aiboxv1connect.NewNetworkClient(c, url, uncompressed),
		ports:     aiboxv1connect.NewPortsClient(c, url, uncompressed),
		volumes:   aiboxv1connect.NewVolumesClient(c, url, uncompressed),
		server:    aiboxv1connect.NewServerClient(c, url, uncompressed),
	}
}

// Unix returns a client of the server that listens on a Unix socket.
func Unix(path string) *Client {
	var dialer net.Dialer
	return New(func(ctx context.Context) (net.Conn, error) { return dialer.DialContext(ctx, "unix", path) })
}

// InProcess returns a client of a handler in this process, and a function that ends the
// handler's connections. base is the context of the handler's requests.
func InProcess(base context.Context, handler http.Handler) (c *Client, end func()) {
	pipes := pipe.NewListener()
	server := &http.Server{Handler: handler, BaseContext: func(net.Listener) context.Context { return base }, ReadHeaderTimeout: time.Minute}
	var wait sync.WaitGroup
	wait.Go(func() { _ = server.Serve(pipes) })
	c = New(pipes.Dial)
	return c, func() {
		c.Close()
		_ = server.Close()
		wait.Wait()
	}
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// kinds are the kinds of faults by the kinds of the API.
var kinds = map[string]fault.Kind{
	"invalid": fault.Usage, "not_found": fault.NotFound, "refused": fault.Refused, "unauthenticated": fault.Refused,
	"conflict": fault.Conflict, "limit": fault.Limit, "too_large": fault.Limit, "timeout": fault.Limit, "canceled": fault.Interrupted,
	"environment": fault.Environment, "unsupported": fault.Environment, "failed": fault.AgentFailed, "internal": fault.Internal,
}

// toFault returns the fault that the server reported.
func toFault(err error) error {
	var failed *connect.Error
	if !errors.As(err, &failed) {
		return err
	}
	for _, detail := range failed.Details() {
		value, err := detail.Value()
		if err != nil {
			continue
		}
		if e, ok := value.(*aiboxv1.Error); ok {
			f := fault.New(kinds[e.GetKind()], "%s", e.GetMessage())
			for _, hint := range e.GetHints() {
				f = f.Hint("%s", hint)
			}
			return f
		}
	}
	if failed.Code() == connect.CodeCanceled {
		return fault.New(fault.Interrupted, "interrupted")
	}
	return fault.New(fault.Environment, "calling the API: %s", failed.Message())
}

// call makes one call.
func call[Q, A any](ctx context.Context, method func(context.Context, *connect.Request[Q]) (*connect.Response[A], error), request *Q) (*A, error) {
	response, err := method(ctx, connect.NewRequest(request))
	if err != nil {
		return nil, toFault(err)
	}
	return response.Msg, nil
}

// Message is a message of the schema.
type Message = proto.Message

// Duration is a length of time of the schema.
type Duration = durationpb.Duration

// DurationOf returns a length of time of the schema.
func DurationOf(d time.Duration) *Duration { return durationpb.New(d) }

// JSON returns a message as the JSON of the API.
func JSON(message Message) ([]byte, error) {
	return protojson.MarshalOptions{EmitUnpopulated: true}.Marshal(message)
}

// Server describes the server.
func (c *Client) Server(ctx context.Context) (*aiboxv1.ServerInfo, error) {
	return call(ctx, c.server.Get, &aiboxv1.GetServerRequest{})
}

// Create creates a sandbox.
func (c *Client) Create(ctx context.Context, r *aiboxv1.CreateSandboxRequest) (*aiboxv1.Sandbox, error) {
	return call(ctx, c.sandboxes.Create, r)
}

// Get returns a sandbox.
func (c *Client) Get(ctx context.Context, id string) (*aiboxv1.Sandbox, error) {
	return call(ctx, c.sandboxes.Get, &aiboxv1.GetSandboxRequest{SandboxId: id})
}

// List returns all sandboxes that a request selects, from all pages.
func (c *Client) List(ctx context.Context, r *aiboxv1.ListSandboxesRequest) ([]*aiboxv1.Sandbox, error) {
	var all []*aiboxv1.Sandbox
	for {
		page, err := call(ctx, c.sandboxes.List, r)
		if err != nil {
			return nil, err
		}
		all = append(all, page.GetSandboxes()...)
		if r.PageToken = page.GetNextPageToken(); r.PageToken == "" {
			return all, nil
		}
	}
}

// Update changes a sandbox.
func (c *Client) Update(ctx context.Context, r *aiboxv1.UpdateSandboxRequest) (*aiboxv1.Sandbox, error) {
	return call(ctx, c.sandboxes.Update, r)
}

// Extend moves the end of a sandbox.
func (c *Client) Extend(ctx context.Context, r *aiboxv1.ExtendSandboxRequest) (*aiboxv1.Sandbox, error) {
	return call(ctx, c.sandboxes.Extend, r)
}

// Pause pauses a sandbox.
func (c *Client) Pause(ctx context.Context, id string) (*aiboxv1.Sandbox, error) {
	return call(ctx, c.sandboxes.Pause, &aiboxv1.PauseSandboxRequest{SandboxId: id})
}

// Resume continues a sandbox.
func (c *Client) Resume(ctx context.Context, id string) (*aiboxv1.Sandbox, error) {
	return call(ctx, c.sandboxes.Resume, &aiboxv1.ResumeSandboxRequest{SandboxId: id})
}

// Snapshot stores the state of a sandbox.
func (c *Client) Snapshot(ctx context.Context, id, name string, ttl time.Duration) (*aiboxv1.Snapshot, error) {
	r := &aiboxv1.SnapshotSandboxRequest{SandboxId: id, Name: name}
	if ttl > 0 {
		r.Ttl = durationpb.New(ttl)
	}
	return call(ctx, c.sandboxes.Snapshot, r)
}

// Snapshots lists the snapshots, the newest first.
func (c *Client) Snapshots(ctx context.Context) ([]*aiboxv1.Snapshot, error) {
	found, err := call(ctx, c.sandboxes.ListSnapshots, &aiboxv1.ListSnapshotsRequest{})
	return found.GetSnapshots(), err
}

// DeleteSnapshot deletes a snapshot.
func (c *Client) DeleteSnapshot(ctx context.Context, id string) error {
	_, err := call(ctx, c.sandboxes.DeleteSnapshot, &aiboxv1.DeleteSnapshotRequest{SnapshotId: id})
	return err
}

// CreateVolume creates an empty volume.
func (c *Client) CreateVolume(ctx context.Context, name string) (*aiboxv1.Volume, error) {
	return call(ctx, c.volumes.Create, &aiboxv1.CreateVolumeRequest{Name: name})
}

// Volumes lists the volumes by name.
func (c *Client) Volumes(ctx context.Context) ([]*aiboxv1.Volume, error) {
	found, err := call(ctx, c.volumes.List, &aiboxv1.ListVolumesRequest{})
	return found.GetVolumes(), err
}

// DeleteVolume deletes a volume with its files.
func (c *Client) DeleteVolume(ctx context.Context, name string) error {
	_, err := call(ctx, c.volumes.Delete, &aiboxv1.DeleteVolumeRequest{Name: name})
	return err
}

// Destroy ends a sandbox.
func (c *Client) Destroy(ctx context.Context, id string) error {
	_, err := call(ctx, c.sandboxes.Destroy, &aiboxv1.DestroySandboxRequest{SandboxId: id})
	return err
}

// Network returns the network policy of a sandbox.
func (c *Client) Network(ctx context.Context, id string) (*aiboxv1.NetworkPolicy, error) {
	return call(ctx, c.network.Get, &aiboxv1.GetNetworkRequest{SandboxId: id})
}

// SetNetwork changes the network policy of a sandbox.
func (c *Client) SetNetwork(ctx context.Context, id string, policy *aiboxv1.NetworkPolicy) (*aiboxv1.NetworkPolicy, error) {
	return call(ctx, c.network.Set, &aiboxv1.SetNetworkRequest{SandboxId: id, Policy: policy})
}

// Ports lists the ports of a sandbox.
func (c *Client) Ports(ctx context.Context, id string) ([]*aiboxv1.Port, error) {
	found, err := call(ctx, c.ports.List, &aiboxv1.ListPortsRequest{SandboxId: id})
	return found.GetPorts(), err
}

// SignPortFor returns a URL with which a browser reaches a port of a sandbox for a time.
func (c *Client) SignPortFor(ctx context.Context, id string, port uint32, ttl time.Duration) (*aiboxv1.SignPortResponse, error) {
	return call(ctx, c.ports.Sign, &aiboxv1.SignPortRequest{SandboxId: id, Port: port, Ttl: durationpb.New(ttl)})
}

// Launch starts a process.
func (c *Client) Launch(ctx context.Context, r *aiboxv1.StartProcessRequest) (*aiboxv1.Process, error) {
	return call(ctx, c.processes.Launch, r)
}

// Start starts a process and visits its events until it has ended.
func (c *Client) Start(ctx context.Context, r *aiboxv1.StartProcessRequest, visit func(*aiboxv1.ProcessEvent) error) error {
	stream, err := c.processes.Start(ctx, connect.NewRequest(r))
	if err != nil {
		return toFault(err)
	}
	defer stream.Close()
	for stream.Receive() {
		if err := visit(stream.Msg()); err != nil {
			return err
		}
	}
	if err := stream.Err(); err != nil {
		return toFault(err)
	}
	return nil
}

// Input sends input to a process until in ends, and then ends the process's input.
func (c *Client) Input(ctx context.Context, id string, process int32, in io.Reader) error {
	buf := make([]byte, pieceSize)
	for {
		n, readErr := in.Read(buf)
		if n > 0 {
			if _, err := call(ctx, c.processes.SendInput, &aiboxv1.SendInputRequest{SandboxId: id, ProcessId: process, Data: buf[:n]}); err != nil {
				return err
			}
		}
		if readErr != nil {
			_, err := call(ctx, c.processes.CloseInput, &aiboxv1.CloseInputRequest{SandboxId: id, ProcessId: process})
			return err
		}
	}
}

// Signal sends a signal to a process.
func (c *Client) Signal(ctx context.Context, id string, process, signal int32) error {
	_, err := call(ctx, c.processes.Signal, &aiboxv1.SignalProcessRequest{SandboxId: id, ProcessId: process, Signal: signal})
	return err
}

// pieceSize is the size of pieces of files and input, in bytes.
const pieceSize = 256 << 10

// Download writes a tar archive of a file or folder of a sandbox to w. left is what the
// archive lacks, as a text of the sandbox.
func (c *Client) Download(ctx context.Context, id, path string, w io.Writer) (left string, _ error) {
	stream, err := c.files.Download(ctx, connect.NewRequest(&aiboxv1.DownloadFilesRequest{SandboxId: id, Path: path}))
	if err != nil {
		return "", toFault(err)
	}
	defer stream.Close()
	for stream.Receive() {
		if _, err := w.Write(stream.Msg().GetArchive().GetData()); err != nil {
			return "", err
		}
		left += stream.Msg().GetLeftOut()
	}
	if err := stream.Err(); err != nil {
		return "", toFault(err)
	}
	return left, nil
}

// Upload extracts a tar archive at a path of a sandbox; see UploadFilesRequest. A reader
// that fails ends the call, so that an incomplete archive does not look complete. left is what
// was not extracted, as a text of the sandbox.
func (c *Client) Upload(ctx context.Context, id, path, name string, in io.Reader) (left string, _ error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream := c.files.Upload(ctx)
	first := &aiboxv1.UploadFilesRequest{SandboxId: id, Path: path, Name: name}
	if err := stream.Send(first); err != nil && !errors.Is(err, io.EOF) {
		return "", toFault(err)
	}
	buf := make([]byte, pieceSize)
	for {
		n, readErr := io.ReadFull(in, buf)
		if n > 0 {
			if err := stream.Send(&aiboxv1.UploadFilesRequest{Archive: &httpbody.HttpBody{Data: buf[:n]}}); err != nil {
				break // the answer has the reason
			}
		}
		if errors.Is(readErr, io.EOF) || errors.Is(readErr, io.ErrUnexpectedEOF) {
			break
		}
		if readErr != nil {
			cancel()
			_, _ = stream.CloseAndReceive()
			return "", readErr
		}
	}
	answer, err := stream.CloseAndReceive()
	if err != nil {
		return "", toFault(err)
	}
	return answer.Msg.GetLeftOut(), nil
}
