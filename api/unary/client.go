package unary

import (
	"context"
	"maps"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
)

// Client calls a method that takes one message and returns one, like connect.Client. It is
// safe for concurrent use. NewClient makes it.
type Client[Q, A any] struct {
	client *connect.Client[message, message]
}

// NewClient returns a client of the method at a URL.
func NewClient[Q, A any, PQ pointer[Q], PA pointer[A]](client connect.HTTPClient, url string, options ...connect.ClientOption) *Client[Q, A] {
	return &Client[Q, A]{newClient(client, url, newMessage[A, PA], options)}
}

func newClient(client connect.HTTPClient, url string, newAnswer func() proto.Message, options []connect.ClientOption) *connect.Client[message, message] {
	return connect.NewClient[message, message](client, url, connect.WithClientOptions(options...), connect.WithResponseInitializer(initializer(newAnswer)))
}

// CallUnary calls the method.
func (c *Client[Q, A]) CallUnary(ctx context.Context, request *connect.Request[Q]) (*connect.Response[A], error) {
	message, _ := any(request.Msg).(proto.Message) // NewClient requires it
	answer, err := call(ctx, c.client, message, request.Header())
	if err != nil {
		return nil, err
	}
	typed, _ := any(answer.Msg.Message).(*A) // made by NewClient's newMessage
	response := connect.NewResponse(typed)
	maps.Copy(response.Header(), answer.Header())
	maps.Copy(response.Trailer(), answer.Trailer())
	return response, nil
}

func call(ctx context.Context, client *connect.Client[message, message], m proto.Message, header http.Header) (*connect.Response[message], error) {
	request := connect.NewRequest(&message{m})
	maps.Copy(request.Header(), header)
	return client.CallUnary(ctx, request)
}
