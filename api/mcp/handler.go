package mcp

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
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

	lock    sync.Mutex // guards servers
	servers map[string]*mcp.Server
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
	switch id := r.Header.Get(sessionHeader); {
	case id != "" && !h.owns(tenant, id):
		http.Error(w, "there is no such session", http.StatusNotFound)
		return
	case id == "" && h.isFull(tenant):
		http.Error(w, "this tenant has too many sessions of the protocol", http.StatusTooManyRequests)
		return
	}
	h.inner.ServeHTTP(w, r)
}

func (h *Handler) prepare() {
	_, _ = rand.Read(h.key[:])
	h.servers, h.origin = map[string]*mcp.Server{}, http.NewCrossOriginProtection()
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

// isFull reports whether the tenant has the maximum number of sessions.
func (h *Handler) isFull(tenant string) bool {
	count := 0
	for range h.server(tenant).Sessions() {
		count++
	}
	return count >= maxSessions
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
