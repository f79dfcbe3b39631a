package cli

import (
	"context"
	"errors"
	"fmt"

	"aibox/bakery"
)

// offerToBake asks whether to build a missing image, and builds it.
func (c *console) offerToBake(ctx context.Context, builder *bakery.Bakery, agent, image string) (bool, error) {
	status := "has not been built yet"
	if _, err := builder.Find(ctx, image); errors.Is(err, bakery.ErrOutdated) {
		status = "is outdated"
	}
	bake, err := c.offer(ctx, fmt.Sprintf("The image of %s %s. Bake it now? It takes some minutes.", agent, status))
	if err != nil || !bake {
		return false, err
	}
	_, err = c.bakeWith(ctx, builder, []string{image})
	return err == nil, err
}
