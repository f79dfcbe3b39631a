package newrun

import (
	"strings"
	"testing"
	"time"

	"aibox/app/run"
	"aibox/ui/page"
	"aibox/ui/uitest"

	tea "charm.land/bubbletea/v2"
)

func TestTheBranchOfAnAddressIsPickedFromItsServersList(t *testing.T) {
	p := open(t, newWorld(t))
	p.Press("shift+tab")
	p.Type("https://example.org/far.git")
	p.Sees("clone this URL")
	p.Press("enter")
	p.Sees("trunk")
	if strings.Contains(p.m.View(), "\x1b[2J") {
		t.Error("a branch reached the terminal raw")
	}
	p.Type("tru")
	p.Press("enter", "enter")
	p.Type("x")
	p.Sees("--branch=trunk")
	if p.m.request.Repository != "https://example.org/far.git" || p.m.request.Branch != "trunk" {
		t.Errorf("got %+v", p.m.request)
	}
}

func TestAPathIsTypedWithTheFoldersThatGoOn(t *testing.T) {
	p := open(t, newWorld(t))
	p.Press("shift+tab")
	p.Type("~/co")
	p.Sees("~/code/ship")
	p.Press("enter")
	p.Sees("~/code/ship/")
	if p.m.repository.place == nil || p.m.repository.place.Top != "/home/ann/shop" {
		t.Error("a folder was taken for a repository")
	}
	p.Press("enter")
	p.Sees("✗ ~/code/ship/ is not in a git repository")
	p.Press("ctrl+u")
	p.Type("blo")
	p.Press("enter")
	if p.m.repository.place == nil || p.m.repository.place.Top != "/home/ann/blog" {
		t.Errorf("at %+v", p.m.repository.place)
	}
}

func TestARunInASubfolderIsStartedThere(t *testing.T) {
	w := newWorld(t)
	place := w.places["/home/ann/shop"]
	place.Start = "cart/api"
	w.places["/home/ann/shop"] = place
	p := open(t, w)
	if got := p.m.repository.path(); got != "/home/ann/shop/cart/api" {
		t.Errorf("the run is in %s", got)
	}
	p.Sees("--repo=/home/ann/shop/cart/api")
}

func TestATypedPathThatDoesNotExistIsReportedBeforeItIsUsed(t *testing.T) {
	p := open(t, newWorld(t))
	p.Press("shift+tab")
	p.Type("~/code")
	p.Sees("~/code ")
	p.Sees("current files")
	p.DoesNotSee("no such folder")
	p.Type("x")
	p.Sees("✗ no such folder")
	p.DoesNotSee("current files")
	p.Press("backspace")
	p.Sees("current files")
	// Results for another text are not shown for this one.
	p.m.repository.list.input.SetValue("~/elsewhere")
	p.m.repository.refresh()
	p.DoesNotSee("current files")
	p.DoesNotSee("no such folder")
}

func TestAnAnswerForAnotherRepositoryIsDropped(t *testing.T) {
	p := open(t, newWorld(t))
	late := runs(tea.Batch(p.m.choose("/home/ann/shop"), p.m.files.list(t.Context(), p.w, run.Request{Agent: "codex"})))
	if len(late) != 3 {
		t.Fatalf("%d answers", len(late))
	}
	p.m.choose("/home/ann/blog")
	for _, answer := range late {
		p.Send(answer)
	}
	if p.m.repository.place != nil || p.m.repository.branch.names != nil || p.m.files.hidden != nil {
		t.Errorf("took %+v, %q and %q", p.m.repository.place, p.m.repository.branch.names, p.m.files.hidden)
	}
}

func TestTheLastChoicesOfARepositoryComeBack(t *testing.T) {
	w := newWorld(t)
	shop := w.places["/home/ann/shop"]
	shop.Last = &run.Request{Agent: "codex", Repository: shop.Top, Settings: overrides(map[string]string{"timeout": "30m"}), Options: map[string]string{"effort": "low"}}
	w.places[shop.Top] = shop
	p := open(t, w)
	if p.m.at != stepTask {
		t.Errorf("begins at %s", stepNames[p.m.at])
	}
	p.Type("mend it")
	if got := p.m.commandLine(p.m.request); got != "aibox run codex --repo=/home/ann/shop --timeout=30m --effort=low '--prompt=mend it'" {
		t.Errorf("the command is %s", got)
	}
}

// lookingUp opens the screen while its repository is looked up, and returns a function that ends that.
func lookingUp(t *testing.T, w *world) (p *user, found func()) {
	t.Helper()
	m := New(t.Context(), w.services(), page.NewRun{})
	m.now = func() time.Time { return noon }
	p = &user{User: uitest.New(t, m, 120, 40), m: m, w: w}
	p.Withhold = func(msg tea.Msg) bool { _, is := msg.(placeFound); return is }
	p.Run(m.Init())
	return p, func() {
		p.Withhold = nil
		for _, msg := range p.Withheld {
			p.Send(msg)
		}
		p.Withheld = nil
	}
}

func TestAChoiceDuringTheLookUpIsNotReplacedByTheLastOnes(t *testing.T) {
	w := newWorld(t)
	shop := w.places["/home/ann/shop"]
	shop.Last = &run.Request{Agent: "codex", Repository: shop.Top, Settings: overrides(map[string]string{"network": "public"})}
	w.places[shop.Top] = shop
	p, found := lookingUp(t, w)
	found()
	if p.m.request.Agent != "codex" || p.m.request.Settings.Text("network") != "public" {
		t.Fatalf("without a choice, the request is %+v", p.m.request)
	}
	p, found = lookingUp(t, w)
	p.m.enter(stepAgent)
	p.Type("aider")
	p.Press("enter")
	found()
	if p.m.request.Agent != "aider" || p.m.request.Settings.Text("network") == "public" {
		t.Errorf("after a choice, the request is %+v", p.m.request)
	}
}

func TestOptionsThatAreSetDuringALookUpStay(t *testing.T) {
	p := open(t, newWorld(t))
	p.m.agent.name = "codex"
	p.Run(p.m.refill())
	p.Withhold = func(msg tea.Msg) bool { _, is := msg.(placeFound); return is }
	p.Run(p.m.choose("/home/ann/blog"))
	if err := p.m.sandbox.part.Set("pids", "64"); err != nil {
		t.Fatal(err)
	}
	p.Run(p.m.compose())
	p.Withhold = nil
	p.Send(p.Withheld[0])
	if got := p.m.request.Settings.Text("pids"); got != "64" {
		t.Errorf("the setting became %q", got)
	}
}
