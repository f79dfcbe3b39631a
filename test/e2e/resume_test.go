package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"aibox/session"
)

// step is a script that writes one file.
func step(m *machine, name, content string) string {
	return m.script("[[step]]\nsay = \"as you wish\"\nwrite = { path = \"" + name + "\", content = \"" + content + "\" }\n")
}

func TestAResumedSessionHasTheWorkOfBothAndTheOtherKeepsItsRecord(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", map[string]string{"a.txt": "a\n"})
	first := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--timeout", "9m", "--json", "--", "sh", "-c", "echo one > one.txt"))
	// The user's own changes between two runs are included.
	m.write(filepath.Join(m.record(first.ID).State.Workspace.Path, "between.txt"), "mine\n")
	second := m.ended(m.aibox(0, "run", "--resume", first.ID[:5], "--json", "--", "sh", "-c", "cat one.txt > two.txt"))
	if len(second.Files) != 3 || second.Agent != "shell" || second.Repository != repo || second.Timeout != "9m0s" {
		t.Errorf("the resumed session is %+v with %+v", second, second.Files)
	}
	if o := m.aibox(0, "diff", first.ID); !strings.Contains(o.stdout, "between.txt") || strings.Contains(o.stdout, "two.txt") {
		t.Errorf("the record of the first is not what it left:\n%s", o)
	}
	if o := m.aibox(0, "ls"); !strings.Contains(o.stdout, "continued") {
		t.Errorf("the list does not tell:\n%s", o)
	}
	for _, args := range [][]string{{"accept", first.ID}, {"discard", first.ID}, {"run", "--resume", first.ID, "--", "true"}} {
		if o := m.aibox(2, args...); !strings.Contains(o.stderr, "name "+second.ID+" instead") {
			t.Errorf("%q prints\n%s", args, o)
		}
	}
	m.aibox(0, "rm", first.ID)
	branch := strings.TrimSpace(m.aibox(0, "accept", second.ID).stdout)
	if files := m.git(repo, "diff", "--name-only", "HEAD", branch); files != "between.txt\none.txt\ntwo.txt\n" {
		t.Errorf("the branch changes %q", files)
	}
}

func TestWhatCannotBeResumedIsReportedInOneSentence(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", nil)
	gone := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--json", "--", "touch", "x"))
	m.aibox(0, "discard", gone.ID)
	running := m.detached("shell", "--network", "none", "--repo", repo, "--", "sh", "-c", worker)
	defer m.aibox(0, "stop", running)
	for want, args := range map[string][]string{
		"its workspace is gone": {"run", "--resume", gone.ID, "--", "true"},
		"is still running":      {"run", "--resume", running, "--", "true"},
		"no session":            {"run", "--resume", "zzzzz", "--", "true"},
		"--repo cannot be used": {"run", "--resume", gone.ID, "--repo", repo, "--", "true"},
	} {
		if o := m.aibox(2, args...); !strings.Contains(o.stderr, want) || !strings.Contains(o.stderr, "→") {
			t.Errorf("%q prints\n%s", args, o)
		}
	}
	if left := len(m.stored()); left != 2 {
		t.Errorf("there are %d sessions", left)
	}
}

// The workspace has one owner at any time: a start that fails or dies gives it
// back, with the conversations.
func TestAStartThatFailsOrDiesGivesTheWorkspaceBack(t *testing.T) {
	t.Parallel()
	var m *machine
	var repo, id, talk string
	begin := func() {
		m = newMachine(t)
		repo = m.repo("p", nil)
		id = m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--json", "--", "sh", "-c", "echo one > one.txt")).ID
		talk = filepath.Join(m.sessions(), id, "homes/codex/.codex%2Fsessions/talk")
		m.write(talk, "what was said")
	}
	whole := func(when string) {
		t.Helper()
		if m.read(talk) != "what was said" {
			t.Errorf("%s the conversation is gone", when)
		}
		if o := m.aibox(0, "diff", id); !strings.Contains(o.stdout, "one.txt") {
			t.Errorf("%s the work is gone:\n%s", when, o)
		}
		if o := m.aibox(0, "ls"); strings.Contains(o.stdout, "continued") || strings.Count(o.stdout, "\n") != 2 {
			t.Errorf("%s the list is wrong:\n%s", when, o)
		}
	}
	var listed outcome
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the last list of sessions:\n%s", listed)
		}
	})
	for _, stage := range []struct {
		name string
		done bool
	}{
		{"workspace", true},
		{"sandbox", true},
		{"probes", false}, // each probe reports its end, and soon after the last one the agent runs
	} {
		untilKilledInTime(t, func() bool {
			begin()
			return m.dieAt(session.Spec{Repository: repo, Resumes: session.ID(id)}, stage.name, stage.done)
		})
		// A supervisor that dies as it asks for a sandbox is waited for up to 20 s: it may come.
		eventually(t, 3*hung, "the next command repairs", func() bool {
			listed = m.aibox(0, "ls")
			return strings.Count(listed.stdout, "\n") == 2
		})
		whole("killed at " + stage.name)
	}
	m.aibox(3, "run", "--resume", id, "--image", "no/such:image", "--", "true")
	whole("without an image")
	m.aibox(3, "run", "codex", "--resume", id, "--network", "local", "--inference", "http://127.0.0.1:1", "--prompt", "x")
	whole("without a model")
	m.aibox(0, "accept", id)
}

// An agent may leave anything in its state folder: it is moved, and not followed.
func TestAStateFolderFullOfTricksIsMovedAsItIs(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", nil)
	secret := filepath.Join(m.home, "secret")
	m.write(secret, "canary")
	first := m.ended(m.aibox(0, "run", "codex", "--repo", repo, "--inference", step(m, "one.txt", "1"), "--prompt", "go", "--json"))
	state := filepath.Join(m.sessions(), first.ID, "homes/codex/.codex%2Fsessions")
	for name, target := range map[string]string{"link": secret, "up": "../../../../..", "abs": "/"} {
		if err := os.Symlink(target, filepath.Join(state, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(state, "0-pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	second := m.ended(m.aibox(0, "run", "--resume", first.ID, "--inference", step(m, "two.txt", "2"), "--prompt", "go on", "--json"))
	if len(second.Files) != 2 || second.result().Tokens.Input <= first.result().Tokens.Input {
		t.Errorf("the conversation was not gone on with: %+v after %+v, files %+v", second.result().Tokens, first.result().Tokens, second.Files)
	}
	if m.read(secret) != "canary" {
		t.Error("a link out of the state folder was followed")
	}
	m.aibox(0, "accept", second.ID)
	m.aibox(0, "gc", "--older-than", "0s")
	if left := m.stored(); len(left) > 0 {
		t.Errorf("after the clean-up there are %+v", left)
	}
}

func TestTheAgentReceivesItsLimitsAndTheChosenPrompts(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", map[string]string{".aibox/prompts/house.md": "# House rules\nOnly tabs.\n"})
	m.write(filepath.Join(m.home, ".config/aibox/prompts/careful.md"), "# Be careful\nThink first.\n")
	o := m.aibox(0, "run", "shell", "--repo", repo, "--inference", "scripted", "--hide", "*.secret", "--timeout", "7m",
		"--system", "careful", "--system", "house", "--json", "--", "sh", "-c", `cat "$AIBOX_INSTRUCTIONS_FILE"`)
	_, printed, _ := strings.Cut(o.stderr, "# Where you work")
	last := -1
	for _, want := range []string{"/workspace", "no network but the model", "`*.secret`", "You are ended after 7m.", "what you lack", "# Be careful\nThink first.", "# House rules\nOnly tabs."} {
		at := strings.Index(printed, want)
		if at <= last {
			t.Errorf("%q is missing or out of order in\n%s", want, printed)
		}
		last = at
	}
	if o := m.aibox(2, "run", "shell", "--repo", repo, "--system", "carefu", "--", "true"); !strings.Contains(o.stderr, "careful") {
		t.Errorf("an unknown prompt prints\n%s", o)
	}
}

// The folder of a discarded session gets a new owner with the next session of the
// repository: what is done to the old one must not touch it.
func TestWhatBecomesOfAnOldSessionDoesNotTouchTheNextOneInItsFolder(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", nil)
	old := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--json", "--", "sh", "-c", "echo old > old.txt"))
	m.aibox(0, "discard", old.ID)
	next := m.detached("shell", "--network", "none", "--repo", repo, "--", "sh", "-c", worker)
	watcher := m.start("attach", next)
	watcher.stdout.await(t, "ready")
	if was, is := m.record(old.ID).State.Workspace.Path, m.record(next).State.Workspace.Path; was != is {
		t.Fatalf("the next session works in %s, not in %s", is, was)
	}
	if o := m.aibox(0, "diff", old.ID); !strings.Contains(o.stdout, "old.txt") || strings.Contains(o.stdout, "work.txt") {
		t.Errorf("the old session's diff is\n%s", o)
	}
	m.aibox(0, "rm", old.ID)
	m.aibox(0, "stop", next)
	watcher.wait()
	if o := m.aibox(0, "diff", next); !strings.Contains(o.stdout, "work.txt") {
		t.Errorf("the next session's work is gone:\n%s", o)
	}
}
