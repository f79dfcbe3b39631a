package bakery_test

import (
	"slices"
	"strings"
	"testing"

	"aibox/bakery"
	"aibox/internal/fault"
)

func TestCustomRecipeIsBuiltLikeAnyOther(t *testing.T) {
	recipe := "ARG BASE\nFROM ${BASE}\nARG VERSION=7\nRUN mine\n"
	fake := reachable()
	k := builder(t, fake, files(), bakery.Options{Recipes: map[string]string{"mine": recipe}})
	if !slices.Equal(k.Names(), []string{"base", "agent", "mine"}) {
		t.Errorf("names: %q", k.Names())
	}
	done := bake(t, k, "mine")
	if !strings.HasPrefix(done[0].Ref, "aibox/mine:") || done[0].Image.Labels[bakery.LabelVersion] != "7" {
		t.Errorf("baked: %+v", done[0])
	}
	if status, err := k.Check(t.Context(), "mine"); err != nil || status[0].State != bakery.Fresh {
		t.Errorf("state: %+v, %v", status, err)
	}
	changed := builder(t, fake, files(), bakery.Options{Recipes: map[string]string{"mine": recipe + "RUN more\n"}})
	if status, err := changed.Check(t.Context(), "mine"); err != nil || status[0].State != bakery.Outdated {
		t.Errorf("state after a change: %+v, %v", status, err)
	}
}

func TestCustomRecipeCannotUseABuiltInName(t *testing.T) {
	for _, name := range []string{"base", "agent"} {
		_, err := bakery.New(reachable(), files(), bakery.Options{Recipes: map[string]string{name: "ARG BASE\nFROM evil\n"}})
		if fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v, want a usage fault", name, err)
		}
	}
}

func TestCustomRecipeBuildsOnAnotherImage(t *testing.T) {
	options := bakery.Options{
		Recipes: map[string]string{"mine": "ARG BASE\nFROM ${BASE}\nRUN mine\n"}, Below: map[string]string{"mine": "agent"},
	}
	fake := reachable()
	done := bake(t, builder(t, fake, files(), options), "mine")
	builds := fake.Builds()
	if len(done) != 1 || len(builds) != 3 || !strings.HasPrefix(builds[1].Ref, "aibox/agent:") || builds[2].Args["BASE"] != builds[1].Ref {
		t.Fatalf("baked %+v by %+v", done, builds)
	}
	changed := files()
	changed["agent.Dockerfile"].Data = append(changed["agent.Dockerfile"].Data, "RUN more\n"...)
	if status, err := builder(t, fake, changed, options).Check(t.Context(), "mine"); err != nil || status[0].State != bakery.Outdated {
		t.Errorf("state after a change below: %+v, %v", status, err)
	}
	for name, below := range map[string]string{"mine": "mine", "agent": "base", "other": "agent"} {
		options.Below = map[string]string{name: below}
		if _, err := bakery.New(fake, files(), options); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s on %s: %v, want a usage fault", name, below, err)
		}
	}
}

func TestBuildStepIsShownAsWritten(t *testing.T) {
	for raw, want := range map[string]string{
		"[stage-0 2/3] RUN --mount=type=cache,target=/x make all":                  "[stage-0 2/3] RUN make all",
		`[stage-0 2/3] RUN --mount=type=cache,target=/x ["/bin/sh","-euc","make"]`: "[stage-0 2/3] RUN make",
		`RUN ["/bin/sh","-euc","cat >/a \u003c\u003cEND\nx\nEND\n\u001b[31m"]`:     "RUN cat >/a <<END …",
		`RUN ["/bin/sh","-euc","\u001b[31mred"]`:                                   `RUN \x1b[31mred`,
		`RUN ["/bin/sh","-euc","make\nmake inst...`:                                "RUN make …",
		`RUN ["/bin/sh","-euc",7]`:                                                 `RUN ["/bin/sh","-euc",7]`,
		`RUN ["/bin/sh","-euc",`:                                                   `RUN ["/bin/sh","-euc",`,
	} {
		if got := bakery.StepName(raw); got != want {
			t.Errorf("%s is shown as %s, want %s", raw, got, want)
		}
	}
}
