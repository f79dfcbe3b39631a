package newrun

import (
	"context"

	"aibox/app/run"
	"aibox/config"
	"aibox/internal/prompts"
	"aibox/session"
	"aibox/workspace"
)

// Places are the repositories.
type Places interface {
	// Recent returns the repositories to offer, paths and URLs: the current one first, then
	// the last used.
	Recent(ctx context.Context) ([]string, error)
	// Look returns what is known of a repository at once.
	Look(ctx context.Context, repository string) (Place, error)
	// Branches returns its branches, raw. Those of a URL come over the network.
	Branches(ctx context.Context, repository string) ([]string, error)
	// Folders returns the folders whose paths begin with typed, a path that may begin with
	// ~. exists reports whether typed is a folder itself.
	Folders(ctx context.Context, typed string) (folders []Folder, exists bool)
}

// Choices are the values to choose from.
type Choices interface {
	Agents(ctx context.Context) ([]Agent, error)
	// Images returns the state of each agent's image by the agent's name: "fresh",
	// "outdated" or "missing".
	Images(ctx context.Context) (map[string]string, error)
	// Models returns the models of a model server; nil if it does not list them.
	Models(ctx context.Context, inference string) []string
	// Again returns the request that repeats a session.
	Again(ctx context.Context, id session.ID) (run.Request, error)
}

// Runs checks and starts requests.
type Runs interface {
	// Files returns the paths that the agent would get and those that are hidden, raw.
	Files(ctx context.Context, r run.Request) (visible, hidden []string, err error)
	// Check checks a request without changing anything. The error is that of `aibox run`.
	Check(ctx context.Context, r run.Request) (Checked, error)
	// Start starts a request and returns when its agent runs. When it fails, or ctx ends,
	// nothing is left but a baked image. With bake a missing image is baked first; without,
	// it is an error and Started reports it. step is called for each stage, from one
	// goroutine.
	Start(ctx context.Context, r run.Request, bake bool, step func(session.Step)) (Started, error)
	// Remember keeps the choices for the next run of the repository.
	Remember(r run.Request) error
}

// Services are what the screen works with.
type Services struct {
	Places  Places
	Choices Choices
	Runs    Runs
	Servers []string // the names of model servers
}

// Place is a repository.
type Place struct {
	workspace.Place
	Settings *config.Resolved
	Last     *run.Request     // the last choices for it; nil for none
	Prompts  []prompts.Prompt // the library, including the repository's own
	// Resumed is what the session ran that the request resumes; nil for a new run. Its
	// settings are among Settings.
	Resumed *run.Request
}

// Folder is a folder whose path begins with what was typed.
type Folder struct {
	Path       string // in the form that was typed, raw
	Repository bool
}

// Agent is an agent to choose.
type Agent struct {
	Name, Title, Summary string
	NeedsPrompt          bool
	Shell                bool  // it runs a command instead of a task
	Unservable           error // why no sandbox can serve it; nil if one can
	// Options is a pointer to its options: the defaults, and the secrets of the
	// environment.
	Options any
	Flag    func(key string) bool // whether an option is a flag of `aibox run AGENT`
}

// Checked is the result of a check.
type Checked struct {
	RepositorySettings string   // the settings that a file in the repository changes, raw
	Command            string   // how the agent is started in its sandbox, raw, secrets as dots
	Hide               []string // the globs besides the built-in ones
	Delivers           bool     // the run delivers at its end, so it has to be followed until then
}

// Started is the result of a start.
type Started struct {
	ID           session.ID // empty if it failed
	MissingImage bool       // it failed because the agent's image has to be baked first
	Output       []string   // the last lines of a bake step that failed, raw
}
