package ui

import (
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aibox/ui/page"
	"aibox/ui/widget/keymap"

	"github.com/charmbracelet/x/ansi"
)

// Each screen that a review was opened from shows the new state when the review has written to
// the working tree, and so does the list of sessions below it.
func TestWorkThatWasAcceptedIntoTheWorkingTreeIsAcceptedOnEveryScreen(t *testing.T) {
	workedOn(t) // outside of the bubbles
	for name, c := range map[string]struct {
		below  page.Request // from which the review is opened; nil is the list of sessions
		before string
	}{
		"sessions": {nil, "▲ to review  0aaaa-codex"},
		"session":  {page.Session{ID: "0aaaa-codex"}, "0aaaa-codex  ▲ to review"},
		"compare":  {page.Compare{Batch: "b-0aaaa"}, "0aaaa-codex  qwen3             ▲ to review"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{t: t}
				m := newMonkey(t, w, nil, rand.New(rand.NewPCG(1, 1)))
				defer m.close()
				press := func(names ...string) {
					for _, name := range names {
						m.send(name, keymap.Press(name))
						m.wait(time.Second)
					}
				}
				sees := func(want string) {
					t.Helper()
					if view := ansi.Strip(m.app.View().Content); !strings.Contains(view, want) {
						t.Fatalf("%q is not shown:\n%s", want, view)
					}
				}
				m.wait(time.Second)
				press("esc") // the question of a running session
				if c.below != nil {
					m.spawn(m.app.do(c.below))
					m.wait(time.Second)
				}
				sees(c.before)
				after := strings.Replace(c.before, "▲ to review", "✓ accepted ", 1)
				m.spawn(m.app.do(page.Review{ID: "0aaaa-codex"}))
				m.wait(time.Second)
				press("T", "A", "enter", "ctrl+s")
				sees("1 file written to your working tree")
				sees(strings.TrimSuffix(after, " "))
				if c.below != nil {
					press("esc")
					sees("✓ accepted   0aaaa-codex")
				}
			})
		})
	}
}
