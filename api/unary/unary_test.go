package unary

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	aiboxv1 "aibox/api/aibox/v1"
)

// serve serves one method, and returns a client of it for each protocol.
func serve(t *testing.T, method func(context.Context, *connect.Request[aiboxv1.GetSandboxRequest]) (*connect.Response[aiboxv1.Sandbox], error), options ...connect.HandlerOption) map[string]*Client[aiboxv1.GetSandboxRequest, aiboxv1.Sandbox] {
	t.Helper()
	const procedure = "/test/Get"
	mux := http.NewServeMux()
	mux.Handle(procedure, NewHandler(procedure, method, options...))
	server := httptest.NewUnstartedServer(mux)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	clients := map[string]*Client[aiboxv1.GetSandboxRequest, aiboxv1.Sandbox]{}
	for name, option := range map[string]connect.ClientOption{
		"Connect": connect.WithClientOptions(), "JSON": connect.WithProtoJSON(), "gRPC": connect.WithGRPC(), "gRPC-Web": connect.WithGRPCWeb(),
	} {
		clients[name] = NewClient[aiboxv1.GetSandboxRequest, aiboxv1.Sandbox](server.Client(), server.URL+procedure, option)
	}
	return clients
}

func TestMessagesAndHeadersPassBothWays(t *testing.T) {
	for name, client := range serve(t, func(ctx context.Context, r *connect.Request[aiboxv1.GetSandboxRequest]) (*connect.Response[aiboxv1.Sandbox], error) {
		info, _ := connect.CallInfoForHandlerContext(ctx)
		response := connect.NewResponse(&aiboxv1.Sandbox{Name: r.Msg.GetSandboxId() + " found"})
		response.Header().Set("X-Answer", info.RequestHeader().Get("X-Question"))
		response.Trailer().Set("X-End", "end")
		return response, nil
	}) {
		request := connect.NewRequest(&aiboxv1.GetSandboxRequest{SandboxId: "box"})
		request.Header().Set("X-Question", "header")
		response, err := client.CallUnary(t.Context(), request)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if response.Msg.GetName() != "box found" || response.Header().Get("X-Answer") != "header" || response.Trailer().Get("X-End") != "end" {
			t.Errorf("%s: %v, header %v, trailer %v", name, response.Msg, response.Header(), response.Trailer())
		}
	}
}

func TestAnErrorReachesTheCallerWithItsCode(t *testing.T) {
	for name, client := range serve(t, func(context.Context, *connect.Request[aiboxv1.GetSandboxRequest]) (*connect.Response[aiboxv1.Sandbox], error) {
		return nil, connect.NewError(connect.CodeNotFound, errors.New("no such sandbox"))
	}) {
		response, err := client.CallUnary(t.Context(), connect.NewRequest(&aiboxv1.GetSandboxRequest{}))
		if response != nil || connect.CodeOf(err) != connect.CodeNotFound {
			t.Errorf("%s: %v, %v", name, response, err)
		}
	}
}

func TestAnInterceptorReadsTheMessages(t *testing.T) {
	var seen []string
	read := connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
			response, err := next(ctx, r)
			for _, m := range []any{r.Any(), response.Any()} {
				seen = append(seen, string(m.(proto.Message).ProtoReflect().Descriptor().Name()))
			}
			return response, err
		}
	})
	client := serve(t, func(context.Context, *connect.Request[aiboxv1.GetSandboxRequest]) (*connect.Response[aiboxv1.Sandbox], error) {
		return connect.NewResponse(&aiboxv1.Sandbox{}), nil
	}, connect.WithInterceptors(read))["Connect"]
	if _, err := client.CallUnary(t.Context(), connect.NewRequest(&aiboxv1.GetSandboxRequest{})); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 2 || seen[0] != "GetSandboxRequest" || seen[1] != "Sandbox" {
		t.Errorf("it saw %q", seen)
	}
}
