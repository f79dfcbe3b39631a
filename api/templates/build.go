package templates

import (
	"cmp"
	"context"
	"time"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/app/template"
)

// defaultAlive is the time between keep-alive events.
const defaultAlive = 15 * time.Second

// build builds the image of a template and sends its log, with keep-alive events while a step prints
// nothing. If an event cannot be sent, it ends the build.
func (h *Handler) build(ctx context.Context, t template.Template, send func(*aiboxv1.CreateTemplateEvent) error) error {
	ctx, cancel := context.WithCancel(ctx)
	lines, built := make(chan string), make(chan error, 1)
	go func() {
		defer close(lines)
		built <- h.Build(ctx, t, func(line string) {
			select {
			case lines <- line:
			case <-ctx.Done():
			}
		})
	}()
	defer func() {
		cancel()
		for range lines { // until the build has ended
		}
	}()
	alive := cmp.Or(h.Alive, defaultAlive)
	tick := time.NewTicker(alive)
	defer tick.Stop()
	for {
		event := &aiboxv1.CreateTemplateEvent{}
		select {
		case line, more := <-lines:
			if !more {
				return <-built
			}
			event.Event = &aiboxv1.CreateTemplateEvent_Log{Log: line}
			tick.Reset(alive)
		case <-tick.C:
		}
		if err := send(event); err != nil {
			return err
		}
	}
}
