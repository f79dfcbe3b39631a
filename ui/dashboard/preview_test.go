package dashboard

import (
	"testing"
	"time"

	"aibox/config"
	"aibox/netguard"
	"aibox/session"
	"aibox/session/summary"
	"aibox/ui/page"

	tea "charm.land/bubbletea/v2"
)

// A session that ends while only its output is loaded is loaded as a whole afterwards.
func TestASessionThatEndsWhileItsOutputIsLoadedShowsItsFiles(t *testing.T) {
	b := summary.Summary{ID: "0aaaa-shell", Phase: session.Running}
	p := preview{ctx: t.Context(), sessions: service{&fakeSessions{briefs: []summary.Summary{b}}}, on: true, id: b.ID, known: true, watch: &outputWatch{id: b.ID, stop: func() {}}}
	output := p.loadTail(&b)
	b.Phase, b.Changed, b.Files = session.Ended, true, 1
	if cmd := p.load(&b); cmd != nil {
		t.Fatal("two loads at the same time")
	}
	deadline := time.Now().Add(time.Minute)
	for pending := []tea.Cmd{output}; len(pending) > 0 && time.Now().Before(deadline); pending = pending[1:] {
		if pending[0] == nil {
			continue
		}
		msg, _ := page.Current(pending[0]())
		switch msg := msg.(type) {
		case tea.BatchMsg:
			pending = append(pending, msg...)
		case previewLoaded:
			pending = append(pending, p.take(msg, &b))
		}
	}
	if p.changes == nil {
		t.Error("the files are not shown")
	}
}

func TestTheModelIsNamedInWords(t *testing.T) {
	for _, c := range []struct {
		spec session.Spec
		want string
	}{
		{session.Spec{Run: config.Run{Network: netguard.Local.String(), Inference: "auto"}}, "model chosen automatically"},
		{session.Spec{Run: config.Run{Network: netguard.Local.String()}}, "model chosen automatically"},
		{session.Spec{Run: config.Run{Network: netguard.Local.String(), Inference: "auto", Model: "qwen3"}}, "model qwen3"},
		{session.Spec{Run: config.Run{Network: netguard.Local.String(), Inference: "ollama"}}, "model chosen at ollama"},
		{session.Spec{Run: config.Run{Network: netguard.Local.String(), Inference: "scripted"}}, "scripted model"},
		{session.Spec{Run: config.Run{Network: netguard.Local.String(), Inference: "scripted:/tasks/one.json", Model: "any"}}, "scripted model"},
		{session.Spec{Run: config.Run{Network: netguard.None.String(), Inference: "auto"}}, ""},
	} {
		if got := modelOf(&c.spec); got != c.want {
			t.Errorf("%q with %q at %q is %q, not %q", c.spec.Network, c.spec.Model, c.spec.Inference, got, c.want)
		}
	}
}

// The cells of the terminal show no tabs, and what is on both sides of one would run together.
func TestTabsOfTheOutputAreShownAsSpaces(t *testing.T) {
	p := openStarted(t, &fakeSessions{briefs: sampleBriefs(), tails: []string{"ok\taibox/ui\n"}})
	p.Sees("ok    aibox/ui")
	p.DoesNotSee("\t")
}

func TestTheOutputIsWatchedAgainAfterItsWatchHasEnded(t *testing.T) {
	sessions := &fakeSessions{briefs: sampleBriefs()}
	p := openStarted(t, sessions)
	if watch := p.m.preview.watch; watch == nil || !watch.over {
		t.Fatalf("the watch is %+v", watch)
	}
	sessions.said = make(chan struct{}, 1)
	sessions.said <- struct{}{}
	close(sessions.said)
	p.Run(p.m.load())
	if len(sessions.said) > 0 {
		t.Error("nothing watches the output")
	}
}
