package server

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/auth"
	"aibox/api/budget"
	"aibox/internal/fault"
	"aibox/session"
)

// addProcessSocket adds the WebSocket of a process: its events to the client, and
// ProcessCommands from it. The query from_seq is the number of the first event, and
// format=proto sends Protobuf in place of JSON.
func (s *Server) addProcessSocket() {
	s.Handle(Route{
		Pattern: "GET /v1/sandboxes/{sandbox_id}/processes/{process_id}/ws", Right: aiboxv1.Right_RIGHT_EXECUTE,
		Handler: &processSocket{s.processes(), s.options.Limits.Stall, s.record, s.messages},
	})
}

type processSocket struct {
	*processes
	stall  time.Duration
	record func(context.Context, Call)
	// messages has what was read of the client's commands.
	messages *budget.Budget
}

func (p *processSocket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	number, err := strconv.ParseInt(r.PathValue("process_id"), 10, 32)
	if err != nil {
		WriteError(w, r, fault.New(fault.NotFound, "%q is not a process", r.PathValue("process_id")))
		return
	}
	from, binary, err := socketOptions(r)
	if err != nil {
		WriteError(w, r, err)
		return
	}
	id, info, err := p.find(r.Context(), r.PathValue("sandbox_id"), int32(number))
	if err == nil {
		err = checkSeq(&info, from)
	}
	if err != nil {
		WriteError(w, r, err)
		return
	}
	// The server has checked the origin.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return // Accept has sent the error
	}
	defer conn.CloseNow() //nolint:errcheck // it is closed, or the client has gone
	begin := time.Now()
	conn.SetReadLimit(2 * maxInput)
	following, stop := context.WithCancel(r.Context())
	// The end of the connection does not end the context of the request.
	obeying, disobey := context.WithCancel(r.Context())
	// Nor does the end of that end the connection at once: the client gets the reason first.
	reading, unread := context.WithCancel(context.WithoutCancel(r.Context()))
	defer unread()
	defer context.AfterFunc(r.Context(), func() { time.AfterFunc(closeTime, unread) })() // it may not read
	defer disobey()
	commands := make(chan error, 1)
	go func() {
		defer stop()
		commands <- p.obey(obeying, reading, conn, id, int(number), r.PathValue("sandbox_id"))
	}()
	err = p.follow(following, id, &info, uint64(from), func(event *aiboxv1.ProcessEvent) error {
		// Not with a context that ends with the call: its end would cut the connection, and the client
		// would not get the reason.
		return p.send(reading, conn, event, binary)
	})
	if cause := context.Cause(r.Context()); cause != nil {
		err = cause // the server has ended the call
	} else if following.Err() != nil {
		err = <-commands // why the client's commands have ended
		commands <- nil
	}
	caller := auth.From(r.Context())
	p.record(r.Context(), Call{Tenant: caller.Tenant, Token: caller.Token, Method: "aibox.v1.Processes/Connect", Subject: r.PathValue("sandbox_id"), Took: time.Since(begin), Err: err})
	closeSocket(r.Context(), conn, err)
	_ = conn.CloseNow()
	disobey() // the process may not read an input
	unread()
	<-commands //nolint:errcheck // the connection has ended
	stop()
}

// socketOptions returns the number of the first event, and whether events are sent as
// Protobuf.
func socketOptions(r *http.Request) (from int64, binary bool, err error) {
	if err := CheckQuery(r, "from_seq", "format"); err != nil {
		return 0, false, err
	}
	query := r.URL.Query()
	if text := query.Get("from_seq"); text != "" {
		if from, err = strconv.ParseInt(text, 10, 64); err != nil {
			return 0, false, fault.New(fault.Usage, "from_seq is a number, not %q", text)
		}
	}
	switch format := query.Get("format"); format {
	case "", "json":
		return from, false, nil
	case "proto":
		return from, true, nil
	default:
		return 0, false, fault.New(fault.Usage, "format is json or proto, not %q", format)
	}
}

// send sends an event.
func (p *processSocket) send(ctx context.Context, conn *websocket.Conn, event *aiboxv1.ProcessEvent, binary bool) error {
	kind, encode := websocket.MessageText, protojson.Marshal
	if binary {
		kind, encode = websocket.MessageBinary, proto.Marshal
	}
	data, err := encode(event)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, p.stall)
	defer cancel()
	return conn.Write(ctx, kind, data)
}

// obey carries out the client's commands, until it closes the connection or ctx ends. It records them
// as calls of the methods that they replace, about subject. The end of reading ends the connection.
func (p *processSocket) obey(ctx, reading context.Context, conn *websocket.Conn, id session.ID, number int, subject string) error {
	recorded := map[string]bool{}
	message := socketMessage{counted: p.messages.Call(auth.From(ctx).Tenant)}
	defer message.counted.Release()
	for {
		kind, data, err := message.read(reading, conn)
		if full := message.full; full != nil {
			return full
		}
		if err != nil || ctx.Err() != nil {
			return nil // the connection or the call has ended, and the other with it
		}
		var command aiboxv1.ProcessCommand
		decode := protojson.Unmarshal
		if kind == websocket.MessageBinary {
			decode = proto.Unmarshal
		}
		if err := decode(data, &command); err != nil {
			return fault.New(fault.Usage, "a message is not a ProcessCommand: %w", err)
		}
		if err := checkKnown(&command); err != nil {
			return err
		}
		begin, method := time.Now(), methodOf(&command)
		err = p.do(ctx, id, number, &command)
		// Input and sizes come in many messages, and the first of a connection is recorded.
		if err != nil || !recorded[method] || command.GetSignal() != 0 {
			recorded[method] = true
			caller := auth.From(ctx)
			p.record(ctx, Call{Tenant: caller.Tenant, Token: caller.Token, Method: method, Subject: subject, Took: time.Since(begin), Err: err, Acted: true})
		}
		if err != nil {
			return err
		}
	}
}

// socketMessage is the message of a connection that was read last. Its bytes count among the messages
// of its tenant until the next one is wanted, also while its rest does not come.
type socketMessage struct {
	counted *budget.Call
	full    error // why they do not fit

	in io.Reader
}

// read reads the next message.
func (m *socketMessage) read(ctx context.Context, conn *websocket.Conn) (kind websocket.MessageType, data []byte, err error) {
	m.counted.Release()
	if kind, m.in, err = conn.Reader(ctx); err != nil {
		return kind, nil, err
	}
	data, err = io.ReadAll(m)
	return kind, data, err
}

// Read implements io.Reader.
func (m *socketMessage) Read(p []byte) (int, error) {
	n, err := m.in.Read(p)
	if m.full = m.counted.Reserve(int64(n)); m.full != nil {
		return 0, m.full
	}
	return n, err
}

// methodOf returns the method that does the same as a command.
func methodOf(command *aiboxv1.ProcessCommand) string {
	name := "Connect" // for a message without a command
	switch command.GetCommand().(type) {
	case *aiboxv1.ProcessCommand_Input:
		name = "SendInput"
	case *aiboxv1.ProcessCommand_CloseInput:
		name = "CloseInput"
	case *aiboxv1.ProcessCommand_Resize:
		name = "Resize"
	case *aiboxv1.ProcessCommand_Signal:
		name = "Signal"
	}
	return "aibox.v1.Processes/" + name
}

func (p *processSocket) do(ctx context.Context, id session.ID, number int, command *aiboxv1.ProcessCommand) error {
	switch c := command.GetCommand().(type) {
	case *aiboxv1.ProcessCommand_Input:
		if err := checkInput(c.Input); err != nil {
			return err
		}
		return p.cases.ProcessInput(ctx, id, number, bytes.NewReader(c.Input), false)
	case *aiboxv1.ProcessCommand_CloseInput:
		return p.cases.ProcessInput(ctx, id, number, bytes.NewReader(nil), true)
	case *aiboxv1.ProcessCommand_Resize:
		size, err := fromSize(c.Resize)
		if err != nil {
			return err
		}
		return p.cases.ResizeProcess(ctx, id, number, size)
	case *aiboxv1.ProcessCommand_Signal:
		if err := checkSignal(c.Signal); err != nil {
			return err
		}
		return p.cases.SignalProcess(ctx, id, number, int(c.Signal))
	default:
		return fault.New(fault.Usage, "a message has no command")
	}
}

// maxReason is the maximum length of the reason of a close frame, in bytes.
const maxReason = 120

// closeSocket closes a connection with the kind of the error and its sentence.
func closeSocket(ctx context.Context, conn *websocket.Conn, err error) {
	if err == nil {
		_ = conn.Close(websocket.StatusNormalClosure, "")
		return
	}
	shown, found := toError(ctx, err)
	reason := found.kind + ": " + shown.GetMessage()
	if len(reason) > maxReason {
		reason = reason[:maxReason]
	}
	status := websocket.StatusPolicyViolation
	if found == failInternal {
		status = websocket.StatusInternalError
	}
	_ = conn.Close(status, utf8(reason))
}
