package form

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"aibox/agents"
	"aibox/agents/spec"
	"aibox/internal/golden"
)

// Run this package's tests with -update when an agent's options change.
func TestTheFormOfEveryAgentLooksAsItDid(t *testing.T) {
	for _, agent := range agents.Builtin().All() {
		info, options := agent.Info(), agents.Options(agent)
		var views strings.Builder
		for _, size := range [][2]int{{80, 24}, {120, 40}, {60, 15}} {
			u := newUser(t, Request{Options: options}, size[0], size[1])
			fmt.Fprintf(&views, "== %d×%d\n%s\n", size[0], size[1], trimmed(u.screen()))
			for range u.part.f.rows { // each field fits, whatever its help says
				for _, keys := range [][]string{{"enter"}, {"esc", "down"}} {
					if lines := u.lines(); len(lines) != size[1] {
						t.Errorf("%s: %d lines at %v:\n%s", info.Name, len(lines), size, u.screen())
					}
					u.press(keys...)
				}
			}
			u.leave()
		}
		golden.Check(t, "agent-"+info.Name+".golden", views.String())
	}
}

// trimmed is a screen without spaces at the ends of lines.
func trimmed(screen string) string {
	lines := strings.Split(screen, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n")
}

func TestAnsweringAnyOptionOfAnyAgentLeavesTheOptionsUnchanged(t *testing.T) {
	for _, agent := range agents.Builtin().All() {
		options := agents.Options(agent)
		before := spec.Clone(options)
		for at := range newUser(t, Request{Options: options}, 80, 24).part.f.rows {
			u := newUser(t, Request{Options: options}, 80, 24)
			u.part.f.move(at)
			u.press("'y1", "space", "down", "'x", "right")
			u.press([]string{"esc", "ctrl+c"}[at%2])
			if u.outcome != Stay || !reflect.DeepEqual(options, before) {
				t.Fatalf("%s, option %d: outcome %d, %+v", agent.Info().Name, at, u.outcome, options)
			}
		}
	}
}
