package ui

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aibox/bakery"
	"aibox/ui/images"
	"aibox/ui/widget/dialog"
)

// builder has builds under way.
type builder struct {
	images.Builder
	jobs []bakery.Job
}

func (o *builder) Jobs() []bakery.Job { return slices.Clone(o.jobs) }

func TestQuittingAsksWhileImagesAreBaked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newTestApp(t, 80, 24)
		builds := &builder{jobs: []bakery.Job{{Name: "codex", State: bakery.Baking}, {Name: "qwen", State: bakery.Waiting}, {Name: "base", State: bakery.Done}}}
		a.request.Images = builds
		if drive(a, press("q")) || drive(a, press("y")) {
			t.Error("it quits at once, or before the question could be read")
		}
		if view := shown(a); !strings.Contains(view, "Quit with 2 bakes under way?") || !strings.Contains(view, "codex, qwen: canceled") || !strings.Contains(view, "no · ") {
			t.Error(view)
		}
		time.Sleep(dialog.Grace)
		if drive(a, press("enter")) || a.over.open() {
			t.Error("enter is not the choice that does nothing")
		}
		drive(a, press("q"))
		time.Sleep(dialog.Grace)
		if !drive(a, press("y")) {
			t.Error("yes does not quit")
		}
		builds.jobs = builds.jobs[2:]
		if !drive(a, press("q")) {
			t.Error("it asks about what is over")
		}
	})
}
