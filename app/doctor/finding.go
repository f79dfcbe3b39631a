// Package health holds what is known of the machine that aibox runs on: findings, the
// checks that make them side by side, what a proof in a real box brought, and how far
// a new user has come. It looks at nothing itself and mends nothing.
package health

import (
	"regexp"
	"slices"
	"strings"
)

// State is how a requirement is met, as it stands in JSON.
type State string

// The states. The zero value is of something nobody has looked at.
const (
	OK      State = "ok"
	Warning State = "warning" // aibox works with less
	Missing State = "missing" // aibox does not work
)

// badness sorts states.
func (s State) badness() int { return slices.Index([]State{OK, Warning, Missing}, s) }

// Part is what a finding is about.
type Part int

// The parts.
const (
	Tools   Part = iota // programs, settings and room that aibox itself needs
	Machine             // the kernel and the account of the user
	Docker              // the daemon, its runtime and the network guard
	Images              // what agents run in
	Model               // what agents talk to
)

// Finding is what is known of one requirement.
type Finding struct {
	Name   string `json:"name"`
	State  State  `json:"state"`
	Detail string `json:"detail"`
	Mend   string `json:"mend,omitempty"` // the command or step that mends it, for people
	Part   Part   `json:"-"`
	Image  string `json:"-"` // the image it is about; "" is none
	// Replaces is what is there now and not aibox's, where the set-up mends the finding by
	// putting aibox's own in its place; "" is nothing.
	Replaces string `json:"replaces,omitempty"`
	Agent    bool   `json:"-"` // Image is an agent's, and not the base below those
}

// SetUp is the command that mends what the set-up can mend.
const SetUp = "aibox doctor --fix"

// BySetUp reports whether SetUp mends it.
func (f Finding) BySetUp() bool { return f.State != OK && f.Mend == SetUp }

// ByBake reports whether baking f.Image mends it.
func (f Finding) ByBake() bool { return f.State != OK && f.Image != "" }

// ownCommand finds a Mend that is one of aibox's own commands and nothing else.
var ownCommand = regexp.MustCompile(`^aibox( [A-Za-z0-9._-]+)+$`)

// Command is the arguments of the command of aibox's own that mends it; false where
// Mend is something else for a person to do.
func (f Finding) Command() ([]string, bool) {
	if !ownCommand.MatchString(f.Mend) {
		return nil, false
	}
	return strings.Fields(f.Mend)[1:], true
}

// Count is how many of the findings are in a state.
func Count(found []Finding, state State) int {
	n := 0
	for _, f := range found {
		if f.State == state {
			n++
		}
	}
	return n
}

// Mended names what is better after than before.
func Mended(before, after []Finding) []string {
	var names []string
	for _, f := range after {
		i := slices.IndexFunc(before, func(old Finding) bool { return old.Name == f.Name })
		if i < 0 && f.State == OK || i >= 0 && f.State.badness() < before[i].State.badness() {
			names = append(names, f.Name)
		}
	}
	return names
}
