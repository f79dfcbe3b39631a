package mcp

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The limits of the server over HTTP.
const (
	maxBody        = 8 << 20 // bytes of a request
	sessionTimeout = time.Hour
	maxSessions    = 64 // of one tenant at once
)

// sessionHeader carries the id of a session of the protocol.
const sessionHeader = "Mcp-Session-Id"

// Handler serves the protocol over streamable HTTP. The caller has authenticated each
// request and checked its Host before it reaches the handler. A session of the protocol
// belongs to the tenant that started it. For any other tenant it does not exist.
type Handler struct {
	// Tenant returns the tenant of an authenticated request; false refuses it.
	Tenant func(*http.Request) (string, bool)
	// Config returns the configuration of a tenant's server.
	Config func(tenant string) Config

	once   sync.Once
	key    [sha256.Size]byte // of session ids
	inner  http.Handler
	origin *http.CrossOriginProtection

	lock     sync.Mutex // guards the following fields
	servers  map[string]*mcp.Server
	starting map[string]int // requests of each tenant whose session is not in its server yet
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.once.Do(h.prepare)
	// The specification requires a check of Origin: a web page must not call the server, not
	// even by DNS rebinding. No page needs to, so every Origin is refused.
	if r.Header.Get("Origin") != "" || h.origin.Check(r) != nil {
		http.Error(w, "web pages cannot use this server", http.StatusForbidden)
		return
	}
	tenant, ok := h.Tenant(r)
	if !ok {
		http.Error(w, "the request is not authenticated", http.StatusUnauthorized)
		return
	}
	id := r.Header.Get(sessionHeader)
	if id == "" {
		release, ok := h.reserve(tenant)
		if !ok {
			http.Error(w, "this tenant has too many sessions of the protocol", http.StatusTooManyRequests)
			return
		}
		defer release()
		r.Body = startingBody{r.Body, release}
	} else if !h.owns(tenant, id) {
		http.Error(w, "there is no such session", http.StatusNotFound)
		return
	}
	h.inner.ServeHTTP(w, r)
}

func (h *Handler) prepare() {
	_, _ = rand.Read(h.key[:])
	h.servers, h.starting, h.origin = map[string]*mcp.Server{}, map[string]int{}, http.NewCrossOriginProtection()
	h.inner = mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		tenant, ok := h.Tenant(r)
		if !ok {
			return nil
		}
		return h.server(tenant)
	}, &mcp.StreamableHTTPOptions{
		SessionTimeout: sessionTimeout, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true,
		DisableLocalhostProtection: true, // the caller has checked Host, and knows the names of the server
	})
}

// server returns the tenant's server.
func (h *Handler) server(tenant string) *mcp.Server {
	h.lock.Lock()
	defer h.lock.Unlock()
	server, ok := h.servers[tenant]
	if !ok {
		config := h.Config(tenant)
		config.SessionID = func() string { return h.newID(tenant) }
		server = New(config)
		h.servers[tenant] = server
	}
	return server
}

// reserve reserves a place for a session that a request may begin, unless the tenant has the
// maximum number of sessions. release gives the place back; only its first call counts.
func (h *Handler) reserve(tenant string) (release func(), ok bool) {
	server := h.server(tenant)
	h.lock.Lock()
	defer h.lock.Unlock()
	count := h.starting[tenant]
	for range server.Sessions() {
		count++
	}
	if count >= maxSessions {
		return nil, false
	}
	h.starting[tenant]++
	return sync.OnceFunc(func() {
		h.lock.Lock()
		defer h.lock.Unlock()
		if h.starting[tenant]--; h.starting[tenant] == 0 {
			delete(h.starting, tenant)
		}
	}), true
}

// startingBody is the body of a request that may begin a session. The inner handler reads it only when
// its server has that session, which then counts itself.
type startingBody struct {
	io.ReadCloser
	release func() // of the reserved place
}

// Read implements io.Reader.
func (b startingBody) Read(p []byte) (int, error) {
	b.release()
	return b.ReadCloser.Read(p)
}

// newID makes the id of a session of a tenant: random text and a code over it and the tenant.
func (h *Handler) newID(tenant string) string {
	text := rand.Text()
	return text + "." + h.code(tenant, text)
}

// owns reports whether newID made the id for the tenant.
func (h *Handler) owns(tenant, id string) bool {
	text, code, ok := strings.Cut(id, ".")
	return ok && hmac.Equal([]byte(code), []byte(h.code(tenant, text)))
}

func (h *Handler) code(tenant, text string) string {
	mac := hmac.New(sha256.New, h.key[:])
	mac.Write([]byte(tenant + "\x00" + text))
	return hex.EncodeToString(mac.Sum(nil))
}
