package app

import (
	"context"

	"aibox/app/doctor"
	"aibox/session"
	"aibox/session/manager"
)

// Machine checks this machine repeatedly, while the user fixes it.
type Machine struct {
	app      *App
	sessions *manager.Manager
	images   Images
	image    doctor.Image
}

// Machine returns the checks of this machine. image finds the image for the proof, and
// images builds it for Bake.
func (a *App) Machine(sessions *manager.Manager, images Images, image doctor.Image) Machine {
	return Machine{a, sessions, images, image}
}

// Checks returns the checks, with the current settings.
func (m Machine) Checks() []doctor.Check {
	m.app.ForgetUserSettings()
	return m.app.Doctor().Checks()
}

// Prove proves the isolation; see doctor.Doctor.Prove. A missing image is an error.
func (m Machine) Prove(ctx context.Context, step func(session.Step)) (*doctor.Proof, error) {
	return m.app.Doctor().Prove(ctx, m.sessions, m.image, step)
}

// Bake starts to build an image.
func (m Machine) Bake(image string) { m.images.Add(false, image) }
