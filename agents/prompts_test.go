package agents

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// promptScreens returns the recorded screens of the agents, by agent: those with a question,
// or those of agents at work and at rest.
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
		if after := shown + strings.Repeat("more output\n", promptRows); Waits(agent, after) {
			t.Errorf("%s is seen to wait although its question has scrolled away", name)
		}
	}
	for _, name := range Builtin().Names() {
		_, asks := agentNamed(t, name).(Asker)
		if _, tested := screens[name]; asks != tested {
			t.Errorf("%s has questions: %v; it has a recorded screen: %v", name, asks, tested)
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
