package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// An unattended session that reaches its cost limit ends, its work is kept, and the cost is
// reported.
func TestALimitOfCostEndsTheSessionAndKeepsItsWork(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write(filepath.Join(m.home, ".config/aibox/prices.toml"), "[scripted.scripted]\ninput = 1000\noutput = 1000\n")
	o := m.aibox(5, "run", "codex", "--repo", m.repo("p", nil), "--prompt", "go", "--max-cost", "0.01", "--json",
		"--inference", m.script("[[step]]\nwrite = { path = \"made.txt\", content = \"made\\n\" }\n"))
	r := m.ended(o)
	if f := r.result().Fault; f == nil || f.Kind != "limit" || !strings.Contains(f.Message, "limit of $0.01 for the model") || len(r.Files) != 1 {
		t.Errorf("the end is %+v, with %+v", f, r.Files)
	}
	if !strings.Contains(o.stderr, "of $0.01 (--max-cost)") || len(r.result().Models) != 1 || r.result().Models[0].Tokens != r.result().Tokens || r.result().Tokens.Cost < 0.01 {
		t.Errorf("no warning, or no cost:\n%s", o)
	}
}

func TestALimitOfCostNeedsAPrice(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	url, _ := provider(t, "canary-5e6f7a8b")
	repo := m.repo("p", nil)
	m.env = append(m.env, "AIBOX_INFERENCE_KEY=canary-5e6f7a8b")
	run := []string{"run", "codex", "--repo", repo, "--prompt", "go", "--max-cost", "1", "--inference", url, "--model", "one"}
	o := m.aibox(2, run...)
	if !strings.Contains(o.stderr, `the price of the model "one"`) || !strings.Contains(o.stderr, `prices.toml beside your settings: [any."one"]`) || len(m.stored()) > 0 {
		t.Errorf("the output is\n%s", o)
	}
	for _, value := range []string{"much", "-1", "0.001"} {
		if o := m.aibox(2, "run", "shell", "--repo", repo, "--max-cost", value, "--", "true"); !strings.Contains(o.stderr, "--max-cost must be") {
			t.Errorf("%s: the output is\n%s", value, o)
		}
	}
	m.write(filepath.Join(m.home, ".config/aibox/prices.toml"), fmt.Sprintf("[any.one]\ninput = %d\noutput = 1\n", 1))
	if o := m.aibox(0, "run", "shell", "--repo", repo, "--max-cost", "1", "--inference", url, "--model", "one", "--", "sh", "-c",
		`curl -sS -H "Authorization: Bearer $OPENAI_API_KEY" -H 'Content-Type: application/json' -d '{"model":"one","messages":[{"role":"user","content":"?"}]}' "$OPENAI_BASE_URL/chat/completions"`); !strings.Contains(o.stderr, "7 tokens in, 2 out, less than $0.0001") {
		t.Errorf("the output is\n%s", o)
	}
}
