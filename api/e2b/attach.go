package e2b

import (
	"net/http"

	"aibox/api/server"
)

// Attach adds the routes of the packages to a server, which checks each request as those of
// its own: paths below Root for both planes, and a host name of its own for the inside of
// each sandbox. The calls authenticate themselves: each goes to the API with the token of its
// caller, which is also checked before the body of a request is read. It is called before the
// server serves.
func (s *Server) Attach(to *server.Server) {
	s.enter, s.record = to.Enter, to.Record
	for _, path := range Paths() {
		to.Handle(server.Route{Pattern: path, Public: true, Upload: true, Browser: isSigned, Handler: s})
	}
	inside := to.Guard(server.Route{
		Pattern: "e2b inside", Public: true, Upload: true, Host: s.isInside, Browser: isSigned,
		Handler: s.inside,
	})
	to.Wrap(func(next http.Handler) http.Handler { return s.Wrap(inside, next) })
}

// isInside reports whether a host is that of the inside of a sandbox.
func (s *Server) isInside(host string) bool {
	_, port, ok := s.parseHost(host)
	return ok && port == insidePort
}
