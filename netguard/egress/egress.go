// Package egress is the guarded way out of a sandbox: a name server that answers only the
// guard's own names, and a proxy that connects to what the session's policy allows. It is
// the only code that connects to the outside for a sandbox.
//
// The proxy decides every request, whatever its form, by one function and before any DNS
// query. It dials the canonical host that was decided, checks every address that the host
// resolves to, and dials the checked address itself. A tunnel has to carry what its
// destination is for: TLS with the tunnel's host as server name, plain HTTP (of which each
// request is decided again), or SSH.
//
// The front of the proxy is not net/http's server, because that one hides what a proxy has
// to compare: it drops the Host header of a request in absolute form, accepts
// Transfer-Encoding beside Content-Length, and joins folded lines. Instead the bytes of a
// request's head are checked strictly (see parseHead), and only then read by
// http.ReadRequest. Requests are forwarded by an http.Transport, which writes them from
// scratch.
package egress
