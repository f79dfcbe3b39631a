package gateway

import (
	"aibox/internal/secret"
	"context"
	"errors"
	"net/http"
)

var errUnbuilt = errors.New("netguard/gateway: unbuilt")

func parseUpstream(string, func(string) (string, bool)) (Upstream, error) {
	return Upstream{}, errUnbuilt
}
func detect(context.Context, string, func(string) (string, bool)) (Upstream, error) {
	return Upstream{}, errUnbuilt
}
func preflight(context.Context, Upstream) ([]Model, error) { return nil, errUnbuilt }
func newGateway(Config) (http.Handler, error)              { return nil, errUnbuilt }
func newServer(h http.Handler) *http.Server                { return &http.Server{Handler: h} }
func newPlaceholder() secret.Value                         { return secret.New("") }
