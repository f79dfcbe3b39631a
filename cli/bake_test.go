package cli

import (
	"slices"
	"strings"
	"testing"

	"aibox/bakery"
	"aibox/internal/fault"
)

func TestBakingAnUnknownImageReportsThatItIsNeitherAnAgentNorATemplate(t *testing.T) {
	a, _, _ := testApp(t)
	err := a.execute(t.Context(), []string{"bake", "browsr"})
	if fault.KindOf(err) != fault.Usage || err.Error() != `there is no agent or template "browsr"` {
		t.Errorf("got %v (%v)", err, fault.KindOf(err))
	}
	hints := fault.Hints(err)
	if !slices.Contains(hints, `did you mean "browser"?`) || !strings.Contains(strings.Join(hints, "\n"), ", browser, code, desktop") {
		t.Errorf("the hints are %q", hints)
	}
}

func TestBakingABrokenAgentReportsWhatIsWrong(t *testing.T) {
	a, _, _ := withAgents(t, map[string]string{"bad.toml": "titel = \"B\"\n" + minimal})
	err := a.execute(t.Context(), []string{"bake", "bad"})
	if fault.KindOf(err) != fault.Usage || !slices.Contains(fault.Hints(err), `did you mean "title"?`) {
		t.Errorf("got %v, %q", err, fault.Hints(err))
	}
}

func TestImagesThatWereBakedBeforeAFailureArePrintedInTheFormThatWasAskedFor(t *testing.T) {
	a, out, _ := testApp(t)
	for _, c := range []struct {
		json  bool
		baked []bakery.Baked
		want  string
	}{
		{false, []bakery.Baked{{Name: "base", Ref: "aibox/base:1"}}, "aibox/base:1\n"},
		{true, []bakery.Baked{{Name: "base", Ref: "aibox/base:1"}}, `"ref": "aibox/base:1"`},
		{true, nil, "[]\n"},
	} {
		out.Reset()
		o := bakeOptions{cli: a, json: c.json}
		if err := o.print(c.baked); err != nil || !strings.Contains(out.String(), c.want) || c.json != strings.HasPrefix(out.String(), "[") {
			t.Errorf("%+v is printed as %q, %v", c, out.String(), err)
		}
	}
}

func TestBakeCompletesAgentsAndTemplates(t *testing.T) {
	a, out, _ := testApp(t)
	if err := a.execute(t.Context(), []string{"__complete", "bake", "code", ""}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"browser": true, "codex": true, "code": false} {
		if got := strings.Contains("\n"+out.String(), "\n"+name+"\t"); got != want {
			t.Errorf("after code, %s is offered: %v\n%s", name, got, out)
		}
	}
}
