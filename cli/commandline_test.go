package cli

import (
	"strings"
	"testing"

	"aibox/agents"
	"aibox/agents/spec"
	"aibox/app/run"
	"aibox/config"

	"pgregory.net/rapid"
)

// drawValue returns a text that the field may accept.
func drawValue(t *rapid.T, field spec.Field) string {
	word := rapid.StringMatching(`[a-z0-9=!*,."' /-]{1,12}`)
	switch field.Type {
	case spec.Bool:
		return rapid.SampledFrom([]string{"true", "false"}).Draw(t, field.Key)
	case spec.Choice:
		return rapid.SampledFrom(field.Choices).Draw(t, field.Key)
	case spec.Choices:
		return strings.Join(rapid.SliceOfDistinct(rapid.SampledFrom(field.Choices), rapid.ID).Draw(t, field.Key), ",")
	case spec.Duration:
		return rapid.SampledFrom([]string{"0", "90s", "1h30m", "2d"}).Draw(t, field.Key)
	case spec.Decimal:
		return rapid.SampledFrom([]string{"0", "2", "1.5", "auto"}).Draw(t, field.Key)
	case spec.Size:
		return rapid.StringMatching(`[1-9][0-9]{0,3}(|m|GiB| mb)|0`).Draw(t, field.Key)
	case spec.Int:
		return rapid.StringMatching(`[1-9][0-9]{0,4}|0`).Draw(t, field.Key)
	default:
		return word.Draw(t, field.Key)
	}
}

// drawRequest returns a request that the command line can express.
func drawRequest(t *rapid.T, all []agents.Agent) (run.Request, agents.Agent) {
	agent := rapid.SampledFrom(all).Draw(t, "agent")
	text := rapid.StringMatching(`[ -~äß\n]{0,20}`)
	r := run.Request{
		Agent: agent.Info().Name, Repository: text.Draw(t, "repository"), Branch: text.Draw(t, "branch"), Prompt: text.Draw(t, "prompt"),
		Interactive: rapid.Bool().Draw(t, "interactive"), Detached: rapid.Bool().Draw(t, "detached"),
		Resumes: text.Draw(t, "resumes"), NoFeedback: rapid.Bool().Draw(t, "no feedback"),
		Args: rapid.SliceOfN(text, 0, 3).Draw(t, "arguments"),
	}
	for _, field := range config.RunFields() {
		if rapid.Bool().Draw(t, "gives "+field.Key) {
			_ = r.Settings.Set(field.Key, drawValue(t, field)) // a text that is refused is left out
		}
	}
	options := agents.Options(agent)
	fields, err := spec.Of(options)
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range fields {
		if field.Type == spec.Secret || !rapid.Bool().Draw(t, "chooses "+field.Key) {
			continue
		}
		if text := drawValue(t, field); field.Set(options, text) == nil {
			if r.Options == nil {
				r.Options = map[string]string{}
			}
			r.Options[field.Key] = field.FlagText(options)
		}
	}
	return r, agent
}

func TestThePrintedCommandLineMakesTheSameRequest(t *testing.T) {
	a, _, _ := testApp(t)
	all := a.app.Agents().All()
	rapid.Check(t, func(rt *rapid.T) {
		want, agent := drawRequest(rt, all)
		for name, own := range map[string]func(string) bool{"own flags": run.OwnFlags(agent), "--set": nil} {
			words := want.CommandLine(own)
			if got := requestOf(t, a, words[1:]...); !got.Equal(want) {
				rt.Fatalf("with %s, %q\ngives  %+v\nand not %+v", name, words, got, want)
			}
		}
	})
}

// The flags of settings are declared only for commands that the command line can lead to.
func TestEveryNameOfACommandFindsItsFlags(t *testing.T) {
	for _, words := range [][]string{
		{"run", "codex", "--memory"},
		{"run", "--memory"},
		{"run", "--agent", "codex", "--memory"},
		{"--rootful", "run", "codex", "--memory"},
		{"rerun", "0dq4f", "--memory"},
		{"fork", "0dq4f", "--memory"},
	} {
		a, _, errOut := testApp(t)
		// Only a declared flag causes an error when its value is missing.
		if err := a.execute(t.Context(), words); err == nil || !strings.Contains(err.Error(), "--memory") || strings.Contains(err.Error(), "unknown") {
			t.Errorf("%q: %v\n%s", words, err, errOut)
		}
	}
	for _, words := range [][]string{{"help", "run", "codex"}, {"run", "codex", "--help"}, {"help", "fork"}} {
		a, out, _ := testApp(t)
		if err := a.execute(t.Context(), words); err != nil || !strings.Contains(out.String(), "--memory") {
			t.Errorf("%q: %v\n%s", words, err, out)
		}
	}
	a, out, _ := testApp(t)
	if err := a.execute(t.Context(), []string{"run", "--help"}); err != nil || !strings.Contains(out.String(), "  codex ") {
		t.Errorf("the help of run does not list the agents: %v\n%s", err, out)
	}
}
