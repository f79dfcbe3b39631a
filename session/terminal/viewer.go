package terminal

import (
	"bytes"
	"context"
	"net"
	"time"

	"aibox/internal/screen"
	"aibox/internal/wake"
	"aibox/session/control"
)

// viewer is one attached client.
type viewer struct {
	conn    net.Conn
	painter *screen.Painter
	size    screen.Size
	colors  screen.Colors
	shown   []byte // the last notice
	changed chan struct{}
	gone    chan struct{} // closed after the last frame was sent
}

// Serve shows the terminal on conn, a connection for attach frames, until either side
// closes it.
func (t *Terminal) Serve(conn net.Conn, in control.FrameReader, size screen.Size, colors screen.Colors) {
	size = size.Bound()
	v := &viewer{
		conn: conn, painter: screen.NewPainter(size, colors), size: size, colors: colors,
		changed: make(chan struct{}, 1), gone: make(chan struct{}),
	}
	defer conn.Close()
	if !t.join(v) {
		_ = control.WriteFrame(conn, control.FrameExit, t.finalText(colors))
		return
	}
	ctx, cancel := context.WithCancel(t.work)
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		t.listen(ctx, v, in)
		cancel()
	}()
	t.show(ctx, v)
	close(v.gone)
	t.leave(v)
	cancel()
	_ = conn.Close()
	<-reading
}

// show paints until the agent or the connection has ended.
func (t *Terminal) show(ctx context.Context, v *viewer) {
	beat := time.NewTicker(control.Heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			if t.work.Err() == nil {
				return // the connection has ended
			}
		case <-v.changed:
		case <-beat.C:
			if control.WriteFrame(v.conn, control.FrameAlive, nil) != nil {
				return
			}
			continue
		}
		if t.paint(ctx, v) != nil {
			return
		}
		if t.work.Err() != nil && t.over() {
			_ = control.WriteFrame(v.conn, control.FrameExit, t.finalText(v.colors))
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(frameTime):
		}
	}
}

// paint sends the changes.
func (t *Terminal) paint(ctx context.Context, v *viewer) error {
	t.mu.Lock()
	if t.screen.Held() && !t.ended {
		t.mu.Unlock()
		t.awaitWhole(ctx, v)
		t.mu.Lock()
	}
	out, full := v.painter.Paint(t.screen)
	notice := t.notices
	t.mu.Unlock()
	if !bytes.Equal(notice, v.shown) {
		v.shown = notice
		if err := control.WriteFrame(v.conn, control.FrameNotice, notice); err != nil {
			return err
		}
	}
	switch {
	case full:
		return control.WriteFrame(v.conn, control.FrameWhole, out)
	case len(out) > 0:
		return control.WriteFrame(v.conn, control.FramePaint, out)
	}
	return nil
}

// awaitWhole waits until the agent releases the screen that it holds back, or until
// heldTime has passed.
func (t *Terminal) awaitWhole(ctx context.Context, v *viewer) {
	late := time.NewTimer(heldTime)
	defer late.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-late.C:
			return
		case <-v.changed:
		}
		t.mu.Lock()
		held := t.screen.Held()
		t.mu.Unlock()
		if !held {
			return
		}
	}
}

func (t *Terminal) over() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended
}

// listen processes the frames of a viewer until the connection ends.
func (t *Terminal) listen(ctx context.Context, v *viewer, in control.FrameReader) {
	for {
		kind, payload, err := in.Next()
		if err != nil {
			return
		}
		switch kind {
		case control.FrameInput:
			t.mu.Lock()
			line := t.line
			t.called, t.lastInput = false, time.Now()
			t.mu.Unlock()
			if line != nil && line.Stdin(ctx, payload) != nil {
				return
			}
		case control.FrameResize:
			size, err := control.ParseSize(payload)
			if err != nil {
				return
			}
			t.mu.Lock()
			v.size = size
			v.painter.Resize(size)
			t.fit()
			t.mu.Unlock()
			wake.Waiter(v.changed)
		default:
			return
		}
	}
}
