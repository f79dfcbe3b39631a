// Package egress controls the outgoing connections of a sandbox: a name server that answers
// only the guard's own names, and a proxy that connects only to hosts that the session's
// policy allows. No other code makes outgoing connections for a sandbox.
//
// One function decides about every request, in whatever form, before any DNS query. The
// proxy resolves the canonical host of that decision, checks every address, and dials the
// checked address itself. A tunnel must carry TLS with the tunnel's host as server name,
// plain HTTP (in which each request is checked again), or SSH.
//
// The front of the proxy is not net/http's server, because that one hides details that a
// proxy must compare: it drops the Host header of a request in absolute form, accepts
// Transfer-Encoding beside Content-Length, and joins folded lines. Instead the bytes of a
// request's head are checked strictly (see parseHead), and only then read by
// http.ReadRequest. Requests are forwarded by an http.Transport, which writes them from
// scratch.
package egress
