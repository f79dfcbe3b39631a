package compose

import (
	"context"
	"strings"
	"time"

	"aibox/bakery"
	"aibox/session"
)

// bakeStage reports an image build as one stage of a start. The detail of the stage is the
// current step of the build.
type bakeStage struct {
	step func(session.Step)
	tail []string // last lines of the failed step
}

// bake is run.Callbacks.Bake.
func (b *bakeStage) bake(ctx context.Context, builder *bakery.Bakery, agent, image string) (bool, error) {
	begun := time.Now()
	if _, err := builder.Bake(ctx, []string{image}, b); err != nil {
		return false, err
	}
	b.step(session.Step{Name: "image", Done: true, Detail: "of " + agent + ", baked", Took: time.Since(begun)})
	return true, nil
}

// Handle handles an event of the build.
func (b *bakeStage) Handle(e bakery.Event) {
	switch e.Kind {
	case bakery.StepStarted, bakery.ImageStarted:
		b.step(session.Step{Name: "image", Detail: strings.TrimSpace(e.Image + " " + e.Text)})
	case bakery.StepFailed:
		b.tail = e.Tail
	}
}
