package e2e

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	emulator "aibox/internal/screen"

	"github.com/creack/pty"
)

// shown returns the text on the screen.
func (s *screen) shown() string {
	seen := emulator.New(emulator.Size{Rows: 40, Cols: 120})
	_, _ = seen.Write([]byte(s.stdout.String()))
	return string(seen.Text(emulator.NoColors, false))
}

// awaitShown waits until the screen matches pattern.
func (s *screen) awaitShown(pattern string) {
	s.t.Helper()
	want := regexp.MustCompile(pattern)
	begin := time.Now()
	for {
		s.stdout.mu.Lock()
		grown := s.stdout.grown
		s.stdout.mu.Unlock()
		if want.MatchString(s.shown()) {
			return
		}
		select {
		case <-grown:
		case <-s.done:
			if !want.MatchString(s.shown()) {
				s.t.Fatalf("the program ends with %d and has not shown %q but\n%s", s.code, pattern, s.shown())
			}
			return
		case <-time.After(limit - time.Since(begin)):
			s.t.Fatalf("%q is never shown, but\n%s", pattern, s.shown())
		}
	}
}

// restored checks that the terminal is as it was, with its own screen and none of
// the modes that an agent can switch on.
func (s *screen) restored() {
	s.t.Helper()
	if s.after == nil || *s.after != *s.before {
		s.t.Error("the terminal's settings have changed")
	}
	_, after, entered := strings.Cut(s.stdout.String(), emulator.Leave)
	if !entered {
		s.t.Errorf("the terminal is not given back:\n%q", s.stdout.String())
	}
	for strings.Contains(after, emulator.Leave) {
		_, after, _ = strings.Cut(after, emulator.Leave)
	}
	if allowed.ReplaceAllString(after, "") != regexp.MustCompile(`\x1b.`).ReplaceAllString(allowed.ReplaceAllString(after, ""), "") {
		s.t.Errorf("control sequences come behind the end:\n%q", after)
	}
}

// resize changes the size of the user's terminal.
func (s *screen) resize(rows, cols uint16) {
	s.t.Helper()
	if err := pty.Setsize(s.keys, &pty.Winsize{Rows: rows, Cols: cols}); err != nil {
		s.t.Fatal(err)
	}
}

// awaitSize makes the shell wait for this terminal size and print it, because keys and a
// new size arrive in no particular order.
func (s *screen) awaitSize(size string) {
	s.t.Helper()
	s.typed(`until test "$(stty size)" = "` + size + "\"; do sleep 0.1; done; stty size\r")
	// A shell that draws its line again at the new size may leave out the line's end.
	s.awaitShown("(?m)(^|stty size)" + size + "$")
}

// interactive starts a shell in a sandbox on a terminal and waits for its prompt.
func (m *machine) interactive(name string) (*screen, record) {
	m.t.Helper()
	s := m.onTerminal("run", "shell", "-i", "--network", "none", "--repo", m.repo(name, nil))
	s.awaitShown(`workspace#`)
	all := m.stored()
	return s, all[len(all)-1]
}

func TestAnInteractiveShellWorksAsOnATerminal(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s, r := m.interactive("p")
	s.awaitShown(r.ID + " +ctrl-p ctrl-q")
	s.typed("stty size; echo $TERM; test -t 0 && test -t 1 && test -t 2 && echo all th''ree\r")
	s.awaitShown(`(?m)^39 120\nxterm-256color\nall three$`)
	s.resize(30, 100)
	s.awaitSize("29 100")
	s.typed("trap 'echo resized; stty size' WINCH; sleep 1000 & echo wait''ing; wait; kill $!; echo ov''er\r")
	s.awaitShown(`(?m)^waiting$`)
	s.resize(25, 90)
	s.awaitShown(`(?s)resized\n24 90\n.*over\n`)
	// What is typed is shown before the shell has made its program the terminal's own.
	s.typed("sh -c 'echo slee\"\"ping; exec sleep 1000'\r")
	s.awaitShown(`(?m)^sleeping$`)
	s.typed("\x03")
	s.typed("echo code $?; echo work > work.txt\r")
	s.awaitShown(`code 130`)
	s.typed("echo last words; exit 7\r")
	s.ends(1)
	s.restored()
	text := s.stdout.String()
	left := text[strings.LastIndex(text, emulator.Leave):]
	for _, want := range []string{"last words", "work.txt", "shell ended with exit code 7"} {
		if !strings.Contains(left, want) {
			t.Errorf("%q is not left on the terminal:\n%s", want, left)
		}
	}
	if end := m.record(r.ID).State.Result; end.ExitCode != 7 || !end.Changed {
		t.Errorf("the result is %+v", end)
	}
	if o := m.aibox(1, "attach", r.ID); !strings.Contains(o.stdout, "last words") || !strings.Contains(o.stderr, "exit code 7") {
		t.Errorf("attach to what has ended prints\n%s", o)
	}
}

func TestAttachingAgainShowsTheCurrentScreen(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	first, r := m.interactive("p")
	first.typed("echo be''fore; until test -e go; do sleep 0.05; done; echo mean''while\r")
	first.awaitShown(`(?m)^before$`)
	first.typed("\x10\x11")
	if code := first.wait(); code != 0 || !strings.Contains(first.stdout.String(), "aibox attach "+r.ID) {
		t.Errorf("leaving ends with %d and\n%s", code, first.shown())
	}
	first.restored()
	m.write(filepath.Join(r.State.Workspace.Path, "go"), "")
	eventually(t, limit, "the agent continues", func() bool {
		return strings.Contains(m.aibox(0, "logs", "--screen", r.ID).stdout, "\nmeanwhile\n")
	})
	second := m.onTerminal("attach", r.ID)
	second.awaitShown(`(?s)before\n.*meanwhile\n`)
	third := m.onTerminal("attach", r.ID)
	third.awaitShown(`(?s)before\n.*meanwhile\n`)
	third.typed("echo from the th''ird\r")
	second.awaitShown(`(?m)^from the third$`)
	third.awaitShown(`(?m)^from the third$`)
	third.resize(20, 60)
	third.awaitSize("19 60")
	second.awaitShown(`(?m)^19 60$`)

	third.kill() // without a message; other terminals and the agent are not affected
	second.awaitSize("39 120")
	second.typed("echo pre''vious\r")
	second.awaitShown(`(?m)^previous$`)
	second.typed("\x10") // pressed alone it goes to the shell: the previous command
	second.awaitShown(`previous\n.*# echo pre''vious\n`)
	second.typed("\x15exit\r")
	second.ends(0)
	second.restored()
}

func TestAnAttachedUserScrollsBackWhileTheAgentContinues(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s, r := m.interactive("p")
	s.awaitShown(`ctrl-p ctrl-s scrolls back`)
	s.typed("for i in $(seq 300); do echo \"$i a step\"; done; until test -e go; do sleep 0.05; done; echo mean''while\r")
	s.awaitShown(`(?m)^300 a step$`)
	s.typed("\x10\x13")
	s.awaitShown(`(?s)  scrollback.*300 a step\n`)
	s.typed("g/")
	s.typed("12 a step\r")
	s.awaitShown(`1/3`)
	m.write(filepath.Join(r.State.Workspace.Path, "go"), "")
	eventually(t, limit, "the agent continues", func() bool {
		return strings.Contains(m.aibox(0, "logs", "--screen", r.ID).stdout, "\nmeanwhile\n")
	})
	s.typed("touch typed-there.txt\rq")
	s.awaitShown(`(?s)300 a step\n.*meanwhile\n.*ctrl-p ctrl-q`)
	s.typed("ls; echo typed''-here\r")
	s.awaitShown(`(?m)^typed-here$`)
	if text := s.shown(); strings.Contains(text, "typed-there") {
		t.Errorf("what was typed elsewhere reached the agent:\n%s", text)
	}
	s.typed("\x10\x13")
	s.awaitShown(`  scrollback`)
	m.aibox(0, "stop", r.ID)
	s.awaitShown(`  scrollback`)
	s.typed("\x03")
	s.ends(130)
	s.givenBack()
	if text := s.stdout.String(); !strings.Contains(text[strings.LastIndex(text, emulator.Leave):], "typed-here") {
		t.Errorf("the last screen is not left on the terminal:\n%s", s.shown())
	}
}

func TestASignalRestoresTheTerminalAndLeavesTheSessionRunning(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s, r := m.interactive("p")
	for i, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
		if i > 0 {
			s = m.onTerminal("attach", r.ID)
			s.awaitShown(`workspace#`)
		}
		if err := s.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if code := s.wait(); code != 130 || !strings.Contains(s.shown(), "is still running") {
			t.Errorf("%v ends it with %d and\n%s", signal, code, s.shown())
		}
		s.restored()
	}
	m.aibox(0, "stop", r.ID)
}

func TestTheDeathOfTheSupervisorRestoresTheTerminal(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s, r := m.interactive("p")
	s.typed("printf '\\e[?1049h\\e[?1003h\\e[?25l\\e[?2004hfull screen'; sleep 1000\r")
	s.awaitShown(`full screen`)
	if err := syscall.Kill(r.State.Supervisor.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if code := s.wait(); code == 0 || !strings.Contains(s.shown(), "supervisor died") {
		t.Errorf("it ends with %d and\n%s", code, s.shown())
	}
	s.restored()
	if o := m.aibox(0, "logs", r.ID); !strings.Contains(o.stdout, "full screen") {
		t.Errorf("the record is lost:\n%s", o)
	}
}

func TestNothingAnInteractiveAgentPrintsControlsTheTerminal(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", map[string]string{"known.txt": "old\n"})
	// The answers to its questions come to the agent, from the screen.
	script := `stty raw -echo; printf '\033[2;3H\033[6n'; dd bs=1 count=6 2>/dev/null | od -c; stty sane` +
		vandal + `stty -echo; printf 'fin\r\nished\r\n'; read -r x`
	s := m.onTerminal("run", "shell", "-i", "--network", "none", "--repo", repo, "--", "bash", "-c", script)
	s.awaitShown(`ished`)
	r := m.stored()[0]
	again := m.onTerminal("attach", r.ID)
	again.awaitShown(`ished`)
	if text := m.aibox(0, "logs", r.ID).stdout; !strings.Contains(text, `033   [   2   ;   3   R`) {
		t.Errorf("the agent gets no cursor position:\n%s", text)
	}
	again.typed("\x10\x11")
	again.wait()
	s.typed("\r")
	s.wait()
	painted := regexp.MustCompile(`\x1b\[[0-9;]*[mHK]|\x1b\[\?(7|25|1049|1|1000|1002|1003|1004|1006|2004)[hl]|\x1b\[0 q|\x1b\[2J|\x1b[>78]`)
	for _, text := range []string{s.stdout.String(), again.stdout.String()} {
		if bad := harmful(painted.ReplaceAllString(text, "")); bad != "" {
			t.Errorf("%q reaches the terminal:\n%q", bad, text)
		}
		for _, canary := range []string{"]52;c", "evil.example", "\x1b[6n", "\x1b[c", "owned\x07"} {
			if strings.Contains(text, canary) {
				t.Errorf("%q reaches the terminal:\n%q", canary, text)
			}
		}
	}
	if raw := m.aibox(0, "logs", "--raw", r.ID).stdout; !strings.Contains(raw, "\x1b]52;c;ZXZpbA==\x07") {
		t.Errorf("the record is not what the agent printed:\n%q", raw)
	}
}

func TestAnInteractiveSessionCanStartWithoutATerminal(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", nil)
	if o := m.aibox(2, "run", "shell", "-i", "--repo", repo); !strings.Contains(o.stderr, "--detach") {
		t.Errorf("without a terminal the output is\n%s", o)
	}
	s := m.onTerminal("run", "shell", "-i", "--json", "--repo", repo)
	if code := s.wait(); code != 2 || !strings.Contains(s.shown(), "--json") {
		t.Errorf("with --json it ends with %d and\n%s", code, s.shown())
	}
	id := m.detached("shell", "-i", "--network", "none", "--repo", repo, "--", "bash", "-c", "stty size; read -r line; echo got $line")
	eventually(t, limit, "the agent has a terminal", func() bool {
		return m.aibox(0, "logs", "--screen", id).stdout == "24 80\n"
	})
	if o := m.aibox(2, "attach", id); !strings.Contains(o.stderr, "needs a terminal") || !strings.Contains(o.stderr, "aibox logs -f "+id) || !strings.Contains(o.stderr, "aibox logs --screen "+id) {
		t.Errorf("attaching without a terminal prints\n%s", o)
	}
	s = m.onTerminal("attach", id)
	s.awaitShown("24 80")
	s.typed("hello\r")
	s.ends(0)
	s.restored()
	for _, args := range [][]string{{"attach", id}, {"logs", "--screen", id}} {
		if got := m.aibox(0, args...).stdout; got != "24 80\nhello\ngot hello\n" {
			t.Errorf("%s prints %q", args[0], got)
		}
	}
	headless := m.detached("shell", "--network", "none", "--repo", repo, "--", "true")
	m.aibox(2, "logs", "--screen", headless)
	m.aibox(2, "logs", "--screen", "--raw", id)
	m.aibox(0, "attach", headless)
}

// Real agents start without asking questions, and take a prompt as a user types it.
func TestARealAgentWorksOnATerminal(t *testing.T) {
	t.Parallel()
	for agent, prompt := range map[string]string{"codex": "Ask Codex to do anything", "opencode": "Ask anything"} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			s := m.onTerminal("run", agent, "-i", "--repo", m.repo("p", nil), "--inference", m.script(fmt.Sprintf(`
done = "That was all."
[[step]]
run = "printf 'by %s' > made.txt"
`, agent)))
			s.awaitShown(prompt)
			s.typed("make the file")
			s.awaitShown("make the file")
			s.typed("\r")
			s.awaitShown(`That was all`)
			r := m.stored()[0]
			if got := m.read(r.State.Workspace.Path, "made.txt"); got != "by "+agent {
				t.Errorf("the file holds %q", got)
			}
			s.typed("\x10\x11")
			s.ends(0)
			s.restored()
			m.aibox(0, "stop", r.ID)
		})
	}
}
