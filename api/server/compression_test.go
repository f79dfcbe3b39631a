package server

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/aibox/v1/aiboxv1connect"
	"aibox/session/process"
)

// counting counts the bytes of answers as the server sends them.
type counting struct {
	http.RoundTripper
	bytes int64
}

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := c.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = &countedBody{answer.Body, c}
	}
	return answer, err
}

type countedBody struct {
	io.ReadCloser
	to *counting
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.to.bytes += int64(n)
	return n, err
}

func TestOnlyLargeAnswersThatAreNoDataOfASandboxAreCompressed(t *testing.T) {
	s := newSite(t, nil)
	id, token := s.sandbox("a"), s.token("a")
	const size = 1 << 20
	info, err := s.m.StartProcess(t.Context(), "00001-sandbox", process.Request{Argv: []string{"flood", fmt.Sprint(size)}})
	if err != nil {
		t.Fatal(err)
	}
	for name, protocol := range map[string]connect.ClientOption{"Connect": connect.WithClientOptions(), "gRPC-Web": connect.WithGRPCWeb()} {
		count := &counting{RoundTripper: http.DefaultTransport}
		client := aiboxv1connect.NewProcessesClient(&http.Client{Transport: count}, s.url, protocol)
		readAll(t, client, token, id, int32(info.ID), size*2)
		if count.bytes < size {
			t.Errorf("%s: %d bytes of output came as %d", name, size, count.bytes)
		}
	}
	for _, large := range []bool{false, true} {
		count := &counting{RoundTripper: http.DefaultTransport}
		client := aiboxv1connect.NewSandboxesClient(&http.Client{Transport: count}, s.url, tokenOf(token))
		got, err := client.List(t.Context(), connect.NewRequest(&aiboxv1.ListSandboxesRequest{}))
		if err != nil {
			t.Fatal(err)
		}
		if compressed := count.bytes < int64(proto.Size(got.Msg)); compressed != large {
			t.Errorf("a list of %d bytes came as %d", proto.Size(got.Msg), count.bytes)
		}
		for range 100 {
			s.sandbox("a")
		}
	}
}
