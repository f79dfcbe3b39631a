package session

import (
	"bytes"
	"context"
	"net"
	"time"

	"aibox/internal/screen"
)

// viewer is one person's terminal.
type viewer struct {
	conn    net.Conn
	painter *screen.Painter
	size    screen.Size
	colors  screen.Colors
	told    []byte // the last notice
	changed chan struct{}
	gone    chan struct{} // closed when nothing is sent any more
}

// serve shows the terminal on conn, a connection that speaks attach frames, until
// either side ends it.
func (t *terminal) serve(conn net.Conn, in frameReader, size screen.Size, colors screen.Colors) {
	size = size.Bound()
	v := &viewer{
		conn: conn, painter: screen.NewPainter(size, colors), size: size, colors: colors,
		changed: make(chan struct{}, 1), gone: make(chan struct{}),
	}
	defer conn.Close()
	if !t.join(v) {
		_ = writeFrame(conn, frameExit, t.left(colors))
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

// show paints until the agent has ended or the viewer has gone.
func (t *terminal) show(ctx context.Context, v *viewer) {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			if t.work.Err() == nil {
				return // the viewer has gone
			}
		case <-v.changed:
		case <-beat.C:
			if writeFrame(v.conn, frameAlive, nil) != nil {
				return
			}
			continue
		}
		if t.paint(ctx, v) != nil {
			return
		}
		if t.work.Err() != nil && t.over() {
			_ = writeFrame(v.conn, frameExit, t.left(v.colors))
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(frameTime):
		}
	}
}

// paint sends what has changed.
func (t *terminal) paint(ctx context.Context, v *viewer) error {
	t.mu.Lock()
	if t.screen.Held() && !t.ended {
		t.mu.Unlock()
		t.awaitWhole(ctx, v)
		t.mu.Lock()
	}
	out, full := v.painter.Paint(t.screen)
	notice := t.notices
	t.mu.Unlock()
	if !bytes.Equal(notice, v.told) {
		v.told = notice
		if err := writeFrame(v.conn, frameNotice, notice); err != nil {
			return err
		}
	}
	switch {
	case full:
		return writeFrame(v.conn, frameWhole, out)
	case len(out) > 0:
		return writeFrame(v.conn, framePaint, out)
	}
	return nil
}

// awaitWhole waits until the agent has finished the change that it holds back, or
// has had its time.
func (t *terminal) awaitWhole(ctx context.Context, v *viewer) {
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

func (t *terminal) over() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended
}

// listen takes what a viewer sends until it has gone.
func (t *terminal) listen(ctx context.Context, v *viewer, in frameReader) {
	for {
		kind, payload, err := in.next()
		if err != nil {
			return
		}
		switch kind {
		case frameInput:
			t.mu.Lock()
			line := t.line
			t.mu.Unlock()
			if line != nil && line.Stdin(ctx, payload) != nil {
				return
			}
		case frameResize:
			size, err := parseSize(payload)
			if err != nil {
				return
			}
			t.mu.Lock()
			v.size = size
			v.painter.Resize(size)
			t.fit()
			t.mu.Unlock()
			wake(v.changed)
		default:
			return
		}
	}
}
