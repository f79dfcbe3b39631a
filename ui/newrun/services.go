package newrun

import (
	"context"

	"aibox/app/run"
	"aibox/config"
	"aibox/internal/prompts"
	"aibox/session"
	"aibox/workspace"
)

// Places are what is known of repositories.
type Places interface {
	// Recent are the repositories to offer, paths and addresses, the one that a person
	// is in first and then the last used.
	Recent(ctx context.Context) ([]string, error)
	// Look is what is known of a repository at once.
	Look(ctx context.Context, repository string) (Place, error)
	// Branches are its branches, raw. An address is asked over the network.
	Branches(ctx context.Context, repository string) ([]string, error)
	// Folders are the folders that typed, a path that may begin with ~, can go on to;
	// there tells whether it is a folder itself.
	Folders(ctx context.Context, typed string) (on []Folder, there bool)
}

// Choices are what can be chosen.
type Choices interface {
	Agents(ctx context.Context) ([]Agent, error)
	// Images is the state of each agent's image by the agent's name: "fresh",
	// "outdated" or "missing".
	Images(ctx context.Context) (map[string]string, error)
	// Models are the names of the models of a model server; nil when it does not say.
	Models(ctx context.Context, inference string) []string
	// Again is what a session ran.
	Again(ctx context.Context, id session.ID) (run.Request, error)
}

// Runs are what becomes of a draft. options is a pointer to its agent's options as
// they were filled in, for the secrets among them, which no draft holds.
type Runs interface {
	// Files are the paths that the agent would get and those that are hidden, raw.
	Files(ctx context.Context, d run.Request) (visible, hidden []string, err error)
	// Check reads the draft as a command line. The error is that of `aibox run`.
	Check(ctx context.Context, d run.Request, options any) (Checked, error)
	// Start starts it and returns when its agent runs. When it fails, or ctx ends,
	// nothing is left but a baked image. With bake a missing image is baked first; else
	// it is an error, of which Started tells. Step hears of each stage, from one
	// goroutine.
	Start(ctx context.Context, d run.Request, options any, bake bool, step func(session.Step)) (Started, error)
	// Remember keeps what was chosen, for the next run of the repository.
	Remember(d run.Request) error
}

// Services are what the screen works with.
type Services struct {
	Places  Places
	Choices Choices
	Runs    Runs
	Servers []string // model servers that can be named by a word
}

// Place is a repository that can be worked on.
type Place struct {
	workspace.Place
	Settings *config.Resolved
	Last     *run.Request     // what was chosen for it last; nil when nothing was
	Prompts  []prompts.Prompt // the library, the repository's own among it
}

// Folder is one that a typed path can go on to.
type Folder struct {
	Path       string // as it is to be typed, raw
	Repository bool
}

// Agent is an agent to choose.
type Agent struct {
	Name, Title, Summary string
	NeedsPrompt          bool
	Shell                bool  // it runs a command instead of doing a task
	Unservable           error // why no box can serve it; nil when one can
	// Options is a pointer to its options at their defaults, with the secrets that the
	// environment has.
	Options any
	Flag    func(key string) bool // whether an option is a flag of `aibox run AGENT`
}

// Checked is what a draft asks for, once the settings have had their say.
type Checked struct {
	Told  string   // what a file in the repository has a part in, raw; empty for nothing
	Box   string   // how the agent is started in its box, raw, secrets as dots
	Hide  []string // the globs besides the built-in ones
	Stays bool     // something is to be done at its end, which a command has to wait for
}

// Started is what came of a start.
type Started struct {
	ID      session.ID // empty when it failed
	NoImage bool       // it failed, because the agent's image has to be baked first
	Said    []string   // the last lines of the step of a bake that failed, raw
}
