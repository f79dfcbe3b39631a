// Package doctor examines the machine that aibox runs on: checks that run concurrently,
// their findings, the steps to a first run, the setup that fixes failed requirements, and a
// test in a real sandbox of its network access. It prints nothing.
package doctor

import (
	"slices"
	"strings"

	"aibox/internal/lazyregexp"
)

// State is how well a requirement is met, as in JSON.
type State string

// The states. The zero value means not checked yet.
const (
	OK      State = "ok"
	Warning State = "warning" // aibox works with restrictions
	Missing State = "missing" // aibox does not work
)

// severity orders states.
func (s State) severity() int { return slices.Index([]State{OK, Warning, Missing}, s) }

// Part is the subject of a finding.
type Part int

// The parts.
const (
	Tools   Part = iota // programs, settings and disk space that aibox itself needs
	Machine             // the kernel and the account of the user
	Docker              // the daemon, its runtime and the network guard
	Images              // images of agents
	Model               // model servers
)

// Finding is the result of checking one requirement.
type Finding struct {
	Name   string `json:"name"`
	State  State  `json:"state"`
	Detail string `json:"detail"`
	Fix    string `json:"mend,omitempty"` // the command or step that fixes it, for the user
	Part   Part   `json:"-"`
	Image  string `json:"-"` // the image of the finding; "" means none
	// Replaces describes another program's installation that the setup would replace with
	// aibox's own to fix the finding; "" means none.
	Replaces string `json:"replaces,omitempty"`
	Agent    bool   `json:"-"` // Image belongs to an agent and is not the common base
}

// SetupCommand is the command that fixes what the setup can fix.
const SetupCommand = "aibox doctor --fix"

// FixedBySetup reports whether SetupCommand fixes it.
func (f Finding) FixedBySetup() bool { return f.State != OK && f.Fix == SetupCommand }

// FixedByBuild reports whether a build of f.Image fixes it.
func (f Finding) FixedByBuild() bool { return f.State != OK && f.Image != "" }

// ownCommand matches a Fix that is exactly one of aibox's own commands.
var ownCommand = lazyregexp.New(`^aibox( [A-Za-z0-9._-]+)+$`)

// Command returns the arguments of the aibox command that fixes it; false if the user has
// to do something else.
func (f Finding) Command() ([]string, bool) {
	if !ownCommand.MatchString(f.Fix) {
		return nil, false
	}
	return strings.Fields(f.Fix)[1:], true
}

// rootCommand matches a Fix that is exactly one command for root.
var rootCommand = lazyregexp.New(`^sudo( [A-Za-z0-9._=/-]+)+$`)

// RootCommand returns the command, with sudo, that fixes it; false if the user has to do
// something else. A restart of the machine is left to the user.
func (f Finding) RootCommand() ([]string, bool) {
	if !rootCommand.MatchString(f.Fix) || strings.Contains(f.Fix, "reboot") {
		return nil, false
	}
	return strings.Fields(f.Fix), true
}

// Count returns how many of the findings are in a state.
func Count(found []Finding, state State) int {
	n := 0
	for _, f := range found {
		if f.State == state {
			n++
		}
	}
	return n
}

// Fixed returns the names of the findings that are better after than before.
func Fixed(before, after []Finding) []string {
	var names []string
	for _, f := range after {
		i := slices.IndexFunc(before, func(old Finding) bool { return old.Name == f.Name })
		if i < 0 && f.State == OK || i >= 0 && f.State.severity() < before[i].State.severity() {
			names = append(names, f.Name)
		}
	}
	return names
}
