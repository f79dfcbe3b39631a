package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// bot is the file of an agent that does what its prompt says in a shell.
func bot(state string) string {
	const script = `["sh", "-c", 'eval "$1"', "sh", "{prompt}", ["{instructions_file}"]]`
	return "title = \"Bot\"\nsummary = \"A bot\"\nstate = [\"" + state + "\"]\n[command]\n" +
		"headless = " + script + "\nresume = " + script + "\n"
}

// An agent's state folder is mounted again when its session is resumed. What the
// agent put where the next mount begins must lead nowhere and stop nothing.
func TestWhatAnAgentLeavesInItsStateFolderIsNoWayToTheHost(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]string{
		"a symlink":    "ln -s PRECIOUS ~/.bot/sub",
		"a parent":     "ln -s ../../../../../.. ~/.bot/sub",
		"a named pipe": "mkfifo ~/.bot/sub",
		"a file":       "echo x > ~/.bot/sub",
		"a socket":     `perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => "/root/.bot/sub", Listen => 1)'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			precious := filepath.Join(m.home, "precious")
			m.write(filepath.Join(precious, "kept"), "canary")
			m.customAgent("bot", bot("~/.bot"))
			first := m.ended(m.aibox(0, "run", "bot", "--network", "none", "--repo", m.repo("p", nil), "--json",
				"--prompt", strings.ReplaceAll(leave, "PRECIOUS", precious)+"; echo one > one.txt"))
			// The mount now begins at what the agent has made.
			m.customAgent("bot", bot("~/.bot/sub"))
			second := m.ended(m.aibox(0, "run", "--resume", first.ID, "--json",
				"--prompt", "ls -A ~/.bot/sub > seen.txt; echo owned > ~/.bot/sub/owned"))
			if seen := m.read(m.record(second.ID).State.Workspace.Path, "seen.txt"); seen != "" {
				t.Errorf("the sandbox saw %q in its state folder", seen)
			}
			for _, path := range []string{filepath.Join(precious, "owned"), filepath.Join(m.home, "owned"), "/owned", "/tmp/owned"} {
				if _, err := os.Lstat(path); err == nil {
					t.Errorf("the sandbox wrote %s on the host", path)
				}
			}
			m.aibox(0, "rm", "--force", second.ID)
			m.aibox(0, "rm", first.ID)
		})
	}
}

// Another agent that continues the work starts a conversation of its own, even if it uses the same
// folder.
func TestAnAgentNeverSeesTheStateOfAnother(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.customAgent("alice", bot("~/.shared"))
	m.customAgent("bob", bot("~/.shared"))
	first := m.ended(m.aibox(0, "run", "alice", "--network", "none", "--repo", m.repo("p", nil), "--json",
		"--prompt", "echo secret > ~/.shared/talk; echo one > one.txt"))
	look := "cat ~/.shared/talk > seen.txt; echo mine >> ~/.shared/talk"
	second := m.ended(m.aibox(1, "run", "bob", "--resume", first.ID, "--json", "--prompt", look+"; exit 7"))
	if seen := m.read(m.record(second.ID).State.Workspace.Path, "seen.txt"); seen != "" {
		t.Errorf("bob read %q of alice's", seen)
	}
	third := m.ended(m.aibox(0, "run", "alice", "--resume", second.ID, "--json", "--prompt", look))
	if seen := m.read(m.record(third.ID).State.Workspace.Path, "seen.txt"); seen != "secret\n" {
		t.Errorf("alice found %q of her own", seen)
	}
}

// former moves the state of a session's agent to where earlier versions of aibox
// kept it: in one tree for all agents.
func (m *machine) former(id, agent, folder string) (path string) {
	m.t.Helper()
	path = filepath.Join(m.sessions(), id, "home", folder)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.Rename(filepath.Join(m.sessions(), id, "homes", agent, strings.ReplaceAll(folder, "/", "%2F")), path)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	return path
}

func TestASessionOfAnEarlierVersionKeepsItsConversation(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.customAgent("bot", bot("~/.bot/talks"))
	first := m.ended(m.aibox(0, "run", "bot", "--network", "none", "--repo", m.repo("p", nil), "--json",
		"--prompt", "echo kept > ~/.bot/talks/talk; echo one > one.txt"))
	m.former(first.ID, "bot", ".bot/talks")
	second := m.ended(m.aibox(0, "run", "--resume", first.ID, "--json", "--prompt", "cat ~/.bot/talks/talk > seen.txt"))
	if seen := m.read(m.record(second.ID).State.Workspace.Path, "seen.txt"); seen != "kept\n" {
		t.Errorf("the agent found %q", seen)
	}
}

func TestALinkOrAPipeInTheStateOfAnEarlierVersionIsRefused(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	precious := filepath.Join(m.home, "precious")
	m.write(filepath.Join(precious, "talks/kept"), "canary")
	m.customAgent("bot", bot("~/.bot/talks"))
	first := m.ended(m.aibox(0, "run", "bot", "--network", "none", "--repo", m.repo("p", nil), "--json", "--prompt", "echo one > one.txt"))
	folder := m.former(first.ID, "bot", ".bot/talks")
	for _, place := range []struct{ path, target string }{
		{folder, filepath.Join(precious, "talks")}, {folder, ""}, {filepath.Dir(folder), precious},
	} {
		err := os.RemoveAll(place.path)
		if err == nil && place.target == "" {
			err = syscall.Mkfifo(place.path, 0o600)
		} else if err == nil {
			err = os.Symlink(place.target, place.path)
		}
		if err != nil {
			t.Fatal(err)
		}
		o := m.aibox(4, "run", "--resume", first.ID, "--prompt", "echo owned > ~/.bot/talks/owned")
		if !strings.Contains(o.stderr, "~/.bot/talks") || !strings.Contains(o.stderr, "→") {
			t.Errorf("the refusal prints\n%s", o)
		}
		if got := m.exec("ls", filepath.Join(precious, "talks")).stdout; got != "kept\n" {
			t.Errorf("the folder of the host holds %q", got)
		}
		if o := m.aibox(0, "diff", first.ID); !strings.Contains(o.stdout, "one.txt") {
			t.Errorf("the work is gone:\n%s", o)
		}
	}
}

func TestAnAgentFileWhoseStateFoldersLieWithinOthersIsRefused(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.customAgent("thief", bot("~/.claude"))
	for _, args := range [][]string{
		{"run", "thief", "--network", "none", "--repo", m.repo("p", nil), "--prompt", "true"},
	} {
		if o := m.aibox(2, args...); !strings.Contains(o.stderr, `"~/.claude"`) || !strings.Contains(o.stderr, `"~/.claude/projects"`) || !strings.Contains(o.stderr, "claude") || !strings.Contains(o.stderr, "→") {
			t.Errorf("%q prints\n%s", args, o)
		}
	}
	if _, steps, o := m.check(1, "thief"); len(steps) != 1 || steps[0] != "file failed" || !strings.Contains(o.stdout, "~/.claude/projects") {
		t.Errorf("the check's steps: %q\n%s", steps, o)
	}
}
