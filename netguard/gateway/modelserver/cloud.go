package modelserver

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"aibox/netguard/gateway/schema"
)

// cloud is a provider with special paths and credentials.
type cloud interface {
	// route returns the path of a call below the server's root; false if the provider does
	// not have that call.
	route(c Call, path string) (to string, query url.Values, ok bool)
	// authorize adds the credential to a request with its final URL and header.
	authorize(r *http.Request, c Call, credential Credential) error
	// dialects returns those that the provider speaks with a model.
	dialects(model string) []schema.Dialect
}

// ErrUnserved is the error of a call that the provider does not have.
var ErrUnserved = errors.New("the provider does not serve this call")

// Call describes a request to a model server.
type Call struct {
	Dialect schema.Dialect
	Model   string // empty if the request is not about a model
	Streams bool
}

type callKey struct{}

// WithCall returns a context for requests to the transport of a Server.
func WithCall(ctx context.Context, c Call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

func callOf(ctx context.Context) Call {
	c, _ := ctx.Value(callKey{}).(Call)
	return c
}

// DialectsFor returns the dialects that the server speaks with a model; an empty model
// means any.
func (u Server) DialectsFor(model string) []schema.Dialect {
	if u.cloud == nil || model == "" {
		return u.Dialects
	}
	var all []schema.Dialect
	for _, dialect := range u.cloud.dialects(model) {
		if u.Speaks(dialect) {
			all = append(all, dialect)
		}
	}
	return all
}

// ModelInPath reports whether the server reads the model of a Messages request from the
// path, and the API's version from the body.
func (u Server) ModelInPath() bool { _, ok := u.cloud.(vertex); return ok }
