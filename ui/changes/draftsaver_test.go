package changes

import (
	"errors"
	"testing"
	"time"

	"aibox/review/accept"
	"aibox/review/decision"
	"aibox/ui/page"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"
)

func TestDecisionsAreShownAgainInTheNextReview(t *testing.T) {
	p, services := open(t)
	p.goTo("src/big.txt")
	p.Press("s", "y", "x")
	p.goTo("src/blob.bin")
	p.Press("y")
	was := p.m.draft.Choice()
	again := newUser(t, services, 120, 40) // the other screen closed without a message
	again.Sees("decisions on 2 files are from your last review; F withdraws them")
	if diff := cmp.Diff(was, again.m.draft.Choice()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again.Press("F")
	if services.draft != nil && !services.draft.Empty() {
		t.Errorf("withdrawn decisions are saved: %+v", services.draft)
	}
}

func TestADeliveredDraftIsRemoved(t *testing.T) {
	p, services := open(t)
	p.goTo("src/blob.bin")
	p.Press("y")
	if services.draft.Empty() {
		t.Fatal("nothing is saved")
	}
	p.Press("enter")
	p.accept()
	if len(services.accepts) != 1 || !services.draft.Empty() {
		t.Errorf("%d accepts, saved %+v", len(services.accepts), services.draft)
	}
	p, services = open(t)
	p.Press("x", "enter")
	p.wait()
	p.Press("y")
	if !services.draft.Empty() {
		t.Errorf("kept rejections are saved: %+v", services.draft)
	}
}

func TestAFailedAcceptKeepsTheDraft(t *testing.T) {
	p, services := open(t)
	p.goTo("src/blob.bin")
	p.Press("y", "enter")
	services.fail = errors.New("no room")
	p.accept()
	if services.draft.Empty() {
		t.Error("the draft is gone")
	}
}

func TestADraftThatCannotBeReadIsReportedAndIgnored(t *testing.T) {
	services := &recorded{set: worked(t), unread: errors.New("the decisions of your last review cannot be read")}
	p := newUser(t, services, 120, 40)
	p.Sees("the decisions of your last review cannot be read")
	if p.Press("tab", "y"); p.m.draft.Steps() == 0 {
		t.Error("nothing can be decided")
	}
}

func TestAnOlderWriteDoesNotReplaceANewer(t *testing.T) {
	set := worked(t)
	services := &recorded{set: set}
	d := decision.New(nil, decision.Options{Target: accept.ToBranch})
	saver := draftSaver{id: "0aaaa", save: services.SaveDraft, after: func(time.Duration, func(time.Time) tea.Msg) tea.Cmd { return nil }}
	saver.use(set, d)
	d.SetTarget(accept.ToWorktree)
	older := saver.now()
	d.SetTarget(accept.ToBranch)
	newer := saver.now()
	if err := errors.Join(newer(), older()); err != nil || saver.file.version != d.Version() {
		t.Errorf("%v, version %d of %d", err, saver.file.version, d.Version())
	}
	remove, late := saver.remove(), func() error { d.SetTarget(accept.ToWorktree); return saver.now()() }
	if err := errors.Join(remove(), late()); err != nil || services.draft != nil {
		t.Errorf("%v, %+v", err, services.draft)
	}
}

func TestQuittingAsksAsLeavingDoes(t *testing.T) {
	p, _ := open(t)
	if p.m.Leaving() != nil {
		t.Error("nothing is decided, and it asks")
	}
	p.Press("tab", "y")
	asked := p.m.Leaving()
	p.Press("esc")
	if asked == nil || p.m.ask == nil || asked.Title != p.m.ask.Title || asked.Text != p.m.ask.Text {
		t.Errorf("ctrl+c asks %+v, esc %+v", asked, p.m.ask)
	}
	if len(p.Asked) != 0 {
		t.Errorf("%v", p.Asked)
	}
	var _ page.Page = p.m
}
