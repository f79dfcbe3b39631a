package e2e

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"aibox/test/terminal"
)

// user is a user who uses aibox in a terminal.
type user struct {
	*terminal.Terminal
	t   testing.TB
	ctx context.Context //nolint:containedctx // it ends with the test's patience
}

// usualSize is the size of most tests' terminals.
var usualSize = terminal.Size{Rows: 40, Cols: 120}

// opensTerminal starts a program, aibox or a shell that starts it, on a terminal.
func (m *machine) opensTerminal(size terminal.Size, name string, args ...string) *user {
	m.t.Helper()
	on, err := terminal.Start(m.cmd(name, args...), size)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = on.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	m.t.Cleanup(cancel)
	return &user{Terminal: on, t: m.t, ctx: ctx}
}

// sees waits until the screen matches pattern.
func (p *user) sees(pattern string) {
	p.t.Helper()
	if err := p.Await(p.ctx, pattern); err != nil {
		p.t.Fatal(err)
	}
}

// does presses keys by name.
func (p *user) does(names ...string) {
	p.t.Helper()
	if err := p.Press(names...); err != nil {
		p.t.Fatal(err)
	}
}

// asked answers a question: it types text when the screen matches question, and presses key
// when it matches ready.
func (p *user) asked(question, text, ready, key string) {
	p.t.Helper()
	p.sees(question)
	if err := p.Type(text); err != nil {
		p.t.Fatal(err)
	}
	p.sees(ready)
	p.does(key)
}

// until presses keys again and again until the screen matches pattern, because a question
// that has just appeared ignores keys.
func (p *user) until(pattern string, names ...string) {
	p.t.Helper()
	for {
		p.does(names...)
		ctx, cancel := context.WithTimeout(p.ctx, patience)
		err := p.Await(ctx, pattern)
		cancel()
		if err == nil {
			return
		}
		if p.ctx.Err() != nil {
			p.t.Fatal(err)
		}
	}
}

// patience is the delay before a key is pressed again.
const patience = 2 * time.Second

// settles waits until both screens are equal.
func (p *user) settles(other *user) {
	p.t.Helper()
	for p.Text() != other.Text() {
		if p.ctx.Err() != nil {
			p.t.Fatalf("what one sees\n%s\nis not what the other sees\n%s", p.Text(), other.Text())
		}
		_ = p.Quiet(p.ctx, patience)
		_ = other.Quiet(p.ctx, patience)
	}
}

// leaves checks that the program ends with code and has given the terminal back.
func (p *user) leaves(code int) {
	p.t.Helper()
	if got, err := p.Wait(p.ctx); err != nil || got != code {
		p.t.Errorf("it ends with %d instead of %d, %v:\n%s", got, code, err, p.Text())
	}
	if left := p.Left(); len(left) > 0 {
		p.t.Errorf("the terminal is left with %q", left)
	}
}

// child is the only process that pid has started.
func child(t testing.TB, pid int) *os.Process {
	t.Helper()
	var found *os.Process
	eventually(t, limit, "the program has started another", func() bool {
		list, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		one, err := strconv.Atoi(strings.TrimSpace(string(list)))
		if err == nil {
			found, err = os.FindProcess(one)
		}
		return err == nil
	})
	return found
}

// matches reports whether text holds what pattern matches.
func matches(pattern, text string) bool { return regexp.MustCompile(pattern).MatchString(text) }
