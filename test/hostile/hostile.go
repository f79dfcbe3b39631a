// Package hostile creates repositories that attack programs which read them, as an agent
// could leave them in a workspace. Each attack is created by code, and has a canary that
// shows whether it worked and a plain git command that triggers it. Trees are files that an
// agent could leave outside .git, with the expected findings of a review. The package is
// for tests only, and decides nothing about aibox.
package hostile

import "slices"

// Secret is what attacks of the kind Leaks try to get shown.
const Secret = "canary-content-from-outside-5d1c"

// Effect is how an attack shows that it worked.
type Effect int

// The effects.
const (
	Runs  Effect = iota // the file canary is there: a program of the agent's ran
	Leaks               // Secret is shown, which is in no file of the repository
	Hides               // what the agent changed in a.txt is not shown
)

// Attack is one way to abuse a repository.
type Attack struct {
	Name   string
	Effect Effect
	// Plant turns the repository at dir (with a .git folder, HEAD holding a.txt)
	// into a trap. What the trap needs outside, it puts beside canary.
	Plant func(dir, canary string) error
	// Provoke is the git command that falls for it.
	Provoke  []string
	In       string // below dir, where it is run; empty: dir
	Stdin    string // of the command
	Terminal bool   // the command runs on a terminal
	Since    string // the first version of git that falls for it; empty: 2.39 does
}

// Attacks is the corpus of threats 1 and 18: everything in a .git folder or beside
// it that makes git run, show or hide something.
func Attacks() []Attack {
	return slices.Concat(settings(), signatures(), drivers(), hooks(), places(), remotes(), nested(), leaks(), lies(), blinds())
}
