package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aibox/session"
)

// reviewed is what `aibox comment --json` prints.
type reviewed struct {
	Comments []struct {
		Number int    `json:"number"`
		Path   string `json:"path"`
		Line   int    `json:"line"`
		Quote  string `json:"quote"`
		Hunk   string `json:"hunk"`
		Diff   string `json:"diff"`
		Text   string `json:"text"`
		Made   string `json:"made"`
		Sent   string `json:"sent"`
	} `json:"comments"`
	Rejected []struct {
		Hunk string `json:"hunk"`
		Path string `json:"path"`
		Diff string `json:"diff"`
		Note string `json:"note"`
		Made string `json:"made"`
		Sent string `json:"sent"`
	} `json:"rejected"`
}

func (m *machine) feedback(id string) reviewed {
	m.t.Helper()
	var f reviewed
	decoder := json.NewDecoder(strings.NewReader(m.aibox(0, "comment", id, "--json").stdout))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&f); err != nil {
		m.t.Fatal(err)
	}
	return f
}

// twoHunks is a run whose agent changed two places of a file and made another.
func (m *machine) twoHunks(t *testing.T) report {
	t.Helper()
	lines := strings.Repeat("line\n", 30)
	repo := m.repo("p", map[string]string{"a.txt": "first\n" + lines + "last\n"})
	return m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--json", "--", "sh", "-c",
		"sed -i -e 's/first/FIRST/' -e 's/last/LAST/' a.txt; echo new > new.txt"))
}

func TestRejectedHunksAreLeftOutAndSentBack(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	r := m.twoHunks(t)
	m.aibox(0, "reject", r.ID, "--files", "new.txt", "-m", "no new files, please")
	m.aibox(0, "comment", r.ID, "a.txt:1", "shouting \x1b]0;title\a is rude")
	m.aibox(0, "comment", r.ID, ".", "and add\ntests")
	f := m.feedback(r.ID)
	if len(f.Comments) != 2 || f.Comments[0].Quote != "FIRST" || len(f.Rejected) != 1 || f.Rejected[0].Diff != "new file\n+new\n" {
		t.Fatalf("the feedback is %+v", f)
	}
	if o := m.aibox(0, "comment", r.ID); harmful(o.stdout) != "" || !strings.Contains(o.stdout, "is rude") || !strings.Contains(o.stdout, "not yet") {
		t.Errorf("the list is\n%s", o)
	}
	m.aibox(0, "accept", r.ID)
	branch := m.record(r.ID).State.Branch
	if files := m.git(r.Repository, "diff", "--name-only", "HEAD", branch); files != "a.txt\n" {
		t.Errorf("the branch changes %q", files)
	}
	show := `cat "$AIBOX_PROMPT_FILE"`
	next := m.ended(m.aibox(0, "run", "--resume", r.ID, "--json", "--", "sh", "-c", show))
	printed := m.aibox(0, "logs", next.ID).stdout
	for _, want := range []string{"+new\n", "no new files, please", "a.txt, line 1", "FIRST", "and add\ntests"} {
		if !strings.Contains(printed, want) {
			t.Errorf("the prompt lacks %q:\n%s", want, printed)
		}
	}
	for _, sent := range []string{m.feedback(r.ID).Comments[0].Sent, m.feedback(r.ID).Rejected[0].Sent} {
		if sent != next.ID {
			t.Errorf("sent to %q", sent)
		}
	}
	if o := m.aibox(2, "comment", r.ID, ".", "more"); !strings.Contains(o.stderr, "name "+next.ID+" instead") {
		t.Errorf("a comment on the old one prints\n%s", o)
	}
	third := m.ended(m.aibox(0, "run", "--resume", next.ID, "--prompt", "go on", "--json", "--", "sh", "-c", show))
	if printed := m.aibox(0, "logs", third.ID).stdout; strings.TrimSpace(printed) != "go on" {
		t.Errorf("it was sent twice:\n%s", printed)
	}
}

func TestFeedbackIsKeptIfAStartFailsOrItIsNotSent(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	r := m.twoHunks(t)
	rejected := m.aibox(0, "reject", r.ID, "--files", "new.txt").stderr
	commented := m.aibox(0, "comment", r.ID, ".", "add tests").stderr
	for _, hint := range []string{rejected, commented} {
		if resume := "`aibox run --resume " + r.ID + " -- COMMAND`"; !strings.Contains(hint, resume) {
			t.Errorf("%q has no %s", hint, resume)
		}
	}
	open := func(id, when string) {
		t.Helper()
		if f := m.feedback(id); len(f.Comments) != 1 || f.Comments[0].Sent != "" || len(f.Rejected) != 1 || f.Rejected[0].Sent != "" {
			t.Errorf("%s the feedback is %+v", when, f)
		}
	}
	m.aibox(3, "run", "--resume", r.ID, "--image", "no/such:image", "--", "true")
	open(r.ID, "without an image")
	m.aibox(3, "run", "codex", "--resume", r.ID, "--network", "local", "--inference", "http://127.0.0.1:1")
	open(r.ID, "without a model")
	if !m.dieAt(session.Spec{Repository: r.Repository, Resumes: session.ID(r.ID)}, "sandbox", true) {
		t.Fatal("the supervisor was killed too late")
	}
	m.aibox(0, "ls")
	open(r.ID, "after a start that was killed")
	if o := m.aibox(2, "run", "codex", "--resume", r.ID, "--no-feedback", "--inference", "scripted"); !strings.Contains(o.stderr, "needs a task") {
		t.Errorf("without feedback and prompt the output is\n%s", o)
	}
	next := m.ended(m.aibox(0, "run", "--resume", r.ID, "--no-feedback", "--prompt", "go on", "--json", "--", "sh", "-c", `cat "$AIBOX_PROMPT_FILE"`))
	if printed := m.aibox(0, "logs", next.ID).stdout; strings.TrimSpace(printed) != "go on" {
		t.Errorf("held back, the prompt is\n%s", printed)
	}
	open(next.ID, "held back, in the next session,")
}

// What a real agent's model receives is what counts.
func TestTheModelOfARealAgentReceivesTheFeedback(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{"codex", "opencode"} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			repo := m.repo("p", nil)
			first := m.ended(m.aibox(0, "run", agent, "--repo", repo, "--inference", step(m, "made.txt", `quite wrong\n`), "--prompt", "make a file", "--json"))
			m.aibox(0, "reject", first.ID, "--files", "made.txt", "-m", "spell it backwards")
			m.aibox(0, "comment", first.ID, "made.txt:1", "who wrote this")
			script := m.script(`expect = "## 1. made.txt\n\n` + "```diff\\nnew file\\n+quite wrong\\n```" + `\n\nReason: spell it backwards\n\n# Comments\n\n` +
				`## 1. made.txt, line 1\n\n` + "```\\nquite wrong\\n```" + `\n\nwho wrote this"` + "\n" +
				"[[step]]\nsay = \"as you wish\"\nwrite = { path = \"received.txt\", content = \"{received}\" }\n")
			second := m.ended(m.aibox(0, "run", "--resume", first.ID, "--inference", script, "--json"))
			if printed := m.read(m.record(second.ID).State.Workspace.Path, "received.txt"); printed != "yes" {
				t.Errorf("the model received %s", printed)
			}
			if !strings.Contains(m.read(filepath.Join(m.sessions(), second.ID, "spec.json")), "spell it backwards") {
				t.Error("the record does not hold what the agent received")
			}
		})
	}
}

func TestWorkIsSentBackFromTheTerminalUIWithFeedbackFromTheEditor(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write(filepath.Join(m.home, "editor"), "#!/bin/sh\ncp \"$1\" ~/shown\nprintf 'make it blue\\n' >> ~/feedback\ncat ~/feedback ~/shown > \"$1\"\n")
	if err := os.Chmod(filepath.Join(m.home, "editor"), 0o700); err != nil {
		t.Fatal(err)
	}
	m.env = append(m.env, "EDITOR="+filepath.Join(m.home, "editor"))
	script := m.script("[[step]]\nwrite = { path = \"received.txt\", content = \"{received:make it blue}\\n\" }\n")
	first := m.ended(m.aibox(0, "run", "codex", "--repo", m.repo("p", nil), "--prompt", "go", "--inference", script, "--json"))
	if received := m.read(m.record(first.ID).State.Workspace.Path, "received.txt"); received != "no\n" {
		t.Fatalf("the first session received %q", received)
	}
	s := m.onTerminal()
	s.awaitShown(first.ID)
	s.typed("S")
	s.awaitShown("enter goes back")
	s.typed("\r")
	s.awaitShown(`continued`)
	all := m.stored()
	if len(all) != 2 {
		t.Fatalf("%d sessions", len(all))
	}
	spec := m.read(m.home, ".local/state/aibox/sessions", all[1].ID, "spec.json")
	if !strings.Contains(spec, `"resumes": "`+first.ID+`"`) || !strings.Contains(spec, `"prompt": "make it blue"`) {
		t.Errorf("the second session is %s", spec)
	}
	if received := m.read(m.record(all[1].ID).State.Workspace.Path, "received.txt"); received != "yes\n" {
		t.Errorf("the second session received %q", received)
	}
	if shown := m.read(m.home, "shown"); !strings.Contains(shown, "what codex should do now") || !strings.Contains(shown, "An empty text sends nothing") {
		t.Errorf("the editor shows %q", shown)
	}
	s.typed("q")
	s.ends(0)
}
