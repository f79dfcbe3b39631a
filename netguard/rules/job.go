package rules

import (
	"context"
	"errors"
	"os"
)

// ServeJob is the other side of Client: it answers the one request that arrives
// on conn, a Unix socket (the job's standard input), by acting on the namespaces
// this process is in. The hidden command netguard-job calls it and nothing else.
func ServeJob(ctx context.Context, conn *os.File) error {
	return errors.New("netguard: not built yet")
}
