package run

import (
	"context"
	"errors"

	"aibox/agents"
	"aibox/bakery"
	"aibox/runtime"
	"aibox/session"
)

// FindImage finds the image for a session: the one that the user named, or otherwise the
// agent's own, which bake may build first. It stores the reference in spec. If bake is nil,
// a missing image is an error; see IsMissingImage.
func FindImage(ctx context.Context, known agents.Set, images Images, spec *session.Spec, bake BakeFunc) (runtime.ImageID, error) {
	if spec.Image != "" {
		return images.NamedImage(ctx, spec.Image)
	}
	agent, err := known.Find(spec.Agent)
	if err != nil {
		return "", err
	}
	name := agent.Info().Image
	builder, err := images.Builder(ctx)
	if err != nil {
		return "", err
	}
	image, err := builder.Find(ctx, name)
	if IsMissingImage(err) && bake != nil {
		baked, failed := bake(ctx, builder, spec.Agent, name)
		if failed != nil {
			return "", failed
		}
		if baked {
			image, err = builder.Find(ctx, name)
		}
	}
	if err != nil {
		return "", images.DaemonFault(ctx, err)
	}
	if len(image.Refs) > 0 {
		spec.Image = image.Refs[0]
	}
	return runtime.ImageID(image.ID), nil
}

// IsMissingImage reports whether err says that an image has to be baked first.
func IsMissingImage(err error) bool { return errors.Is(err, bakery.ErrNoImage) }
