package server

import (
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"google.golang.org/protobuf/proto"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/aibox/v1/aiboxv1connect"
)

// protocols are the clients of the protocols of Connect.
var protocols = map[string][]connect.ClientOption{
	"Connect": nil, "Connect with JSON": {connect.WithProtoJSON()}, "gRPC": {connect.WithGRPC()}, "gRPC with JSON": {connect.WithGRPC(), connect.WithProtoJSON()},
	"gRPC-Web": {connect.WithGRPCWeb()},
}

// broken is a codec that sends no message of the codec of its name.
type broken struct{ name string }

func (c broken) Name() string              { return c.name }
func (broken) Marshal(any) ([]byte, error) { return []byte("\xff"), nil }
func (broken) Unmarshal(data []byte, message any) error {
	m, ok := message.(proto.Message) // the status of an error of gRPC
	if !ok {
		return errors.New("no message")
	}
	return proto.Unmarshal(data, m)
}

// plain does not compress.
type plain struct {
	io.Reader
	io.Writer
}

func (p *plain) Reset(to io.Writer) { p.Writer = to }
func (*plain) Close() error         { return nil }

// unknownEncoding sends messages in an encoding that the server does not know.
func unknownEncoding() connect.ClientOption {
	return connect.WithClientOptions(
		connect.WithAcceptCompression("br", func() connect.Decompressor { return &gzip.Reader{} }, func() connect.Compressor { return &plain{} }),
		connect.WithSendCompression("br"),
	)
}

// detailOf returns the detail that all errors have.
func detailOf(t *testing.T, err error) *aiboxv1.Error {
	t.Helper()
	var known *connect.Error
	if !errors.As(err, &known) {
		t.Fatalf("%v is no error of Connect", err)
	}
	for _, detail := range known.Details() {
		if value, err := detail.Value(); err == nil {
			if found, ok := value.(*aiboxv1.Error); ok {
				return found
			}
		}
	}
	return &aiboxv1.Error{}
}

func TestErrorsBeforeACallHaveTheDetailInEveryProtocol(t *testing.T) {
	s := newSite(t, func(o *Options) { o.Limits.Message = 1 << 10 })
	token := s.token("a")
	large := strings.Repeat("x", 1<<11)
	for name, options := range protocols {
		codec := "proto"
		if strings.Contains(name, "JSON") {
			codec = "json"
		}
		for problem, c := range map[string]struct {
			option     connect.ClientOption
			token      string
			name, kind string
		}{
			"no token":            {kind: "unauthenticated"},
			"a large message":     {token: token, name: large, kind: "too_large"},
			"a much larger one":   {token: token, name: strings.Repeat(large, 4), kind: "too_large"},
			"a broken message":    {token: token, option: connect.WithCodec(broken{codec}), kind: "invalid"},
			"an unknown encoding": {token: token, option: unknownEncoding(), kind: "unsupported"},
		} {
			all := append([]connect.ClientOption{tokenOf(c.token)}, options...)
			if c.option != nil {
				all = append(all, c.option)
			}
			_, err := aiboxv1connect.NewSandboxesClient(h2c(), s.url, all...).Create(t.Context(), connect.NewRequest(&aiboxv1.CreateSandboxRequest{Name: c.name}))
			if err == nil {
				t.Errorf("%s, %s: no error", name, problem)
				continue
			}
			if got := detailOf(t, err); got.GetKind() != c.kind || got.GetId() == "" || got.GetMessage() == "" || strings.Contains(got.GetMessage(), "%") {
				t.Errorf("%s, %s: %v with the detail %v", name, problem, err, got)
			}
		}
	}
}

func TestAStreamWhoseEncodingIsNotKnownEndsWithTheDetail(t *testing.T) {
	s := newSite(t, nil)
	for name, options := range protocols {
		options = append([]connect.ClientOption{unknownEncoding()}, options...)
		request := connect.NewRequest(&aiboxv1.StartProcessRequest{Argv: []string{"x"}})
		request.Header().Set("Authorization", "Bearer "+s.token("a"))
		stream, err := aiboxv1connect.NewProcessesClient(h2c(), s.url, options...).Start(t.Context(), request)
		if err == nil {
			stream.Receive()
			err = stream.Err()
		}
		if got := detailOf(t, err); got.GetKind() != "unsupported" {
			t.Errorf("%s: %v with the detail %v", name, err, got)
		}
	}
}

func TestErrorsOfHTTPItselfHaveABody(t *testing.T) {
	s := newSite(t, nil)
	token := bearer(s.token("a"))
	for _, c := range []struct {
		method, kind string
		status       int
	}{{"POST", "text/plain", 415}, {"POST", "application/grpc+x", 415}, {"POST", "application/x", 415}, {"PUT", "application/json", 405}} {
		got := s.request(c.method, "/aibox.v1.Sandboxes/Create", "{}", token, "Content-Type: "+c.kind)
		if got.status != c.status || !strings.Contains(got.body, `"kind":"invalid"`) || got.header.Get("Allow")+got.header.Get("Accept-Post") == "" {
			t.Errorf("%s of %s: %d %s, %v", c.method, c.kind, got.status, got.body, got.header)
		}
	}
}
