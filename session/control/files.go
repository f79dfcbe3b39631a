package control

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"aibox/internal/fault"
)

// filesProtocol is the protocol to which a request for files upgrades its connection; see
// package files.
const filesProtocol = "aibox-files/1"

// Files are the files of a session's sandbox.
type Files interface {
	// Serve serves one request of a client. connect returns the connection to the client and a
	// reader of its data. Serve refuses a request before it calls connect.
	Serve(ctx context.Context, connect func() (net.Conn, io.Reader, error)) error
}

// serveFiles upgrades a request's connection to the protocol of files. The connection is not read while
// the sandbox does not read, and then the end of the client is not seen there. So that is checked every
// now and then: otherwise such a request would stay until the end of the sandbox.
func serveFiles(c Session, check time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != filesProtocol {
			writeResult(w, fault.New(fault.Usage, "files take an upgrade to %s", filesProtocol))
			return
		}
		ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
		defer cancel()
		go func() {
			<-untilGone(ctx, check)
			cancel()
		}()
		connected := false
		err := c.Files().Serve(ctx, func() (net.Conn, io.Reader, error) {
			connected = true
			return upgrade(w, filesProtocol)
		})
		if err != nil && !connected {
			writeResult(w, err)
		}
	}
}

// Files returns a connection for one request for the sandbox's files.
func (c Client) Files(ctx context.Context) (io.ReadWriteCloser, error) {
	target := url.URL{Scheme: "http", Host: "session", Path: "/v1/files"}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), nil)
	if err != nil {
		return nil, err
	}
	return c.upgrade(ctx, request, filesProtocol)
}
