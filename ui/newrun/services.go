package newrun

import (
	"context"

	"aibox/app/compose"
	"aibox/app/run"
	"aibox/internal/prompts"
	"aibox/session"
)

// Places are the repositories.
type Places interface {
	// Recent returns the repositories to offer, paths and URLs: the current one first, then
	// the last used.
	Recent(ctx context.Context) ([]string, error)
	// Look returns at once the known facts about a repository.
	Look(ctx context.Context, repository string) (compose.Place, error)
	// Prompts returns the library of prompts for the repository at top.
	Prompts(ctx context.Context, top string) ([]prompts.Prompt, error)
	// Branches returns its branches, raw. Those of a URL come over the network.
	Branches(ctx context.Context, repository string) ([]string, error)
	// Folders returns the folders whose paths begin with typed, a path that may begin with
	// ~. exists reports whether typed is a folder itself.
	Folders(ctx context.Context, typed string) (folders []compose.Folder, exists bool)
}

// Choices are the values to choose from.
type Choices interface {
	Agents(ctx context.Context) ([]compose.Agent, error)
	// Images returns the state of each agent's image by the agent's name: "fresh",
	// "outdated" or "missing".
	Images(ctx context.Context) (map[string]string, error)
	// Models returns the models of a model server; nil if it does not list them.
	Models(ctx context.Context, inference string) []string
	// AcceptCloud writes to the user's settings that an agent may talk to its vendor's
	// servers.
	AcceptCloud(ctx context.Context, cloud run.UnacceptedCloud) error
	// Again returns the request that repeats a session.
	Again(ctx context.Context, id session.ID) (run.Request, error)
}

// Runs checks and starts requests.
type Runs interface {
	// Files returns the paths that the agent would get and those that are hidden, raw.
	Files(ctx context.Context, r run.Request) (visible, hidden []string, err error)
	// Check checks a request without changing anything. The error is that of `aibox run`.
	Check(ctx context.Context, r run.Request) (compose.Checked, error)
	// CheckModel asks the model server, and reports why a start would find no model. It ignores
	// other errors in the request.
	CheckModel(ctx context.Context, r run.Request) error
	// Start starts a request and returns when its agent runs. If it fails or ctx ends, only a baked
	// image remains. With bake, a missing image is baked first. Without bake, a missing image is an
	// error, which Started reports. step is called for each stage, from one goroutine.
	Start(ctx context.Context, r run.Request, bake bool, step func(session.Step)) (compose.Started, error)
	// Remember keeps the choices for the next run of the repository.
	Remember(r run.Request) error
}

// Services are the use cases of the screen.
type Services struct {
	Places  Places
	Choices Choices
	Runs    Runs
	Servers []string // the names of model servers
}
