// Package template defines what sandboxes without an agent are made from: the image, and
// the user, folder, environment, settings and program that a sandbox of it starts with. It
// lists the built-in templates, one for each agent, and the user's own. It builds no image
// and starts nothing.
package template

import (
	"time"

	"aibox/config"
)

// Template defines a sandbox: its image and how it starts. It is immutable and safe for concurrent use.
type Template struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
	Source  Source `json:"source"`
	Image   Image  `json:"image"`
	// User is the user of the processes in a sandbox, a name or a number of the image, as
	// process.Request has it; empty is root.
	User    string   `json:"user,omitempty"`
	Workdir string   `json:"workdir"` // where they start; absolute
	Env     []string `json:"env,omitempty"`
	Start   *Start   `json:"start,omitempty"` // nil: a sandbox starts without a program
	// Defaults are the settings of a sandbox that its request does not give.
	Defaults config.RunOverrides `json:"defaults,omitzero"`
	File     string              `json:"file,omitempty"` // of a template of the user's own

	dockerfile string // the recipe of a template of the user's own
	below      string // the image that it builds on; empty is the base
}

// Source is where a template comes from. The zero value is invalid.
type Source string

// The sources of templates.
const (
	Builtin Source = "built-in"
	Agent   Source = "agent"
	Own     Source = "own" // a file of the user's
)

// Image names the image of a template. Exactly one of the fields is set.
type Image struct {
	Recipe    string `json:"recipe,omitempty"`    // of bakery, which bakes the image
	Reference string `json:"reference,omitempty"` // of an image that the container daemon has or can pull
}

// String returns the image's name for people.
func (i Image) String() string {
	if i.Recipe != "" {
		return i.Recipe
	}
	return i.Reference
}

// Start is the program that runs in every sandbox of a template from its start, as the
// template's user and in its folder.
type Start struct {
	Argv []string `json:"argv"`
	// Port is the TCP port on which the program listens when it is ready; 0 means that it is
	// ready as soon as it runs.
	Port uint16 `json:"port,omitempty"`
	// Timeout is how long a sandbox waits for the port before its creation fails.
	Timeout time.Duration `json:"timeout,omitempty"`
}

// DefaultStartTimeout is the Timeout of a start that gives none.
const DefaultStartTimeout = 30 * time.Second
