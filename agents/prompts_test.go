package agents

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// promptScreens returns the recorded screens of the agents, by agent: those with a question,
// or those of agents that work or are idle.
func promptScreens(t *testing.T, questions bool) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/prompts/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	screens := map[string]string{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		if strings.Contains(name, "-") == questions {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		screens[name] = string(text)
	}
	return screens
}

func agentNamed(t *testing.T, name string) Agent {
	t.Helper()
	agent, err := Builtin().Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return agent
}

func TestTheQuestionsOfEachAgentAreRecognized(t *testing.T) {
	screens := promptScreens(t, true)
	for name, shown := range screens {
		agent := agentNamed(t, name)
		if !Waits(agent, shown) {
			t.Errorf("%s is not seen to wait on\n%s", name, shown)
		}
		if name == "crush" { // it draws the whole screen, so nothing scrolls away
			continue
		}
		if after := shown + strings.Repeat("more output\n", promptRows); Waits(agent, after) {
			t.Errorf("%s is seen to wait although its question has scrolled away", name)
		}
	}
	for _, name := range Builtin().Names() {
		_, asks := agentNamed(t, name).(Asker)
		if _, tested := screens[name]; asks != tested {
			t.Errorf("%s has questions: %v; it has a recorded screen: %v", name, asks, tested)
		}
		// Amp and Cursor ask nothing without an account.
		if silent := name == "amp" || name == "cursor" || name == "shell"; asks == silent {
			t.Errorf("%s has questions: %v", name, asks)
		}
	}
}

func TestQuestionsOfOtherSizesAreRecognized(t *testing.T) {
	diff := strings.Repeat("│ + a line of a long file │\n", 2*promptRows)
	for name, c := range map[string]struct{ agent, shown string }{
		"wrapped":          {"aider", "Add file to the chat? (Y)es/(N)o/(A)ll/\n(S)kip all/(D)on't ask again [Yes]: "},
		"cut in a word":    {"aider", "Run shell command? (Y)es/(N)o/(D)on't ask again [Ye\ns]: "},
		"cut in a key":     {"aider", "Attempt to fix lint errors? (\nY)es/(N)o [Yes]:"},
		"cut at a blank":   {"aider", "Add file to the chat? (Y)es/(N)o/(S)kip\nall/(D)on't ask\nagain\n[No]:"},
		"another default":  {"aider", "Run shell command? (Y)es/(N)o/(D)on't ask again [No]: \n\n"},
		"a long diff":      {"crush", "│ Permission Required ╱╱╱ │\n" + diff + "│ Allow      Allow for Session      Deny │\n"},
		"a narrow window":  {"crush", "│ Permission Required │\n│ Tool bash │\n│ Allow │\n│ Allow for Session │\n│ Deny │\n"},
		"a tall window":    {"crush", "│ Permission Required ╱╱╱ │\n│ Allow      Allow for Session      Deny │\n" + strings.Repeat("│\n", 2*promptRows) + "esc cancel • tab focus chat • ctrl+c quit • ctrl+g more\n"},
		"one of several":   {"crush", "Which one?\n↑ up • ↓ down • enter select • 1-2 quick select • alt+n note • esc exit\n"},
		"its end is cut":   {"crush", "Which one?\n↑ up • ↓ down • enter select …\n"},
		"some of several":  {"crush", "Which ones?\n↑ up • ↓ down • space toggle • 1-4 quick select • alt+n note • enter done • esc exit\n"},
		"another answer":   {"crush", "Which one?\n> \n↑ up • enter select • esc exit\n"},
		"yes or no":        {"crush", "Is it done?\n←/→ switch • enter confirm • y yes • n no • alt+n note\n"},
		"a text":           {"crush", "How is it called?\nenter submit • shift+enter newline • esc exit\n"},
		"several at once":  {"crush", "Which one?\n[ prev tab • ] next tab • ↑ up • ↓ down …\n"},
		"at their end":     {"crush", "Ready to go?\n↑ scroll • ←/→ switch • y yes • n no • enter confirm • esc exit\n"},
		"codex: questions": {"codex", "Which one?\n  tab to add notes | enter to submit answer\n"},
	} {
		if !Waits(agentNamed(t, c.agent), c.shown) {
			t.Errorf("%s: %s is not seen to wait on\n%s", name, c.agent, c.shown)
		}
	}
}

func TestAnAgentAtWorkOrAtRestDoesNotWait(t *testing.T) {
	screens := promptScreens(t, false)
	if len(screens) < 4 {
		t.Fatalf("only %d screens", len(screens))
	}
	for name, shown := range screens {
		agent, _, _ := strings.Cut(name, "-")
		if Waits(agentNamed(t, agent), shown) {
			t.Errorf("%s is seen to wait on\n%s", name, shown)
		}
	}
	texts := []string{"", "\n", "1. Yes\n2. No\n", "Do you want to proceed?\n", "press Esc to cancel\n", strings.Repeat("❯ ", 10000)}
	for _, name := range Builtin().Names() {
		if i := slices.IndexFunc(texts, func(text string) bool { return Waits(agentNamed(t, name), text) }); i >= 0 {
			t.Errorf("%s is seen to wait on %q", name, texts[i])
		}
	}
}
