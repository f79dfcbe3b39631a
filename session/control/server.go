// Package control is the socket through which commands talk to the supervisor of a
// running session: the server, the client, and the protocol of attached terminals. It
// decides nothing; it passes requests to the Session it serves.
package control

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"aibox/audit"
	"aibox/internal/peer"
	"aibox/internal/relay"
	"aibox/internal/screen"
	"aibox/session/output"
	"aibox/session/ports"
)

// The control socket speaks HTTP/1.1 over a Unix socket of mode 0600 in the
// session's private folder. Peers of another uid are refused as well.
//
//	GET  /v1/state            the State as JSON
//	GET  /v1/output?from=N    chunks from byte N on, until the agent has ended:
//	                          stream (1 byte), length (4 bytes, big-endian), bytes
//	GET  /v1/events?from=N    events of the log from number N on and, between them,
//	                          LiveChanged, as lines of JSON, until the log ends
//	POST /v1/answer?id=N&answer=WORD
//	                          answer a request; yes=BOOL is short for answer=yes or no
//	GET  /v1/attend           the open requests as a line of JSON, and again whenever they
//	                          change; while a client reads this, the session asks the user
//	POST /v1/policy?allow=ENTRY&deny=ENTRY&reason=TEXT
//	                          add entries to the lists of the network policy, each field any
//	                          number of times, or in a body with the fields allow and deny as
//	                          JSON; the answer is the new lists as JSON
//	POST /v1/extend?by=DURATION
//	                          extend the session's time limit
//	POST /v1/stop?reason=TEXT&grace=DURATION
//	                          ask the agent to end, then end it
//	POST /v1/signal?number=N  send a signal to the agent's process group
//	GET  /v1/usage            measure what the sandbox uses; the answer is JSON
//	GET  /v1/ports            the ports on which programs in the sandbox listen, as JSON
//	POST /v1/open?port=N&local=N&address=IP
//	                          open a port of the sandbox on the host's loopback, and stream
//	                          its updates as lines of JSON; it closes with the client's connection
//	POST /v1/dial?port=N      upgrade to the bytes of a connection to a port of the sandbox
//	POST /v1/attach?rows=R&cols=C&colors=N
//	                          upgrade to frames with an interactive agent's terminal
//	GET  /v1/screen           the screen of that terminal, as text
//	POST /v1/files            upgrade to the protocol of package files, for one request
//	POST /v1/processes        start a process.Request; the answer is its process.Info, or an
//	                          upgrade to it and to frames of the process
//	GET  /v1/processes        list the processes
//	POST /v1/processes/ID/connect?from=N
//	                          upgrade to frames of a process, from frame N on
//	POST /v1/processes/ID/stdin?end=BOOL
//	                          the body is input of a process; end ends its input after it
//	POST /v1/processes/ID/signal?number=N
//	POST /v1/processes/ID/resize?rows=R&cols=C
//	POST /v1/processes/ID/attach?rows=R&cols=C&colors=N
//	                          as /v1/attach, for the terminal of a process
//	POST /v1/sandbox          change a sandbox; the body is JSON
//	POST /v1/sandbox/network?reason=TEXT
//	                          replace the lists of its network policy; the body is JSON
//	POST /v1/sandbox/claim    claim a warm sandbox; the body is JSON
//	POST /v1/sandbox/snapshot store the sandbox's state; the body is a snapshot.Request, and
//	                          the answer follows when it is stored
//	POST /v1/sandbox/pause
//	POST /v1/sandbox/resume

// Session is the running session that the control socket serves.
type Session interface {
	Snapshot() any // the State, to be encoded as JSON
	Follow(ctx context.Context, from int64, visit func(output.Chunk) error) error
	Events(ctx context.Context, from int, visit func(audit.Event) error) error
	Answer(request int, answer string) error
	// WatchRequests visits the open requests, for JSON, at each change until ctx ends. It ends
	// with the first error of visit.
	WatchRequests(ctx context.Context, visit func(requests any) error) error
	// ChangePolicy adds entries to the lists of the network policy, and returns the result,
	// for JSON.
	ChangePolicy(allow, deny []string, reason string) (any, error)
	Extend(by time.Duration) error
	// Stop ends the session. grace is how long the agent has to end by itself; 0 is the
	// default.
	Stop(reason string, grace time.Duration)
	Signal(number int) error
	Terminal() Terminal // nil if the session is not interactive
	// Usage measures what the sandbox uses, for JSON.
	Usage() (any, error)
	// Ports lists the ports on which programs in the sandbox listen.
	Ports(ctx context.Context) ([]ports.Listening, error)
	// OpenPort opens a port of the sandbox on the host. The caller must call updates, which
	// visits the port's updates until ctx or the session ends; then the port is closed.
	OpenPort(ctx context.Context, r ports.Request) (updates func(visit func(ports.Update) error) error, err error)
	// DialPort connects to a port of the sandbox. The caller must call join, which copies data
	// between the port and client until both streams or the session have ended, and closes
	// both. A nil client ends the connection at once. The error is ports.ErrNothingListens if
	// no program listens on the port.
	DialPort(ctx context.Context, port uint16) (join func(client relay.Conn), err error)
	Processes() Processes
	Files() Files
	Sandbox() Sandbox // nil if the session has an agent
}

// parseGrace parses the time that an agent has to end. Clients of older versions send none.
func parseGrace(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	grace, err := time.ParseDuration(text)
	if err == nil && grace < 0 {
		err = fmt.Errorf("%s is no time", text)
	}
	return grace, err
}

// Terminal is the terminal of an interactive session's agent.
type Terminal interface {
	// Serve shows the terminal on conn, a connection for attach frames, until either side
	// closes it.
	Serve(conn net.Conn, in FrameReader, size screen.Size, colors screen.Colors)
	// Text returns the screen.
	Text() []byte
}

// Listen opens the control socket of the session folder dir. It uses a path relative to a
// descriptor of the folder, since the path of a Unix socket is limited to 107 bytes.
func Listen(dir string) (net.Listener, error) {
	fd, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer fd.Close()
	listener, err := new(net.ListenConfig).Listen(context.Background(), "unix", controlPath(fd))
	if err != nil {
		return nil, err
	}
	// The path contains a descriptor that will be closed, so the listener cannot remove
	// the file.
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := os.Chmod(filepath.Join(dir, SocketFile), 0o600); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

func controlPath(dir *os.File) string {
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), SocketFile)
}

// Serve serves requests on listener until the returned server is shut down.
func Serve(listener net.Listener, c Session) *http.Server { return serve(listener, c, Heartbeat) }

// serve is Serve; check is how often it looks whether the client of an input or of files is gone.
func serve(listener net.Listener, c Session, check time.Duration) *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/state", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(c.Snapshot())
	})
	mux.HandleFunc("GET /v1/output", func(w http.ResponseWriter, r *http.Request) {
		from, err := strconv.ParseInt(r.FormValue("from"), 10, 64)
		if err != nil || from < 0 {
			http.Error(w, "from must be a byte offset", http.StatusBadRequest)
			return
		}
		timed := r.FormValue("times") == "true"
		w.Header().Set("Content-Type", "application/octet-stream")
		if timed {
			w.Header().Set("Content-Type", timedOutput)
		}
		w.WriteHeader(http.StatusOK)
		out := http.NewResponseController(w)
		_ = out.Flush()
		err = c.Follow(r.Context(), from, func(chunk output.Chunk) error {
			if err := writeChunk(w, chunk, timed); err != nil {
				return err
			}
			return out.Flush()
		})
		if err != nil {
			panic(http.ErrAbortHandler) // so that the client sees that the answer is incomplete
		}
	})
	mux.HandleFunc("GET /v1/events", serveEvents(c))
	mux.HandleFunc("POST /v1/answer", serveAnswer(c))
	mux.HandleFunc("GET "+requestsPath, serveWatchRequests(c))
	mux.HandleFunc("POST /v1/policy", servePolicy(c))
	mux.HandleFunc("POST /v1/extend", serveExtend(c))
	mux.HandleFunc("POST /v1/stop", func(w http.ResponseWriter, r *http.Request) {
		grace, err := parseGrace(r.FormValue("grace"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		c.Stop(r.FormValue("reason"), grace)
		w.WriteHeader(http.StatusAccepted)
	})
	mux.HandleFunc("POST /v1/signal", func(w http.ResponseWriter, r *http.Request) {
		number, err := strconv.Atoi(r.FormValue("number"))
		if err == nil {
			err = c.Signal(number)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	})
	mux.HandleFunc("POST /v1/attach", serveAttach(c))
	mux.HandleFunc("GET /v1/screen", serveScreen(c))
	mux.HandleFunc("GET /v1/usage", serveUsage(c))
	mux.HandleFunc("GET /v1/ports", servePorts(c))
	mux.HandleFunc("POST /v1/open", serveOpen(c))
	mux.HandleFunc("POST /v1/dial", serveDial(c))
	mux.HandleFunc("POST /v1/files", serveFiles(c, check))
	handleProcesses(mux, c.Processes(), check)
	handleSandbox(mux, c.Sandbox)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 16 << 10, ConnContext: withConn}
	go func() { _ = server.Serve(peer.OwnUser{Listener: listener}) }()
	return server
}

// timedOutput is the type of an answer whose chunks have times. Only newer clients ask for
// it.
const timedOutput = "application/octet-stream; chunks=timed"

// A chunk is preceded by its stream and its length, and with times by its time in
// nanoseconds.
const (
	chunkHeader      = 1 + 4
	timedChunkHeader = chunkHeader + 8
)

func writeChunk(w io.Writer, chunk output.Chunk, timed bool) error {
	header := append(make([]byte, 0, timedChunkHeader), byte(chunk.Stream))
	header = binary.BigEndian.AppendUint32(header, uint32(len(chunk.Data)))
	if timed {
		var nanoseconds int64 // 0 if the time is unknown
		if !chunk.Time.IsZero() {
			nanoseconds = chunk.Time.UnixNano()
		}
		header = binary.BigEndian.AppendUint64(header, uint64(nanoseconds)) //nolint:gosec // the same bits
	}
	if _, err := w.Write(header); err != nil {
		return err
	}
	_, err := w.Write(chunk.Data)
	return err
}
