package templates

import (
	"cmp"
	"context"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/eventstream"
	"aibox/app/template"
)

// build builds the image of a template and sends its log, with keep-alive events while a step prints
// nothing. If an event cannot be sent, it ends the build.
func (h *Handler) build(ctx context.Context, t template.Template, send func(*aiboxv1.CreateTemplateEvent) error) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	building := func() *aiboxv1.CreateTemplateEvent { return &aiboxv1.CreateTemplateEvent{} }
	sending := eventstream.NewSender(send, building, cancel, cmp.Or(h.Alive, eventstream.Alive))
	defer func() { err = cmp.Or(sending.End(), err) }() // after a panic, too
	return h.Build(ctx, t, func(line string) {
		if sending.Send(&aiboxv1.CreateTemplateEvent{Event: &aiboxv1.CreateTemplateEvent_Log{Log: line}}) != nil {
			cancel()
		}
	})
}
