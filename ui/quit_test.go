package ui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aibox/bakery"
	"aibox/session"
	"aibox/session/snapshot"
	"aibox/ui/images"
	"aibox/ui/page"
	"aibox/ui/snapshots"
	"aibox/ui/widget/dialog"

	tea "charm.land/bubbletea/v2"
)

// builder has builds under way.
type builder struct {
	images.Builder
	jobs []bakery.Job
}

func (o *builder) Jobs() []bakery.Job { return slices.Clone(o.jobs) }

// draft is a page with unsaved work.
type draft struct{ inbox }

func (draft) Leaving() *dialog.Confirm {
	return &dialog.Confirm{Title: "Leave the draft?", Text: "It is lost.", Yes: "leave"}
}

func TestCtrlCAsksAboutWhatWouldBeLostOnEveryScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newTestApp(t, 80, 24)
		a.open = append(a.open, &layer{Page: new(draft)}, &layer{Page: new(inbox)}) // the draft is covered
		if drive(a, press("ctrl+c")) || a.over.leave == nil || !strings.Contains(a.over.leave.Text, "It is lost.") {
			t.Fatal("it quits, or asks about something else")
		}
		a.request.Images = &builder{jobs: []bakery.Job{{Name: "codex", State: bakery.Baking}}}
		time.Sleep(dialog.Grace)
		if drive(a, press("ctrl+c")) || a.over.open() {
			t.Fatal("a second ctrl+c does not cancel the question")
		}
		drive(a, press("ctrl+c"))
		if text := a.over.leave.Text; !strings.Contains(text, "It is lost.") || !strings.Contains(text, "1 bake under way") {
			t.Errorf("it asks only %q", text)
		}
		time.Sleep(dialog.Grace)
		if !drive(a, press("y")) {
			t.Error("yes does not quit")
		}
	})
}

// store takes a snapshot until the test lets it end.
type store struct {
	snapshots.Store
	taking, end chan struct{}
}

func (store) Snapshots(context.Context) ([]snapshot.Snapshot, error) { return nil, nil }

func (s store) Take(context.Context, session.ID) (string, error) {
	close(s.taking)
	<-s.end
	return "", errors.New("the disk is\x1b[2J full")
}

func TestASnapshotThatIsTakenAfterItsScreenIsClosedIsReported(t *testing.T) {
	s := store{taking: make(chan struct{}), end: make(chan struct{})}
	a := newApp(t.Context(), Request{Sessions: one{}, Changes: one{}, Snapshots: s})
	drive(a, tea.WindowSizeMsg{Width: 80, Height: 24})
	var take tea.Cmd
	for _, cmd := range a.show(page.Snapshots{Take: "0dq4f-sandbox"})().(tea.BatchMsg) {
		take = cmd // the last one
	}
	ended := make(chan tea.Msg)
	go func() { ended <- take() }()
	<-s.taking
	a.leave(page.Close{})
	if drive(a, press("q")) || !strings.Contains(a.over.leave.Text, "the snapshot of 0dq4f-sandbox: may not be completed") {
		t.Fatal("it quits, or asks about something else")
	}
	a.over.leave = nil
	close(s.end)
	drive(a, <-ended)
	if view := shown(a); !strings.Contains(view, `the disk is\x1b[2J full`) {
		t.Errorf("the end is not reported:\n%s", view)
	}
	if !drive(a, press("q")) {
		t.Error("it asks about what is over")
	}
}

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
