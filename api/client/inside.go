package client

import (
	"context"
	"errors"
	"io"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/api/httpbody"

	aiboxv1 "aibox/api/aibox/v1"
)

type authorizationKey struct{}

// WithAuthorization returns a context whose calls have this header Authorization.
func WithAuthorization(ctx context.Context, header string) context.Context {
	return context.WithValue(ctx, authorizationKey{}, header)
}

// authorized adds the header Authorization of a request's context.
type authorized struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (a authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	if header, ok := r.Context().Value(authorizationKey{}).(string); ok {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", header)
	}
	return a.RoundTripper.RoundTrip(r)
}

// CloseIdleConnections closes idle connections.
func (a authorized) CloseIdleConnections() {
	if c, ok := a.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// Exec runs a command and returns its result.
func (c *Client) Exec(ctx context.Context, r *aiboxv1.ExecRequest) (*aiboxv1.ExecResponse, error) {
	return call(ctx, c.processes.Exec, r)
}

// RunCode runs source text.
func (c *Client) RunCode(ctx context.Context, r *aiboxv1.RunCodeRequest) (*aiboxv1.RunCodeResponse, error) {
	return call(ctx, c.processes.RunCode, r)
}

// ListFiles lists a page of the files in a folder.
func (c *Client) ListFiles(ctx context.Context, r *aiboxv1.ListFilesRequest) (*aiboxv1.ListFilesResponse, error) {
	return call(ctx, c.files.List, r)
}

// StatFile describes a file.
func (c *Client) StatFile(ctx context.Context, id, path string) (*aiboxv1.FileInfo, error) {
	return call(ctx, c.files.Stat, &aiboxv1.StatFileRequest{SandboxId: id, Path: path})
}

// ReadFile returns at most length bytes of a file from offset on.
func (c *Client) ReadFile(ctx context.Context, id, path string, offset, length int64) ([]byte, error) {
	stream, err := c.files.Read(ctx, connect.NewRequest(&aiboxv1.ReadFileRequest{SandboxId: id, Path: path, Offset: offset, Length: length}))
	if err != nil {
		return nil, toFault(err)
	}
	defer stream.Close()
	var data []byte
	for stream.Receive() {
		data = append(data, stream.Msg().GetContent().GetData()...)
	}
	if err := stream.Err(); err != nil {
		return nil, toFault(err)
	}
	return data, nil
}

// WriteFile replaces a file.
func (c *Client) WriteFile(ctx context.Context, id, path string, data []byte) (*aiboxv1.FileInfo, error) {
	stream := c.files.Write(ctx)
	first := &aiboxv1.WriteFileRequest{SandboxId: id, Path: path}
	err := stream.Send(first)
	for err == nil && len(data) > 0 {
		n := min(len(data), pieceSize)
		err = stream.Send(&aiboxv1.WriteFileRequest{Content: &httpbody.HttpBody{Data: data[:n]}})
		data = data[n:]
	}
	if err != nil && !errors.Is(err, io.EOF) { // for EOF, the answer has the reason
		return nil, toFault(err)
	}
	response, err := stream.CloseAndReceive()
	if err != nil {
		return nil, toFault(err)
	}
	return response.Msg, nil
}

// SignPort returns a URL with which a browser reaches a port of a sandbox, for an hour.
func (c *Client) SignPort(ctx context.Context, id string, port uint32) (*aiboxv1.SignPortResponse, error) {
	return call(ctx, c.ports.Sign, &aiboxv1.SignPortRequest{SandboxId: id, Port: port})
}
