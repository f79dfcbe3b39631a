package control

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"aibox/internal/fault"
	"aibox/internal/pipe"
	"aibox/internal/screen"
	"aibox/session/process"
)

// processProtocol is the protocol to which a connect request upgrades its connection. The
// supervisor sends encoded frames (see process.Frame), and an Alive frame at every
// heartbeat without other frames. The client sends numbers of frames (8 bytes, big-endian):
// it no longer needs the frames up to that number. A request to start a process can also
// ask for this protocol: then the process.Info comes first, as its length (4 bytes,
// big-endian) and JSON.
const processProtocol = "aibox-process/1"

// Processes are the processes in a session's sandbox besides the agent.
type Processes interface {
	// Start starts a process, and returns when it runs or could not be run.
	Start(ctx context.Context, request process.Request) (process.Info, error)
	// List returns all processes, with long commands cut off.
	List() []process.Info
	Info(id int) (process.Info, error)
	Read(id int, from uint64) (*process.Reader, error)
	// Input sends input until in ends, and then ends the process's input if end is set.
	Input(ctx context.Context, id int, in io.Reader, end bool) error
	// Done returns a channel that is closed when the process has ended.
	Done(id int) (<-chan struct{}, error)
	Resize(id int, size screen.Size) error
	Signal(id, number int) error
	Terminal(id int) (Terminal, error)
}

// handleProcesses adds the endpoints of processes. check is how often it looks whether the client
// of an input is gone.
func handleProcesses(mux *http.ServeMux, ps Processes, check time.Duration) {
	mux.HandleFunc("POST /v1/processes", func(w http.ResponseWriter, r *http.Request) {
		var request process.Request
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, process.MaxRequest)).Decode(&request); err != nil {
			writeResult(w, fault.New(fault.Usage, "the request for a process is no valid JSON: %w", err))
			return
		}
		info, err := ps.Start(r.Context(), request)
		if err == nil && r.Header.Get("Upgrade") == processProtocol {
			serveStarted(w, r, ps, info)
			return
		}
		writeJSON(w, info, err)
	})
	mux.HandleFunc("GET /v1/processes", func(w http.ResponseWriter, r *http.Request) {
		if !r.URL.Query().Has("id") {
			writeJSON(w, ps.List(), nil)
			return
		}
		only := []process.Info{}
		if id, err := strconv.Atoi(r.FormValue("id")); err == nil {
			if info, err := ps.Info(id); err == nil {
				only = append(only, info)
			}
		}
		writeJSON(w, only, nil)
	})
	handle := func(pattern string, serve func(w http.ResponseWriter, r *http.Request, id int)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			id, err := strconv.Atoi(r.PathValue("id"))
			if err != nil {
				writeResult(w, fault.New(fault.Usage, "the id of a process is a number"))
				return
			}
			serve(w, r, id)
		})
	}
	handle("POST /v1/processes/{id}/connect", func(w http.ResponseWriter, r *http.Request, id int) { serveConnect(w, r, ps, id) })
	handle("POST /v1/processes/{id}/attach", func(w http.ResponseWriter, r *http.Request, id int) {
		term, err := ps.Terminal(id)
		if err != nil {
			writeResult(w, err)
			return
		}
		serveTerminal(w, r, term)
	})
	handle("POST /v1/processes/{id}/stdin", func(w http.ResponseWriter, r *http.Request, id int) { serveInput(w, r, ps, id, check) })
	handle("POST /v1/processes/{id}/signal", func(w http.ResponseWriter, r *http.Request, id int) {
		number, err := strconv.Atoi(r.FormValue("number"))
		if err != nil {
			err = fault.New(fault.Usage, "number must be the number of a signal")
		} else {
			err = ps.Signal(id, number)
		}
		writeResult(w, err)
	})
	handle("POST /v1/processes/{id}/resize", func(w http.ResponseWriter, r *http.Request, id int) {
		rows, rowsErr := strconv.ParseUint(r.FormValue("rows"), 10, 16)
		cols, colsErr := strconv.ParseUint(r.FormValue("cols"), 10, 16)
		err := errors.Join(rowsErr, colsErr)
		if err != nil {
			err = fault.New(fault.Usage, "rows and cols must be numbers")
		} else {
			err = ps.Resize(id, screen.Size{Rows: int(rows), Cols: int(cols)})
		}
		writeResult(w, err)
	})
}

// writeJSON answers with value, or with err if it is not nil.
func writeJSON(w http.ResponseWriter, value any, err error) {
	if err != nil {
		writeResult(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}

// inputLinger is how long a client can read why its input was refused while it still sends.
const inputLinger = 2 * time.Second

// serveInput sends the body to a process as its input. If the process ends earlier, the
// rest of the body is still read for a while: a client whose connection is closed while it
// writes does not read the answer.
//
// The body is not read while the process does not take its input, and then the server does not see
// that the client is gone. So that is checked every now and then: otherwise each such input would
// stay in memory until the process ends.
func serveInput(w http.ResponseWriter, r *http.Request, ps Processes, id int, check time.Duration) {
	done, err := ps.Done(id)
	if err != nil {
		writeResult(w, err)
		return
	}
	controller := http.NewResponseController(w)
	_ = controller.EnableFullDuplex() // fails for HTTP/2, which does not need it
	passing := pipe.NewBuffered()
	drained, answered := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(drained)
		_, err := copyInput(passing, r.Body)
		passing.CloseWrite(err)
		_, _ = io.Copy(io.Discard, r.Body)
	}()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	go func() {
		select {
		case <-done:
		case <-answered:
		case <-untilGone(ctx, check):
			cancel()
		}
		passing.CloseRead(nil)
	}()
	err = ps.Input(ctx, id, passing, r.FormValue("end") == "true")
	close(answered)
	writeResult(w, err)
	_ = controller.Flush()
	_ = controller.SetReadDeadline(time.Now().Add(inputLinger))
	<-drained
	_ = controller.SetReadDeadline(time.Time{})
}

// serveConnect upgrades a request's connection to frames of a process.
func serveConnect(w http.ResponseWriter, r *http.Request, ps Processes, id int) {
	from, err := strconv.ParseUint(r.FormValue("from"), 10, 64)
	if err != nil || r.Header.Get("Upgrade") != processProtocol {
		writeResult(w, fault.New(fault.Usage, "connect takes from, the number of a frame, and an upgrade to %s", processProtocol))
		return
	}
	reader, err := ps.Read(id, from)
	if err != nil {
		writeResult(w, err)
		return
	}
	serveFrames(w, r, reader, nil)
}

// serveStarted handles a request that has started a process: it upgrades the connection to
// the frames of the process.
func serveStarted(w http.ResponseWriter, r *http.Request, ps Processes, info process.Info) {
	text, err := json.Marshal(info)
	if err != nil {
		writeResult(w, err)
		return
	}
	reader, err := ps.Read(info.ID, 1)
	if err != nil {
		writeResult(w, err)
		return
	}
	serveFrames(w, r, reader, append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...))
}

// serveFrames upgrades a request's connection to first, followed by frames of a process. It
// closes the reader.
func serveFrames(w http.ResponseWriter, r *http.Request, reader *process.Reader, first []byte) {
	defer reader.Close()
	conn, buffered, err := upgradeWith(w, processProtocol, first)
	if err != nil {
		return
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	go func() {
		defer cancel()
		var number [8]byte
		for {
			if _, err := io.ReadFull(buffered, number[:]); err != nil {
				return
			}
			reader.Take(binary.BigEndian.Uint64(number[:]))
		}
	}()
	if sendFrames(ctx, conn, reader) == nil {
		// The client closes the connection when it has read all.
		late := time.AfterFunc(Heartbeat, cancel)
		<-ctx.Done()
		late.Stop()
	}
}

// sendFrames sends frames up to the last one. Frames that are available are sent together.
func sendFrames(ctx context.Context, conn net.Conn, reader *process.Reader) error {
	for {
		beat, cancel := context.WithTimeout(ctx, Heartbeat)
		frames, err := reader.NextEncoded(beat)
		cancel()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
			frames = process.Frame{Kind: process.Alive}.Append(nil)
		case err != nil:
			return err
		}
		if _, err := conn.Write(frames); err != nil {
			return err
		}
	}
}

// upgrade answers with a switch of protocols, and returns the connection.
func upgrade(w http.ResponseWriter, protocol string) (net.Conn, io.Reader, error) {
	return upgradeWith(w, protocol, nil)
}

// upgradeWith is upgrade; first are the first bytes of the new protocol.
func upgradeWith(w http.ResponseWriter, protocol string, first []byte) (net.Conn, io.Reader, error) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return nil, nil, err
	}
	_ = conn.SetDeadline(time.Time{})
	answer := "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + protocol + "\r\n\r\n"
	if _, err := conn.Write(append([]byte(answer), first...)); err != nil {
		_ = conn.Close()
		return nil, nil, err
	}
	return conn, buffered, nil
}
