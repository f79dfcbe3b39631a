package e2e

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"aibox/test/terminal"

	"golang.org/x/term"
)

const interrupt = syscall.SIGINT

// screen is a program on a terminal of its own.
type screen struct {
	*background
	keys          *os.File // the user's side
	before, after *term.State
}

// onTerminal starts aibox on a pseudo-terminal; what it prints is in stdout.
func (m *machine) onTerminal(args ...string) *screen {
	m.t.Helper()
	master, slave, err := terminal.Open(usualSize)
	if err != nil {
		m.t.Fatal(err)
	}
	before, err := term.GetState(int(slave.Fd()))
	if err != nil {
		m.t.Fatal(err)
	}
	b := m.background(args...)
	b.Stdin, b.Stdout, b.Stderr = slave, slave, slave
	b.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := b.Start(); err != nil {
		m.t.Fatal(err)
	}
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		_, _ = io.Copy(b.stdout, master) // ends with an error when nobody has the other side
	}()
	s := &screen{background: b, keys: master, before: before}
	go func() {
		defer close(b.done)
		_ = b.Wait()
		b.code = b.ProcessState.ExitCode()
		s.after, _ = term.GetState(int(slave.Fd()))
		_ = slave.Close()
		<-shown
	}()
	m.t.Cleanup(func() {
		_ = b.Process.Kill()
		<-b.done
		_ = master.Close()
	})
	return s
}

// typed sends keys.
func (s *screen) typed(keys string) {
	s.t.Helper()
	if _, err := s.keys.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// answers waits for each question and types the answer that follows it.
func (s *screen) answers(questionsAndKeys ...string) {
	s.t.Helper()
	for i := 0; i < len(questionsAndKeys); i += 2 {
		s.stdout.await(s.t, questionsAndKeys[i])
		s.typed(questionsAndKeys[i+1])
	}
}

// insists types keys with pauses until the question has been answered: a question that has just
// appeared ignores input, as does one while the user is still typing.
func (s *screen) insists(keys string, over func() bool) {
	s.t.Helper()
	var last time.Time
	eventually(s.t, limit, "the question takes an answer", func() bool {
		if over() {
			return true
		}
		if time.Since(last) > patience {
			_, _ = s.keys.WriteString(keys) // it may just have ended
			last = time.Now()
		}
		return false
	})
}

// gone reports that the screen does not show text any more.
func (s *screen) gone(text string) func() bool {
	return func() bool { return !strings.Contains(s.shown(), text) }
}

// ends waits for the end of a background program. Failures include the last screen.
func (s *screen) ends(code int) string {
	s.t.Helper()
	if got := s.wait(); got != code {
		s.t.Fatalf("%v must exit with %d, not with %d:\n%s", s.Args, code, got, s.shown())
	}
	return s.stdout.String()
}

// sane checks that the terminal is as it was.
func (s *screen) sane() {
	s.t.Helper()
	if s.after == nil || *s.after != *s.before {
		s.t.Error("the terminal's settings have changed")
	}
	if text := s.stdout.String(); strings.Count(text, "\x1b[?25l") != strings.Count(text, "\x1b[?25h") || strings.Contains(text, "\x1b[?1049h") {
		s.t.Errorf("the cursor or the screen is not given back:\n%q", text)
	}
}

func TestCtrlCAsksTheAgentFirstAndStopsTheSessionThen(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", nil)
	t.Run("once", func(t *testing.T) {
		s := m.onTerminal("run", "shell", "--network", "none", "--repo", repo, "--", "sh", "-c",
			`trap 'echo received it; exit 0' INT; echo rea""dy; while :; do sleep 0.1; done`)
		s.stdout.await(t, "ready")
		s.typed("\x03")
		if code := s.wait(); code != 130 || !strings.Contains(s.stdout.String(), "received it") {
			t.Errorf("exit %d:\n%s", code, s.stdout.String())
		}
		s.sane()
	})
	for name, end := range map[string]string{
		"the agent succeeds": `trap 'exit 0' INT`, "the agent fails": `trap 'exit 3' INT`, "the signal ends the agent": `:`,
	} {
		t.Run("once, by a signal, and "+name, func(t *testing.T) {
			b := m.start("run", "shell", "--network", "none", "--repo", repo, "--accept", "branch", "--", "sh", "-c",
				"echo work > work.txt; "+end+`; echo ready; while :; do sleep 0.1; done`)
			if code := b.interrupted("ready"); code != 130 {
				t.Errorf("exit %d:\n%s", code, b.stderr.String())
			}
			all := m.stored()
			if last := all[len(all)-1].State; last.Result == nil || last.Result.Fault == nil || last.Result.Fault.Kind != "interrupted" || last.Review != "" {
				t.Errorf("the record is %+v", last)
			}
		})
	}
	t.Run("twice", func(t *testing.T) {
		s := m.onTerminal("run", "shell", "--network", "none", "--repo", repo, "--", "sh", "-c", "echo rea''dy; "+stubborn)
		s.stdout.await(t, "ready")
		s.typed("\x03")
		s.stdout.await(t, "ctrl-c again")
		s.typed("\x03")
		s.ends(130)
		s.sane()
		all := m.stored()
		if last := all[len(all)-1]; last.State.Result == nil || last.State.Result.Fault == nil || last.State.Result.Fault.Kind != "interrupted" {
			t.Errorf("the record has %+v", last.State.Result)
		}
	})
	t.Run("during the start", func(t *testing.T) {
		before := len(m.stored())
		s := m.onTerminal("run", "shell", "--network", "none", "--repo", repo, "--", "sleep", "1000")
		s.stdout.await(t, "workspace")
		s.typed("\x03\x03\x03")
		s.ends(130)
		s.sane()
		// It was taken back, or it had started and is ended and kept.
		for _, r := range m.stored()[before:] {
			if r.State.Phase != "ended" {
				t.Errorf("%s is %s", r.ID, r.State.Phase)
			}
		}
	})
}

func TestClosingTheTerminalLeavesTheSessionRunning(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.onTerminal("run", "shell", "--network", "none", "--repo", m.repo("p", nil), "--", "sh", "-c",
		"echo rea''dy; until test -e go; do sleep 0.05; done; echo finished")
	s.stdout.await(t, "ready")
	_ = s.keys.Close()
	s.ends(130)
	r := m.stored()[0]
	if !r.State.Sandbox.Alive() {
		t.Fatal("the session ended with its terminal")
	}
	again := m.start("attach", r.ID)
	again.stdout.await(t, "ready")
	m.write(filepath.Join(r.State.Workspace.Path, "go"), "")
	if code := again.wait(); code != 0 || again.stdout.String() != "ready\nfinished\n" {
		t.Errorf("attach ends with %d and %q", code, again.stdout.String())
	}
}

// vandal prints everything that must not reach a user's terminal, and leaves it in names and
// contents of files.
const vandal = `
evil() {
  printf 'osc52:\033]52;c;ZXZpbA==\007 osc8:\033]8;;http://evil.example/\033\\link\033]8;;\033\\ title:\033]0;owned\007 '
  printf 'dcs:\033Pq#0\033\\ apc:\033_Gi=1\033\\ cpr:\033[6n da:\033[c mode:\033[?1049h\033[?1003h move:\033[10A\033[2J '
  printf 'c1:\302\233\066n\302\235\065\062;c;ZXZpbA==\302\234 raw:\233\066n\235\060;owned\234 bell:\007 ok:\033[31mred\033[0m end\n'
}
evil; evil >&2
evil > evil.txt; printf 'new\n\033]52;c;ZXZpbA==\007\n' >> known.txt
printf x > "$(printf 'name\033]0;owned\007.txt')"; printf x > "$(printf 'c1\302\2330n\233')"
git -c user.name=x -c user.email=x commit -qam "$(printf 'subject\033]0;owned\007')"
`

// allowed are the control sequences that may reach a terminal: colors, erasing in
// the line.
var allowed = regexp.MustCompile(`\x1b\[[0-9;:]*m|\x1b\[[0-2]?K`)

// harmful finds what a terminal would act upon in text.
func harmful(text string) string {
	text = allowed.ReplaceAllString(text, "")
	found := regexp.MustCompile(`[\x00-\x07\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]`).FindString(text)
	if found == "" && strings.ToValidUTF8(text, "") != text {
		found = "bytes that are not UTF-8"
	}
	return found
}

func TestNothingTheAgentPrintsOrNamesControlsTheTerminal(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", map[string]string{"known.txt": "old\n"})
	prompt := "task\x1b]0;owned\x07 \x1b]52;c;ZXZpbA==\x07 \xc2\x9b6n"
	shown := func(code int, args ...string) string {
		t.Helper()
		s := m.onTerminal(args...)
		if got := s.wait(); got != code {
			t.Errorf("%q exits with %d:\n%q", args, got, s.stdout.String())
		}
		text := s.stdout.String()
		if bad := harmful(text); bad != "" {
			t.Errorf("%s lets %q through:\n%q", args[0], bad, text)
		}
		return text
	}
	run := shown(0, "run", "shell", "--network", "none", "--repo", repo, "--prompt", prompt, "--", "sh", "-c", vandal)
	if !strings.Contains(run, "\x1b[31mred") || !strings.Contains(run, "end") {
		t.Errorf("what is harmless is lost:\n%q", run)
	}
	id := m.stored()[0].ID
	for _, args := range [][]string{
		{"logs", id},
		{"attach", id},
		{"diff", "--no-pager", id},
		{"describe", id},
		{"diff", "--stat", id},
		{"diff", "--name-status", id},
		{"ls"},
		{"netguard", "log", id},
		{"discard", id},
		{"recover"},
	} {
		shown(0, args...)
	}
	shown(2, "logs", "--raw", id) // refused on a terminal
	if raw := m.aibox(0, "logs", "--raw", id).stdout; !strings.Contains(raw, "\x1b]52;c;ZXZpbA==\x07") {
		t.Errorf("the record is not what the agent printed:\n%q", raw)
	}
	shown(2, "run", "shell", "--repo", filepath.Join(repo, "no\x1b]0;owned\x07such"), "--", "true")
	shown(2, "attach", "\x1b]0;owned\x07")
}

func TestWithoutATerminalTheBareCommandPrintsHelp(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	if o := m.aibox(2); !strings.Contains(o.stdout+o.stderr, "Usage:") || harmful(o.stdout+o.stderr) != "" {
		t.Errorf("it prints\n%s", o)
	}
	cmd := exec.CommandContext(t.Context(), aibox, "--help")
	cmd.Env = append(m.env, "NO_COLOR=1")
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "\x1b") {
		t.Errorf("%v\n%q", err, out)
	}
}
