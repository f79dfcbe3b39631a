package app

import (
	"context"

	"aibox/review"
	"aibox/session"
	"aibox/session/manager"
)

// Review has the use cases of a review: those of the sessions, the user's verification
// settings, and the user's editor.
type Review struct {
	*manager.Manager
	app  *App
	edit EditFunc
}

// EditFunc lets the user edit a commit message. part holds the changes that the message describes.
type EditFunc func(ctx context.Context, text string, part *review.ChangeSet) (string, error)

// Review returns the use cases of a review.
func (a *App) Review(sessions *manager.Manager, edit EditFunc) Review {
	return Review{sessions, a, edit}
}

// VerifyRequest returns the verification according to the user's settings; see
// App.VerifyRequest.
func (r Review) VerifyRequest(of session.Session) (manager.VerifyRequest, error) {
	return r.app.VerifyRequest(of, manager.VerifyRequest{})
}

// Edit lets the user edit a commit message.
func (r Review) Edit(ctx context.Context, text string, part *review.ChangeSet) (string, error) {
	return r.edit(ctx, text, part)
}
