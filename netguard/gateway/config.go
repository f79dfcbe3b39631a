package gateway

import (
	"context"
	"time"

	"aibox/internal/secret"
	"aibox/netguard"
	"aibox/netguard/gateway/modelserver"
	"aibox/netguard/gateway/price"
)

// Config describes a gateway.
type Config struct {
	Upstream    modelserver.Server
	Placeholder secret.Value // the key that the agent must present; required
	OnRequest   func()       // called when a request for an answer begins, from any goroutine; may be nil
	OnAnswer    func()       // called when a piece of an answer has arrived, from any goroutine; must not block, may be nil
	Log         func(Event)  // called once per request when it has ended, from any goroutine; may be nil
	MaxBody     int64        // bytes of one request's body; 0 means 32 MiB
	Concurrent  int          // requests at a time; 0 means 32; more get 429

	// Models are the session's own models: the chosen one and those that the agent's
	// options name. A request for any other is refused; if there are none, every request
	// is. It is called for each model that a request names, from any goroutine, and may wait for the
	// server.
	Models func() []string
	// ServerTools are the kinds of server-side tools that the user's settings open.
	ServerTools []netguard.ServerTool
	UploadLimit int64 // bytes that all requests of the session together may send; 0 means no limit
	// Price returns the price of a model; false if it is not known. Nil knows none.
	Price      func(model string) (price.Price, bool)
	CostLimit  float64 // maximum cost of the session in US dollars; 0 means no limit
	TokenLimit int64   // tokens that the session may use, in and out; 0 means no limit
	// AskMore waits until the user has decided whether to raise the limit that the session
	// has reached to times its original amount, which permits more requests. It is called
	// by one goroutine at a time, and returns false when ctx ends. Nil means that there is
	// no user to ask.
	AskMore func(ctx context.Context, reached Limit, times int64) bool
	// Timeout is how long the upstream may take to start its answer; 0 means no limit.
	Timeout time.Duration
}
