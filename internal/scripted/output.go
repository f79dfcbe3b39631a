package scripted

import (
	"context"
	"net/http"
	"time"
)

// output writes an answer, whole or in pieces, at the pace of the step.
type output struct {
	ctx  context.Context
	w    http.ResponseWriter
	slow *Slow
}

func newOutput(ctx context.Context, w http.ResponseWriter, slow *Slow) *output {
	return &output{ctx: ctx, w: w, slow: slow}
}

// piece is the number of runes in one event of an answer that is not slow.
const piece = 48

// pieces cuts text into the pieces of a stream. Empty text has none.
func (o *output) pieces(text string) []string {
	size := piece
	if o.slow != nil {
		size = o.slow.Chunk
	}
	var all []string
	for runes := []rune(text); len(runes) > 0; {
		n := min(size, len(runes))
		all = append(all, string(runes[:n]))
		runes = runes[n:]
	}
	return all
}

// each calls send with every piece of text, after the pause of a slow step. It stops
// when the client is gone.
func (o *output) each(text string, send func(piece string)) {
	for _, part := range o.pieces(text) {
		if !o.pause() {
			return
		}
		send(part)
	}
}

// pause waits for the step's delay and reports whether the client is still connected.
func (o *output) pause() bool {
	if o.slow == nil {
		return o.ctx.Err() == nil
	}
	timer := time.NewTimer(o.slow.Delay)
	defer timer.Stop()
	select {
	case <-o.ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// whole writes an answer in one piece, at the time at which a stream would end.
func (o *output) whole(turn Turn, body any) {
	if o.slow != nil {
		o.each(turn.Text, func(string) {})
	}
	reply(o.w, http.StatusOK, body)
}

// begin sends the head of a stream at once, so that the client does not time out.
func (o *output) begin(contentType string) {
	o.w.Header().Set("Content-Type", contentType)
	o.w.Header().Set("Cache-Control", "no-cache")
	o.w.WriteHeader(http.StatusOK)
	o.flush()
}

// event sends one server-sent event. Without a name it has no event line.
func (o *output) event(name string, data any) {
	var text []byte
	if name != "" {
		text = append(text, "event: "+name+"\n"...)
	}
	o.raw(string(text) + "data: " + string(encode(data)) + "\n\n")
}

// raw sends text at once. It ignores errors: the context ends when the client is gone.
func (o *output) raw(text string) {
	_, _ = o.w.Write([]byte(text))
	o.flush()
}

func (o *output) flush() { _ = http.NewResponseController(o.w).Flush() }
