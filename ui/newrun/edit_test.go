package newrun

import (
	"slices"
	"strings"
	"testing"

	"aibox/app/run"
	"aibox/config"
	"aibox/internal/secret"
	"aibox/ui/page"
)

func edited() run.Request {
	return run.Request{
		Agent: "codex", Repository: "/home/ann/blog", Branch: "dark/mode", Prompt: "mend @cart",
		Settings: overrides(map[string]string{"pids": "64", "hide": "vault", "system": "careful"}), Options: map[string]string{"effort": "high"},
		Secrets: map[string]secret.Value{"key": secret.New("canary")},
	}
}

func TestARequestThatIsEditedIsReturnedAndNotStarted(t *testing.T) {
	want := edited()
	p := newUser(t, newWorld(t), 80, 24, page.NewRun{Edit: &want})
	p.Sees("mend @cart")
	p.Press("ctrl+s", "enter")
	asked, ok := p.last().(page.Run)
	if !ok || !asked.Request.Equal(edited()) {
		t.Errorf("asked for %+v, with the secret %q", p.last(), asked.Request.Secrets["key"].Reveal())
	}
	if len(p.w.started) > 0 || len(p.w.remembered) > 0 {
		t.Errorf("started %q, remembered %+v", p.w.started, p.w.remembered)
	}
	if !want.Equal(edited()) {
		t.Errorf("the caller's request became %+v", want)
	}
}

func TestAnEditedRequestHasWhatWasChosenAndTyped(t *testing.T) {
	want := run.Request{Agent: "codex", Repository: "/home/ann/shop"}
	p := newUser(t, newWorld(t), 80, 24, page.NewRun{Edit: &want})
	p.Type("mend it")
	p.Press("tab", "enter", "up", "enter", "down", "down")
	p.Type("secret")
	p.Press("ctrl+s", "enter")
	want.Prompt, want.Options = "mend it", map[string]string{"effort": "low"}
	want.Secrets = map[string]secret.Value{"key": secret.New("secret")}
	if asked, ok := p.last().(page.Run); !ok || !asked.Request.Equal(want) {
		t.Errorf("asked for %+v, with the secret %q", p.last(), asked.Request.Secrets["key"].Reveal())
	}
}

func TestAnEditThatIsLeftReturnsNothing(t *testing.T) {
	want := edited()
	p := newUser(t, newWorld(t), 80, 24, page.NewRun{Edit: &want})
	p.Press("esc", "esc")
	if p.last() != page.Request(page.Close{}) {
		t.Errorf("asked for %+v", p.last())
	}
}

func TestAnEditDoesNotOfferToBakeAMissingImage(t *testing.T) {
	want := run.Request{Agent: "aider", Repository: "/home/ann/shop", Prompt: "mend it"}
	p := newUser(t, newWorld(t), 80, 24, page.NewRun{Edit: &want})
	p.Press("ctrl+s")
	p.Sees("has to be baked first, some minutes")
	p.DoesNotSee("b bake")
	p.Press("b")
	if len(p.Asked) > 0 {
		t.Errorf("asked for %+v", p.Asked)
	}
}

func TestAnEditNamesTheRepositoryAsItWasGiven(t *testing.T) {
	w := newWorld(t)
	w.places["."] = w.places["/home/ann/shop"]
	p := newUser(t, w, 80, 24, page.NewRun{Edit: &run.Request{Agent: "codex", Prompt: "mend it"}})
	p.Press("ctrl+s", "enter")
	if asked, ok := p.last().(page.Run); !ok || asked.Request.Repository != "" {
		t.Errorf("asked for %+v", p.last())
	}
	p = newUser(t, w, 80, 24, page.NewRun{Edit: &run.Request{Agent: "codex", Prompt: "mend it"}})
	p.Press("ctrl+c")
	if p.last() != page.Request(page.Close{}) {
		t.Errorf("asked for %+v", p.last())
	}
}

func TestAResumedSessionKeepsItsWorkspaceAndItsOptions(t *testing.T) {
	w := newWorld(t)
	place := w.places["/home/ann/shop"]
	place.Resumed = &run.Request{Agent: "codex", Repository: "/home/ann/shop", Branch: "feature", Options: map[string]string{"effort": "high"}}
	w.places["/home/ann/shop"] = place
	given := run.Request{Agent: "codex", Repository: "/home/ann/shop", Resumes: "0dq4f", NoFeedback: true, Prompt: "go on"}
	want := given.Clone()
	want.Repository = ""

	p := newUser(t, w, 80, 24, page.NewRun{Edit: &given})
	p.Press("ctrl+s")
	p.Sees("--resume=0dq4f --no-feedback")
	p.Press("enter")
	if asked, ok := p.last().(page.Run); !ok || !asked.Request.Equal(want) {
		t.Errorf("asked for %+v", p.last())
	}

	p = newUser(t, w, 80, 24, page.NewRun{Edit: &given})
	p.goTo("effort")
	p.Press("enter", "up", "enter")
	p.Press("esc", "g", "enter")
	p.Sees("It keeps its workspace, a copy of /home/ann/shop.")
	p.Press("x", "enter", "ctrl+s", "enter")
	want.Options = map[string]string{"effort": p.m.request.Options["effort"]}
	if asked, ok := p.last().(page.Run); !ok || !asked.Request.Equal(want) || want.Options["effort"] == "high" {
		t.Errorf("asked for %+v", p.last())
	}
}

func TestAnEditKeepsASettingThatTheUserGaveAlthoughTheSettingsFileHasTheSame(t *testing.T) {
	w := newWorld(t)
	shop := w.places["/home/ann/shop"]
	var err error
	if shop.Settings, err = (config.Catalog{}).Resolve(config.Input{Environment: []string{"AIBOX_ACCEPT=branch"}}); err != nil {
		t.Fatal(err)
	}
	w.places["/home/ann/shop"] = shop
	want := run.Request{Agent: "codex", Repository: "/home/ann/shop", Prompt: "fix it", Detached: true, Settings: overrides(map[string]string{"accept": "branch"})}
	p := newUser(t, w, 80, 24, page.NewRun{Edit: &want})
	p.Press("ctrl+s", "enter")
	if asked, ok := p.last().(page.Run); !ok || !asked.Request.Equal(want) {
		t.Errorf("asked for %+v instead of %+v", p.last(), want)
	}
}

// The editor cannot hold tabs, and shows characters that are not printable as escapes.
func TestATaskThatIsNotEditedIsNotChanged(t *testing.T) {
	for _, prompt := range []string{"a\tb ⚠️\u3000c\n", "\tgo test", strings.Repeat("line\n", 12_000) + "end"} {
		p := newUser(t, newWorld(t), 80, 24, page.NewRun{Edit: &run.Request{Agent: "codex", Repository: "/home/ann/shop", Prompt: prompt}})
		if question := p.m.Leaving(); question != nil {
			t.Errorf("asks %q about a task that the user has not written", question.Text)
		}
		p.Press("ctrl+s", "enter")
		if asked, ok := p.last().(page.Run); !ok || asked.Request.Prompt != prompt {
			t.Errorf("the task %.20q became %.20q", prompt, asked.Request.Prompt)
		}
	}
}

func TestACommandThatIsNotEditedIsNotChanged(t *testing.T) {
	want := run.Request{Agent: "shell", Repository: "/home/ann/shop", Args: []string{"sh", "-c", "cat <<-END\n\ttext\n\tEND\n"}}
	p := newUser(t, newWorld(t), 80, 24, page.NewRun{Edit: &want})
	p.Press("ctrl+s", "enter")
	if asked, ok := p.last().(page.Run); !ok || !slices.Equal(asked.Request.Args, want.Args) {
		t.Errorf("the command became %q", asked.Request.Args)
	}
}

func TestAnEditedTaskIsThatOfTheEditor(t *testing.T) {
	p := newUser(t, newWorld(t), 80, 24, page.NewRun{Edit: &run.Request{Agent: "codex", Repository: "/home/ann/shop", Prompt: "a\tb"}})
	p.m.enter(stepTask)
	p.Type("c")
	if p.m.Leaving() == nil {
		t.Error("leaves without a question")
	}
	p.Press("ctrl+s", "enter")
	if asked, ok := p.last().(page.Run); !ok || asked.Request.Prompt != "a    bc" {
		t.Errorf("the task became %q", asked.Request.Prompt)
	}
}
