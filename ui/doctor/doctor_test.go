package doctor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/app/doctor"
	"aibox/bakery"
	"aibox/internal/fault"
	"aibox/internal/probe"
	"aibox/session"
	"aibox/ui/page"
	"aibox/ui/uitest"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/keymap"

	tea "charm.land/bubbletea/v2"
)

// machine is a machine with given findings, by check.
type machine struct {
	checks []doctor.Check
	proof  *doctor.Proof
	err    error
	baked  []string
	looks  int
}

func (m *machine) Checks() []doctor.Check { m.looks++; return m.checks }
func (m *machine) Bake(image string)      { m.baked = append(m.baked, image) }

func (m *machine) Prove(_ context.Context, step func(session.Step)) (*doctor.Proof, error) {
	step(session.Step{Name: "workspace"})
	step(session.Step{Name: "workspace", Done: true, Detail: "1 file", Took: 40 * time.Millisecond})
	step(session.Step{Name: "sandbox"})
	if m.proof == nil {
		return nil, m.err
	}
	for _, r := range m.proof.Results {
		step(session.Step{Name: "probes", Probe: &probe.Result{Name: r.Name, Target: r.Target, Want: r.Want}})
	}
	for _, r := range slices.Backward(m.proof.Results) {
		step(session.Step{Name: "probes", Probe: &r, Done: true})
	}
	return m.proof, m.err
}

func check(part doctor.Part, findings ...doctor.Finding) doctor.Check {
	return doctor.Check{Name: findings[0].Name, Part: part, Run: func(context.Context) []doctor.Finding { return slices.Clone(findings) }}
}

// sample is a machine with findings of every kind.
func sample() *machine {
	return &machine{
		checks: []doctor.Check{
			check(doctor.Tools, doctor.Finding{Name: "git", State: doctor.OK, Detail: "/usr/bin/git"}),
			check(doctor.Tools, doctor.Finding{Name: "iptables", State: doctor.Missing, Detail: "not found in PATH", Fix: doctor.SetupCommand}),
			check(doctor.Machine,
				doctor.Finding{Name: "bridge filter", State: doctor.OK, Detail: "the kernel has br_netfilter"},
				doctor.Finding{Name: "user namespaces", State: doctor.Missing, Detail: "user.max_user_namespaces is 0", Fix: "sudo sysctl -w user.max_user_namespaces=28633"}),
			check(doctor.Docker, doctor.Finding{Name: "Docker", State: doctor.OK, Detail: "29.1.0, rootless true"}),
			check(doctor.Images,
				doctor.Finding{Name: "image base", State: doctor.OK, Detail: "fresh", Image: "base"},
				doctor.Finding{Name: "image codex", State: doctor.Warning, Detail: "outdated", Fix: "aibox bake codex", Image: "codex", Agent: true}),
			check(doctor.Model, doctor.Finding{
				Name: "model", State: doctor.Warning, Detail: "there is no model to use: no model server answers on this machine, and no key is set",
				Fix: "start Ollama, LM Studio, llama.cpp or vLLM, or set a key such as ANTHROPIC_API_KEY",
			}),
			check(doctor.Tools, doctor.Finding{Name: "settings \x1b[31m", State: doctor.Warning, Detail: "line 3 \x1b]0;x\a is wrong", Fix: "aibox config edit"}),
		},
		proof: &doctor.Proof{Kernel: "4.4.0", Results: []probe.Result{
			{Name: "inference gateway", Target: "10.200.200.1:80", Want: probe.Answers, OK: true, Detail: "answered"},
			{Name: "metadata address", Target: "169.254.169.254:80", Want: probe.Refused, OK: true, Detail: "connection refused"},
			{Name: "a name server", Target: "192.0.2.53:53", Want: probe.Refused, OK: true, Detail: "network is unreachable"},
		}},
	}
}

// sound is the sample without missing items.
func sound() *machine {
	m := sample()
	m.checks = slices.DeleteFunc(m.checks, func(c doctor.Check) bool { return doctor.Count(c.Run(context.Background()), doctor.Missing) > 0 })
	return m
}

func newUser(t testing.TB, m *machine, width, height int) *uitest.User {
	model, now := New(t.Context(), m), time.Unix(1, 0)
	model.now = func() time.Time { now = now.Add(dialog.Grace); return now } // no key comes too early
	user := uitest.New(t, model, width, height)
	user.Run(user.Page.Init())
	return user
}

// goTo goes to the row with a name.
func goTo(p *uitest.User, name string) {
	p.T.Helper()
	p.Press("home")
	model, _ := p.Page.(*Model)
	for range len(model.rows) {
		if model.current().Name == name {
			return
		}
		p.Press("down")
	}
	p.T.Fatalf("there is no %q:\n%s", name, p.View())
}

func TestAKeyDoesNotFixARowThatWasSelectedJustBefore(t *testing.T) {
	m := sound()
	p := newUser(t, m, 120, 40)
	goTo(p, "image codex")
	model, _ := p.Page.(*Model)
	now := time.Unix(1000, 0)
	model.now = func() time.Time { return now }
	model.moved = false
	m.checks[slices.IndexFunc(m.checks, func(c doctor.Check) bool { return c.Part == doctor.Machine || c.Name == "git" })] = check(doctor.Tools, doctor.Finding{Name: "git", State: doctor.Missing, Fix: doctor.SetupCommand})
	p.Run(model.check())
	if name := model.current().Name; name != "git" {
		t.Fatalf("%q is selected", name)
	}
	p.Press("enter", "c")
	p.Sees("another row was selected just now")
	if len(p.Asked)+len(m.baked) > 0 {
		t.Errorf("asked for %v, baked %v", p.Asked, m.baked)
	}
	now = now.Add(dialog.Grace)
	p.Press("enter")
	if len(p.Asked) != 1 {
		t.Errorf("asked for %v", p.Asked)
	}
}

func TestTheViewsAreAsTheyWere(t *testing.T) {
	for _, size := range uitest.Sizes {
		m := sound()
		p := newUser(t, sample(), size[0], size[1])
		p.Show("something is missing")
		goTo(p, "model")
		p.Show("at the model")
		p.Golden("")
		p = newUser(t, m, size[0], size[1])
		p.Press("p")
		p.Show("proved")
		p.Golden("proof-")
	}
}

func TestTheWorstRowIsSelectedUntilTheUserMoves(t *testing.T) {
	p := newUser(t, sample(), 80, 24)
	p.Sees("enter runs: aibox doctor --fix")
	goTo(p, "git")
	p.Press("r")
	if model, _ := p.Page.(*Model); model.current().Name != "git" {
		t.Errorf("a second check moved the cursor to %q", model.current().Name)
	}
	m := sound()
	p = newUser(t, m, 80, 24)
	p.Sees("to fix it: start Ollama")
	m.checks = slices.DeleteFunc(m.checks, func(c doctor.Check) bool { return c.Part == doctor.Model })
	m.checks[0] = check(doctor.Tools, doctor.Finding{Name: "limits", State: doctor.Warning, Detail: "there are none"})
	p = newUser(t, m, 80, 24)
	p.Sees("enter bakes it: aibox bake codex")
}

func TestAKeyFixesWhatAnAiboxCommandCanFix(t *testing.T) {
	for name, args := range map[string][]string{
		"iptables":          {"doctor", "--fix"},
		"settings \x1b[31m": {"config", "edit"},
	} {
		p := newUser(t, sample(), 80, 24)
		goTo(p, name)
		p.Press("enter", "f")
		if len(p.Asked) != 2 {
			t.Fatalf("%q: asked %+v", name, p.Asked)
		}
		for _, asked := range p.Asked {
			if command, ok := asked.(page.Command); !ok || !slices.Equal(command.Args, args) || !command.Wait {
				t.Errorf("%q: asked %+v", name, asked)
			}
		}
	}
	p := newUser(t, sample(), 80, 24)
	goTo(p, "git")
	p.Press("enter", "F")
	if len(p.Asked) != 1 {
		t.Errorf("what is in order is mended, or F does nothing: %+v", p.Asked)
	}
}

func TestAKeyBakesAnImageAndShowsIt(t *testing.T) {
	m := sample()
	p := newUser(t, m, 80, 24)
	goTo(p, "image codex")
	p.Press("enter")
	if !slices.Equal(m.baked, []string{"codex"}) || !slices.Equal(p.Asked, []page.Request{page.Images{}}) {
		t.Errorf("baked %v, asked %+v", m.baked, p.Asked)
	}
}

func TestImagesThatAreNotBakedAreOneRowThatLeadsToThem(t *testing.T) {
	m := sample()
	m.checks = []doctor.Check{check(doctor.Images,
		doctor.Finding{Name: "image base", State: doctor.OK, Detail: "fresh", Image: "base"},
		doctor.Finding{Name: "image amp", State: doctor.Warning, Detail: bakery.Missing.String(), Fix: "aibox bake amp", Image: "amp", Agent: true, Part: doctor.Images},
		doctor.Finding{Name: "image qwen", State: doctor.Warning, Detail: bakery.Missing.String(), Fix: "aibox bake qwen", Image: "qwen", Agent: true, Part: doctor.Images})}
	p := newUser(t, m, 120, 40)
	p.Sees("1 warning · 1 ok")
	p.Sees("2 are not baked: amp, qwen")
	goTo(p, "images")
	p.Press("enter")
	if len(m.baked) > 0 || !slices.Equal(p.Asked, []page.Request{page.Images{}}) {
		t.Errorf("baked %v, asked %+v", m.baked, p.Asked)
	}
}

func TestAFixForTheUserIsShownAndCopiedButNotRun(t *testing.T) {
	p := newUser(t, sample(), 80, 24)
	goTo(p, "model")
	p.Sees("to fix it: start Ollama")
	p.Press("enter")
	if len(p.Asked) != 0 {
		t.Errorf("asked %+v", p.Asked)
	}
	p.Press("c")
	p.Sees("copied: start Ollama")
}

func TestAKeyLeadsFromAMissingModelToItsSetting(t *testing.T) {
	p := newUser(t, sample(), 80, 24)
	goTo(p, "git")
	p.Press("i")
	if len(p.Asked) != 0 {
		t.Errorf("at git, i asks for %+v", p.Asked)
	}
	goTo(p, "model")
	p.Sees("i choose the model server")
	p.Press("i")
	if !slices.Equal(p.Asked, []page.Request{page.Settings{Key: "inference"}}) {
		t.Errorf("asked %+v", p.Asked)
	}
}

func TestAFixForRootIsShownAndRunByAKey(t *testing.T) {
	p := newUser(t, sample(), 80, 24)
	goTo(p, "user namespaces")
	p.Sees("enter asks, then runs: sudo sysctl -w user.max_user_namespaces=28633")
	p.Press("enter")
	if len(p.Asked) != 1 {
		t.Fatalf("asked %+v", p.Asked)
	}
	if system, ok := p.Asked[0].(page.System); !ok || !slices.Equal(system.Command, []string{"sudo", "sysctl", "-w", "user.max_user_namespaces=28633"}) {
		t.Errorf("asked %+v", p.Asked)
	}
}

func TestTheMachineIsCheckedAgainAfterAFix(t *testing.T) {
	m := sample()
	p := newUser(t, m, 80, 24)
	m.checks = m.checks[:1]
	p.Send(page.Returned{})
	p.Sees("1 ok")
	p.DoesNotSee("missing")
	if m.looks != 2 {
		t.Errorf("%d looks", m.looks)
	}
}

func TestFixedRowsAreReportedOnceAllChecksHaveEnded(t *testing.T) {
	m := sample()
	p := newUser(t, m, 80, 24)
	p.Send(page.Returned{})
	p.DoesNotSee("fixed")
	m.checks[1] = check(doctor.Tools, doctor.Finding{Name: "iptables", State: doctor.OK, Detail: "/usr/sbin/iptables"})
	m.checks[3] = check(doctor.Docker, doctor.Finding{Name: "Docker \x1b[31m", State: doctor.OK, Detail: "29.1.0, rootless"})
	next := p.Page.Update(page.Returned{Text: "back"})
	p.Sees("back")
	next = p.Page.Update(uitest.Answer(next))
	for range m.checks {
		p.DoesNotSee("fixed")
		next = p.Page.Update(uitest.Answer(next))
	}
	p.Sees(`fixed: iptables, Docker \x1b[31m`)
	p.Run(next)
	p.Press("r")
	p.DoesNotSee("fixed")
}

func TestASlowCheckIsShownAsRunning(t *testing.T) {
	m := sample()
	m.checks = append(m.checks, doctor.Check{Name: "network guard", Part: doctor.Docker, Run: func(ctx context.Context) []doctor.Finding {
		<-ctx.Done()
		return nil
	}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	model := New(ctx, m)
	p := uitest.New(t, model, 80, 24)
	next := model.Update(uitest.Answer(model.Init()))
	p.Sees("… git")
	for range len(m.checks) - 1 {
		next = model.Update(uitest.Answer(next))
	}
	p.Sees("✓ git")
	p.Sees("… network guard")
	p.Sees("checking…")
	cancel()
	p.Run(next)
	p.DoesNotSee("checking…")
}

func TestAProofShowsItsStagesAndItsResult(t *testing.T) {
	m := sound()
	p := newUser(t, m, 120, 40)
	p.Press("p")
	for _, want := range []string{"✓ workspace  1 file 0.0s", "… sandbox", "kernel 4.4.0", "✓ metadata address", "must be refused", "probes 3/3 passed"} {
		p.Sees(want)
	}
	p.Press("esc")
	p.Sees("image codex")
	if len(p.Asked) != 0 {
		t.Errorf("asked %+v", p.Asked)
	}
	m.proof.Results[1].OK, m.proof.Failed = false, 1
	p.Sees("p show the proof")
	p.Press("p")
	p.Sees("✓ metadata address")
	p.Sees("p prove the isolation")
	p.Press("p")
	p.Sees("✗ metadata address")
	p.Sees("1 of 3 probes failed: the sandbox is not isolated")
	m.proof, m.err = nil, fault.New(fault.Environment, "no sandbox").Hint("aibox bake base")
	p.Press("p")
	p.Sees("no sandbox → aibox bake base")
	p.Press("esc", "r")
	p.DoesNotSee("no sandbox")
	p.Press("p")
	p.Sees("✗ sandbox")
	p.Sees("no sandbox → aibox bake base")
}

func TestAProofThatRunsIsShownAgain(t *testing.T) {
	p := newUser(t, sound(), 80, 24)
	next := p.Page.Update(keymap.Press("p"))
	for !strings.Contains(p.View(), "… a name server") {
		next = p.Page.Update(uitest.Answer(next))
	}
	p.Press("esc")
	p.DoesNotSee("a name server")
	p.Press("p")
	p.Sees("… a name server")
	p.Run(next)
	p.Sees("probes 3/3 passed")
}

func TestEachProbeIsShownAsItEnds(t *testing.T) {
	p := newUser(t, sound(), 80, 24)
	next := p.Page.Update(keymap.Press("p"))
	until := func(wanted string) {
		t.Helper()
		for !strings.Contains(p.View(), wanted) {
			if next == nil {
				t.Fatalf("%q was never seen:\n%s", wanted, p.View())
			}
			next = p.Page.Update(uitest.Answer(next))
		}
	}
	until("… inference gateway")
	until("… a name server")
	p.Sees("probes 0/3")
	until("✓ a name server      must be refused  network is unreachable")
	p.Sees("… metadata address")
	p.Sees("probes 1/3")
	until("✓ inference gateway")
	p.Sees("probes 3/3")
	until("In a sandbox with kernel 4.4.0")
}

// manyProbes is a machine whose proof has more probes than a small screen has rows.
func manyProbes() *machine {
	m := sound()
	m.proof = &doctor.Proof{Kernel: "4.4.0"}
	for i := range 16 {
		m.proof.Results = append(m.proof.Results, probe.Result{
			Name: fmt.Sprintf("probe %c of the sandbox", 'a'+i), Target: fmt.Sprintf("192.0.2.%d:53", i),
			Want: probe.Refused, OK: true, Took: 1200, Detail: "name unknown to the name server, which is far",
		})
	}
	return m
}

func TestAllProbesCanBeReachedOnASmallScreen(t *testing.T) {
	p := newUser(t, manyProbes(), 60, 16)
	p.Press("p")
	p.Sees("▸ ✓ probe a of the sandbox")
	p.Sees("192.0.2.0:53")
	p.Sees("name unknown to the name server, which is far, after 1.2ms")
	p.DoesNotSee("probe p of the sandbox")
	for range 15 {
		p.Press("down")
	}
	p.Sees("▸ ✓ probe p of the sandbox")
	p.Sees("192.0.2.15:53")
	p.Send(tea.MouseWheelMsg{Button: tea.MouseWheelUp})
	p.Sees("192.0.2.14:53")
	p.ClickOn("probe m")
	p.Sees("192.0.2.12:53")
	p.Press("home")
	p.Sees("▸ ✓ probe a of the sandbox")
	p.Resize(40, 12)
	p.Press("end")
	p.Sees("▸ ✓ probe p")
	p.Fits("the proof on the smallest screen")
}

func TestTheFailedProbeIsSelected(t *testing.T) {
	m := manyProbes()
	m.proof.Kernel, m.proof.Failed = "", 1
	m.proof.Results[11].OK, m.proof.Results[11].Detail = false, "connected"
	p := newUser(t, m, 60, 16)
	p.Press("p")
	p.Sees("▸ ✗ probe l of the sandbox")
	p.Sees("connected, after 1.2ms")
	p.Sees("In a sandbox without an agent")
	p.Sees("1 of 16 probes failed: the sandbox is not isolated")
}

func TestNothingIsProvedWhileSomethingIsMissing(t *testing.T) {
	p := newUser(t, sample(), 80, 24)
	p.Press("p")
	p.DoesNotSee("workspace")
	p.DoesNotSee("prove")
}

func TestACommandThatDoesNotStartIsReported(t *testing.T) {
	p := newUser(t, sample(), 80, 24)
	p.Send(page.Returned{Err: errors.New("it did not start")})
	p.Sees("it did not start")
}

func TestRawBytesReachNoScreen(t *testing.T) {
	p := newUser(t, sample(), 80, 24)
	goTo(p, "settings \x1b[31m")
	if view := p.Page.View(); strings.Contains(view, "\x1b]0") {
		t.Errorf("%q", view)
	}
}

func TestTheMouseGoesToARowAndTheWheelThroughThem(t *testing.T) {
	p := newUser(t, sample(), 80, 24)
	p.ClickOn("model")
	p.Sees("to fix it: start Ollama")
	p.Press("q")
	if !slices.Equal(p.Asked, []page.Request{page.Close{}}) {
		t.Errorf("asked %+v", p.Asked)
	}
}

var mash = []string{"enter", "f", "F", "r", "p", "c", "esc", "q", "up", "down", "pgdown", "home", "end", "G", "x"}

func FuzzKeys(f *testing.F) {
	f.Add(uint64(1))
	f.Add(uint64(7))
	f.Fuzz(func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 1))
		m := sample()
		if seed%2 == 0 {
			m = sound()
		}
		p := newUser(t, m, 80, 24)
		p.ActRandomly(random, 150, mash)
		for _, asked := range p.Asked {
			if command, ok := asked.(page.Command); ok && !slices.Contains([]string{"doctor", "config"}, command.Args[0]) {
				t.Errorf("asked %+v", command)
			}
		}
	})
}
