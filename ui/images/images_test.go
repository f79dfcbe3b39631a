package images

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"aibox/bakery"
	"aibox/internal/fault"
	"aibox/ui/page"
	"aibox/ui/uitest"
	"aibox/ui/widget/bakes"
	"aibox/ui/widget/dialog"

	tea "charm.land/bubbletea/v2"
)

func TestTheViewsAreAsTheyWere(t *testing.T) {
	for _, size := range uitest.Sizes {
		k := sample()
		p := newUser(t, k, size[0], size[1])
		p.Show("nothing goes on")
		k.jobs = baking()
		p.Run(p.m.Init())
		p.goTo("claude")
		p.Show("at one that is baked")
		p.goTo("qwen")
		p.Show("at one that failed")
		p.goTo("claude")
		p.Press("enter")
		p.Show("its output")
		p.Press("esc", "x")
		p.Show("give it up?")
		p.Golden("")
	}
}

func TestBakeAppliesToTheSelectedOrTheMarkedImages(t *testing.T) {
	p := open(t)
	p.goTo("gemini")
	p.Press("b")
	p.Sees("baking gemini")
	p.goTo("claude")
	p.Press("space", "space", "space") // claude, codex, gemini
	p.Sees("3 marked")
	p.Press("b")
	p.Sees("baking 2 images")
	p.DoesNotSee("marked")
	p.Press("A")
	p.goTo("codex")
	p.Press("b")
	p.Sees("nothing to bake: codex fresh; B rebuilds")
	p.Press("B")
	want := []string{"false gemini", "false claude gemini", "false claude gemini qwen", "true codex"}
	if !slices.Equal(p.k.bake, want) {
		t.Errorf("put %q", p.k.bake)
	}
	p.Press("*", "B")
	if last := p.k.bake[len(p.k.bake)-1]; last != "true base claude codex gemini qwen" {
		t.Errorf("put %q", last)
	}
}

func TestAnImageThatIsBeingBakedIsNotBakedAgain(t *testing.T) {
	p := watch(t)
	p.goTo("claude")
	p.Press("b", "B")
	p.Sees("already being baked")
	p.Press("A")
	if !slices.Equal(p.k.bake, []string{"false qwen"}) {
		t.Errorf("put %q", p.k.bake)
	}
}

func TestABakeIsGivenUpOnlyAfterAQuestionThatWasRead(t *testing.T) {
	p := watch(t)
	p.goTo("claude")
	p.Press("x", "y")
	if len(p.k.gone) != 0 {
		t.Error("an answer counted before the question could be read")
	}
	later := noon.Add(dialog.Grace)
	p.m.now = func() time.Time { return later }
	p.Press("enter")
	if len(p.k.gone) != 0 {
		t.Error("enter gave it up")
	}
	p.Press("x")
	later = later.Add(dialog.Grace)
	p.Press("y")
	if !slices.Equal(p.k.gone, []string{"claude"}) {
		t.Errorf("given up %q", p.k.gone)
	}
	p.goTo("codex")
	p.Press("x")
	if p.m.ask != nil {
		t.Error("what is over can be given up")
	}
}

func TestTheQuestionWhetherToCancelABakeClosesWhenTheBakeEnds(t *testing.T) {
	k := sample()
	k.jobs = baking()[:1]
	p := newUser(t, k, 120, 40)
	p.goTo("claude")
	p.Press("x")
	p.Sees("Cancel the bake of claude?")
	p.Send(bakes.Changed{Jobs: k.Jobs()})
	p.Sees("Cancel the bake of claude?")
	k.jobs[0].State, k.jobs[0].Ended, k.jobs[0].Err = bakery.Failed, noon, errors.New("no network")
	p.Send(bakes.Changed{Jobs: k.Jobs()})
	p.DoesNotSee("Cancel the bake of claude?")
	p.Sees("claude failed to bake; see its output")
}

func TestTheEndOfABakeUpdatesTheStateOfItsImage(t *testing.T) {
	k := sample()
	k.jobs = baking()[:1]
	p := newUser(t, k, 120, 40)
	p.goTo("claude")
	p.Sees("step 3/4 · 1m15s")
	p.Sees("RUN warm its caches")
	before := k.checks
	k.jobs[0].State, k.jobs[0].Ended = bakery.Done, noon
	k.states[1] = status("claude", bakery.Fresh, "2.1.0", 1e9)
	p.Send(bakes.Changed{Jobs: k.Jobs()})
	if k.checks != before+1 {
		t.Errorf("%d checks", k.checks-before)
	}
	p.Sees("✓ fresh     claude")
	p.Sees("done after 1m15s")
	p.Sees("claude is baked")
}

func TestTimesGrowOnlyWhileSomethingIsBaked(t *testing.T) {
	p := open(t)
	ticks := 0
	p.m.after = func(time.Duration, tea.Msg) tea.Cmd { ticks++; return nil }
	p.m.Update(tick{})
	if ticks != 0 {
		t.Error("an idle screen ticks")
	}
	p.m.Update(bakes.Changed{Jobs: baking()})
	p.m.Update(bakes.Changed{Jobs: baking()})
	if ticks != 1 {
		t.Errorf("%d ticks at once", ticks)
	}
	p.m.Update(tick{})
	if ticks != 2 {
		t.Error("the clock stands still")
	}
}

func TestAFailureKeepsTheLastOutput(t *testing.T) {
	p := newUser(t, busy(), 120, 40)
	p.goTo("qwen")
	for _, want := range []string{"exit code: 1", "→ a second try: aibox bake qwen", "npm error 503"} {
		p.Sees(want)
	}
}

func TestTheErrorOfTheImageListIsShown(t *testing.T) {
	k := &builder{err: fault.New(fault.Environment, "there is no Docker").Hint("aibox doctor --fix")}
	p := newUser(t, k, 80, 24)
	p.Sees("there is no Docker")
	p.Sees("→ aibox doctor --fix")
	k.err = nil
	k.states = sample().states
	p.Press("r")
	p.Sees("codex")
	p.DoesNotSee("no Docker")
	p.Send(page.Returned{Err: errors.New("it broke")})
	p.Sees("it broke")
}

func TestAFlagInAHintIsNotBrokenAtItsHyphens(t *testing.T) {
	k := &builder{err: fault.New(fault.Environment, "not built").Hint("load an image that was built elsewhere with docker load, and name it with --image REF")}
	newUser(t, k, 80, 24).Sees("--image REF")
}

func TestAStaleAnswerIsDropped(t *testing.T) {
	p := open(t)
	outdated := p.m.check()
	p.k.states = p.k.states[:1]
	late := outdated()
	p.Run(p.m.check())
	p.k.states = sample().states
	p.Send(late)
	p.DoesNotSee("codex")
}

func TestTheMouseGoesToAnImageAndMarksIt(t *testing.T) {
	p := open(t)
	p.ClickOn("gemini")
	if p.m.list.at != "gemini" || len(p.m.list.marked) != 0 {
		t.Errorf("at %q, marked %v", p.m.list.at, p.m.list.marked)
	}
	p.Click(0, 4) // base is in row 3
	if !p.m.list.marked["claude"] {
		t.Errorf("marked %v", p.m.list.marked)
	}
	p.Press("c")
	p.Sees("copied: aibox bake claude")
	p.Press("q")
	if !slices.Equal(p.Asked, []page.Request{page.Close{}}) {
		t.Errorf("asked %+v", p.Asked)
	}
}

var mash = []string{"enter", "b", "B", "A", "space", "*", "x", "l", "r", "c", "esc", "q", "up", "down", "pgdown", "home", "end", "/", "n", "N", "f", "y", "a", "tab", "left", "right"}

func FuzzKeys(f *testing.F) {
	f.Add(uint64(1))
	f.Add(uint64(2))
	f.Fuzz(func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 1))
		p := watch(t)
		p.ActRandomly(random, 200, mash) // the time does not change, so no question is ever answered
		if len(p.k.gone) != 0 {
			t.Errorf("given up without an answer: %q", p.k.gone)
		}
	})
}

func TestALongVersionIsShownWholeWhereThereIsRoomAndGivesWayToABake(t *testing.T) {
	k := sample()
	k.states = append(k.states, status("opencode", bakery.Fresh, "0.0.1790142911-g7618fb", 738e6))
	for _, width := range []int{60, 80, 120} {
		newUser(t, k, width, 24).Sees("opencode  0.0.1790142911-g7618fb 704 MiB   6h")
	}
	p := newUser(t, k, 40, 24)
	p.Sees("opencode  0.0.17… 704")
	p.Fits("on a narrow screen")
	k.jobs = baking()
	k.jobs[0].Name = "opencode"
	p = newUser(t, k, 60, 24)
	p.Sees("step 3/4 · 1m15s")
}
