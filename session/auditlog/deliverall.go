package auditlog

import (
	"context"
	"errors"
	"slices"
	"time"

	"aibox/session"
)

// DeliverAll delivers events that no process delivers, such as those of a session whose
// supervisor was killed. It takes a short time; the next repair continues. The error is the
// first failure of the command.
func DeliverAll(ctx context.Context, store session.Store, command func() Command) error {
	logs, err := logsOf(store)
	if err != nil {
		return err
	}
	// This is faster than reading the settings, which commands that deliver nothing do not
	// need.
	logs = slices.DeleteFunc(logs, func(log Log) bool { return !log.awaitsDelivery() })
	if len(logs) == 0 {
		return nil
	}
	to := command()
	if !to.IsSet() {
		return nil
	}
	until := time.Now().Add(deliveryTime)
	for _, log := range logs {
		if time.Now().Before(until) {
			err = errors.Join(err, log.deliver(ctx, to, until))
		}
	}
	return err
}
