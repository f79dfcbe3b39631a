package cli

import (
	"context"
	"errors"
	"fmt"

	"aibox/bakery"
)

// offerToBake bakes a missing image where a person is there to say yes.
func (c *console) offerToBake(ctx context.Context, builder *bakery.Bakery, agent, image string) (bool, error) {
	stands := "is not there yet"
	if _, err := builder.Find(ctx, image); errors.Is(err, bakery.ErrOutdated) {
		stands = "is outdated"
	}
	if !c.offer(fmt.Sprintf("The image of %s %s. Bake it now? It takes some minutes.", agent, stands)) {
		return false, nil
	}
	_, err := c.bakeWith(ctx, builder, []string{image})
	return err == nil, err
}
