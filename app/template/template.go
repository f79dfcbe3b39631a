// Package template defines the templates of sandboxes without an agent: the image, and the
// user, folder, environment, settings and program with which a sandbox starts. It lists the
// built-in templates, one for each agent, and the user's own. It builds no image and starts
// nothing.
package template

import (
	"time"

	"aibox/config"
)

// Template defines a sandbox: its image and its start. It is immutable and safe for
// concurrent use.
type Template struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
	Source  Source `json:"source"`
	Image   Image  `json:"image"`
	// User is the user of the processes in a sandbox, a name or a number in the image, in the
	// format of process.Request; empty means root.
	User    string   `json:"user,omitempty"`
	Workdir string   `json:"workdir"` // working folder of processes; absolute
	Env     []string `json:"env,omitempty"`
	Start   *Start   `json:"start,omitempty"` // nil if a sandbox starts without a program
	// Defaults are the settings of a sandbox that are not in its request.
	Defaults config.RunOverrides `json:"defaults,omitzero"`
	File     string              `json:"file,omitempty"` // file of a user's own template

	dockerfile string // recipe of a user's own template
	below      string // image on which it builds; empty means the base
}

// Source is the origin of a template. The zero value is invalid.
type Source string

// The sources of templates.
const (
	Builtin Source = "built-in"
	Agent   Source = "agent"
	Own     Source = "own" // a file of the user
)

// Image names the image of a template. Exactly one of the fields is set.
type Image struct {
	Recipe    string `json:"recipe,omitempty"`    // a recipe of bakery, which builds the image
	Reference string `json:"reference,omitempty"` // reference of an image that the container daemon has or can pull
}

// String returns the image's name for display.
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

// DefaultStartTimeout is the Timeout of a start without one.
const DefaultStartTimeout = 30 * time.Second
