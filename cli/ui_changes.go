package cli

import (
	"context"

	"aibox/review"
	"aibox/session"
)

// reviewScreen implements the services of the review screen.
type reviewScreen struct {
	*session.Sessions
	cli *cli
}

// VerifyRequest is how `aibox verify` would verify the work without a flag.
func (d reviewScreen) VerifyRequest(of session.Session) (session.VerifyRequest, error) {
	return d.cli.verifyRequest(of, verifyFlags{}, func(string) bool { return false })
}

// Edit is `aibox accept --edit`.
func (d reviewScreen) Edit(ctx context.Context, text string, part *review.ChangeSet) (string, error) {
	return d.cli.editMessage(ctx, text, part)
}
