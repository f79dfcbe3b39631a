package gateway

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"aibox/netguard/gateway/modelserver"
	"aibox/netguard/gateway/schema"
)

// filters is how many bodies are filtered at a time, since each takes a processor.
const filters = 2

// admit reads the request's body, reserves its part of the session's budgets, and replaces
// the body with the parts that may go upstream. It returns the reason why the request is
// refused, or errGone.
func (g *Gateway) admit(r *http.Request, c *call) (*problem, error) {
	c.head = g.passHead(r)
	if c.endpoint.body == 0 {
		r.Body, r.ContentLength = http.NoBody, 0
		return g.countUpload(c, 0), nil
	}
	if refusal := requireJSON(r.Header); refusal != nil {
		return refusal, nil
	}
	body, refusal, err := g.readBody(c.writer, r)
	held := int64(cap(body))
	release := func() { g.ledger.release(held) }
	var result schema.Result
	if refusal == nil && err == nil {
		result, refusal = g.filter(c, body)
	}
	if refusal == nil && err == nil {
		held, refusal = g.hold(held, result)
	}
	if refusal == nil && err == nil {
		refusal, err = g.reserveBudget(r.Context(), c, result.Size)
	}
	if refusal == nil && err == nil {
		refusal = g.replaceBody(r, c, result, release)
	}
	if refusal != nil || err != nil {
		release()
	}
	return refusal, err
}

// hold changes the memory that is reserved for a request's body to that of its filtered parts,
// some of which may be in the body's own memory. It returns the bytes that are reserved now.
func (g *Gateway) hold(body int64, result schema.Result) (int64, *problem) {
	needed := result.Copied
	if result.Copied < result.Size {
		needed += body
	}
	if !g.ledger.reserve(needed - body) {
		return body, memoryFull()
	}
	return needed, nil
}

// filter returns the parts of the request's body that may go upstream.
func (g *Gateway) filter(c *call, body []byte) (schema.Result, *problem) {
	g.filters <- struct{}{}
	result, err := schema.Filter(c.endpoint.body, body, schema.Policy{
		Model: g.ownModel, Answered: g.ledger.answered, Alias: g.ledger.alias, Open: g.serverTools, StreamUsage: g.upstream.StreamsUsage(),
		StoresChats: g.upstream.StoresChats(), ModelInPath: g.upstream.ModelInPath(), HostsShells: g.upstream.HostsShells(),
	})
	<-g.filters
	c.event.LeftOut, c.streams, c.surcharge, c.several = result.LeftOut, result.Streams, result.Surcharge, result.Several
	c.output, c.choices, c.mediaTokens, c.fee = result.MaxOutput, result.Choices, result.MediaTokens, result.Fee
	if result.Model != "" && c.event.Model == "" {
		c.event.Model = result.Model
	}
	var refusal *schema.Refusal
	switch {
	case errors.As(err, &refusal) && refusal.Kind == schema.NotOurs:
		return result, &problem{status: http.StatusNotFound, message: refusal.Message}
	case err != nil:
		return result, &problem{status: http.StatusBadRequest, message: err.Error()}
	}
	return result, g.checkPrice(c)
}

// replaceBody makes the request's new body. release is called when that has been sent,
// unless the request is refused.
func (g *Gateway) replaceBody(r *http.Request, c *call, result schema.Result, release func()) *problem {
	if refusal := g.countUpload(c, result.Size); refusal != nil {
		return refusal
	}
	c.body = &outgoingBody{pieces: result.Body, done: release}
	var err error
	r.Body, err = c.body.open()
	r.GetBody, r.ContentLength = c.body.open, result.Size
	r.TransferEncoding = nil
	if err != nil {
		return &problem{status: http.StatusInternalServerError, message: err.Error()}
	}
	return nil
}

// countUpload counts the request's head and a body of this size, which go upstream unless the session
// has then sent more than it may.
func (g *Gateway) countUpload(c *call, body int64) *problem {
	head := c.head.size()
	if !g.ledger.upload(head+body, g.uploadLimit) {
		c.event.Limit = UploadLimit
		return &problem{status: http.StatusForbidden, message: fmt.Sprintf("this session has sent the model all of the %d bytes that its settings allow", g.uploadLimit)}
	}
	c.sent, c.event.Sent = body, head+body
	return nil
}

// requireJSON refuses a body that another parser could read differently.
func requireJSON(header http.Header) *problem {
	for _, encoding := range header["Content-Encoding"] {
		if !strings.EqualFold(strings.TrimSpace(encoding), "identity") {
			return &problem{status: http.StatusBadRequest, message: "aibox reads each request before it goes to the model's server, so a request's body must not be encoded; send it without Content-Encoding"}
		}
	}
	for _, value := range header["Content-Type"] {
		kind, params, err := mime.ParseMediaType(value)
		if charset, ok := params["charset"]; err != nil || kind != "application/json" || ok && !strings.EqualFold(charset, "utf-8") {
			return &problem{status: http.StatusBadRequest, message: "a request's body has to be JSON; send it with Content-Type: application/json"}
		}
	}
	return nil
}

// ownModel finds the session's model that asked means, and returns its name for the
// upstream.
func (g *Gateway) ownModel(asked string) (string, bool) {
	if g.upstream.Kind == modelserver.Scripted {
		return asked, true // the server has no models, so no name selects another one
	}
	if g.models == nil {
		return "", false
	}
	for _, own := range g.models() {
		if name, ok := g.upstream.SameModel(own, asked); ok {
			return name, true
		}
	}
	return "", false
}

// checkModelInPath refuses a path that names a model which is not the session's own.
func (g *Gateway) checkModelInPath(c *call) *problem {
	asked := modelInPath(c.event.Dialect, c.path)
	if asked == "" {
		return nil
	}
	if _, own := g.ownModel(asked); !own {
		return &problem{status: http.StatusNotFound, message: schema.NoSuchModel(asked).Message}
	}
	return nil
}
