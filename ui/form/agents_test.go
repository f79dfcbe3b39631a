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
			p := newPerson(t, Request{Title: "Run " + info.Title, Action: "Run", Options: options, Preview: told}, size[0], size[1])
			fmt.Fprintf(&views, "== %d×%d\n%s\n", size[0], size[1], trimmed(p.screen()))
			for range p.m.fields { // each question fits, whatever its help says
				if lines := strings.Split(p.screen(), "\n"); len(lines) != size[1] {
					t.Errorf("%s: %d lines at %v:\n%s", info.Name, len(lines), size, p.screen())
				}
				p.press("tab")
			}
			p.sees("review")
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

func TestCancelingAtAnyOptionOfAnyAgentLeavesItAsItWas(t *testing.T) {
	for _, agent := range agents.Builtin().All() {
		options := agents.Options(agent)
		before := spec.Clone(options)
		for at := range newPerson(t, Request{Options: options}, 80, 24).m.fields {
			p := newPerson(t, Request{Options: options, Preview: told}, 80, 24)
			p.m.show(at)
			p.press("'y1", "space", "down", "'x", "right")
			p.press([]string{"esc", "ctrl+c"}[at%2])
			if done, err := p.m.finish(); done || err != nil || !reflect.DeepEqual(options, before) {
				t.Fatalf("%s, option %d: done %t, %v, %+v", agent.Info().Name, at, done, err, options)
			}
		}
	}
}
