package newrun

import (
	"strings"
	"testing"

	"aibox/app/run"
)

func TestTheBranchOfAnAddressIsPickedFromItsServersList(t *testing.T) {
	p := open(t, newWorld(t))
	p.Press("shift+tab")
	p.Type("https://example.org/far.git")
	p.Sees("clone this address")
	p.Press("enter")
	p.Sees("trunk")
	if strings.Contains(p.m.View(), "\x1b[2J") {
		t.Error("a branch reached the terminal raw")
	}
	p.Type("tru")
	p.Press("enter", "enter")
	p.Type("x")
	p.Sees("--branch=trunk")
	if p.m.draft.Repository != "https://example.org/far.git" || p.m.draft.Branch != "trunk" {
		t.Errorf("got %+v", p.m.draft)
	}
}

func TestAPathIsTypedWithTheFoldersThatGoOn(t *testing.T) {
	p := open(t, newWorld(t))
	p.Press("shift+tab")
	p.Type("~/co")
	p.Sees("~/code/ship")
	p.Press("enter")
	p.Sees("~/code/ship/")
	if p.m.place == nil || p.m.place.Top != "/home/ann/shop" {
		t.Error("a folder was taken for a repository")
	}
	p.Press("enter")
	p.Sees("✗ ~/code/ship/ is not in a git repository")
	p.Press("ctrl+u")
	p.Type("blo")
	p.Press("enter")
	if p.m.place == nil || p.m.place.Top != "/home/ann/blog" {
		t.Errorf("at %+v", p.m.place)
	}
}

func TestARunInASubfolderIsStartedThere(t *testing.T) {
	w := newWorld(t)
	place := w.places["/home/ann/shop"]
	place.Start = "cart/api"
	w.places["/home/ann/shop"] = place
	p := open(t, w)
	if got := p.m.repository(); got != "/home/ann/shop/cart/api" {
		t.Errorf("the run is in %s", got)
	}
	p.Sees("--repo=/home/ann/shop/cart/api")
}

func TestATypedPathThatLeadsNowhereIsToldBeforeItIsTaken(t *testing.T) {
	p := open(t, newWorld(t))
	p.Press("shift+tab")
	p.Type("~/code")
	p.Sees("~/code ")
	p.Sees("current files")
	p.DoesNotSee("no such folder")
	p.Type("x")
	p.Sees("✗ there is no such folder")
	p.DoesNotSee("current files")
	p.Press("backspace")
	p.Sees("current files")
	// What was found out of another text is not said of this one.
	p.m.where.repository.input.SetValue("~/elsewhere")
	p.m.listRepositories()
	p.DoesNotSee("current files")
	p.DoesNotSee("no such folder")
}

func TestAnAnswerForAnotherRepositoryIsDropped(t *testing.T) {
	p := open(t, newWorld(t))
	p.m.choose("/home/ann/blog")
	p.m.Update(placeKnown{p.m, p.m.asked - 1, p.w.places["/home/ann/shop"], nil})
	p.m.Update(branchesKnown{p.m, p.m.asked - 1, []string{"old"}, nil})
	p.m.Update(filesKnown{p.m, run.Request{}, p.m.asked - 1, namesOf([]string{"old"}), []string{"old"}, nil})
	p.m.Update(placeKnown{new(Model), p.m.asked, p.w.places["/home/ann/shop"], nil})
	if p.m.place != nil || p.m.where.branches != nil || p.m.files.hidden != nil {
		t.Errorf("took %+v, %q and %q", p.m.place, p.m.where.branches, p.m.files.hidden)
	}
}

func TestTheLastChoicesOfARepositoryComeBack(t *testing.T) {
	w := newWorld(t)
	shop := w.places["/home/ann/shop"]
	shop.Last = &run.Request{Agent: "codex", Repository: shop.Top, Settings: map[string]string{"timeout": "30m"}, Options: map[string]string{"effort": "low"}}
	w.places[shop.Top] = shop
	p := open(t, w)
	if p.m.step != task {
		t.Errorf("begins at %s", stepNames[p.m.step])
	}
	p.Type("mend it")
	if got := run.Line(p.m.words(p.m.draft)); got != "aibox run codex --repo=/home/ann/shop --timeout=30m --effort=low '--prompt=mend it'" {
		t.Errorf("the command is %s", got)
	}
}
