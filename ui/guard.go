package ui

import (
	"context"
	"fmt"
	"runtime/debug"

	"aibox/internal/termtext"

	tea "charm.land/bubbletea/v2"
)

// Crash is a panic in a screen or in one of its commands, which ended the UI. The
// terminal was restored, and sessions continue.
type Crash struct {
	Value string // the panic's value, escaped
	Stack []byte // for a bug report
}

// Error returns the panic's value in one line.
func (c *Crash) Error() string { return "the terminal UI failed: " + c.Value }

// guard wraps the root model. A panic in the model or in one of its commands ends the
// program as its context would, which always restores the terminal. The library would
// print the raw value and a page of stack over the user's shell.
type guard struct {
	tea.Model
	end context.CancelCauseFunc
}

// Init starts the model.
func (g guard) Init() tea.Cmd {
	defer g.catch()
	return g.command(g.Model.Init())
}

// Update routes to the model. It returns itself even if the model panics: the program
// draws until it ends.
func (g guard) Update(msg tea.Msg) (next tea.Model, cmd tea.Cmd) {
	next = g
	defer g.catch()
	_, cmd = g.Model.Update(msg)
	return next, g.command(cmd)
}

// View returns the model's view, or nothing if the model panics.
func (g guard) View() tea.View {
	defer g.catch()
	return g.Model.View()
}

// command guards a command and the commands that it returns.
func (g guard) command(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() tea.Msg {
		defer g.catch()
		msg := cmd()
		if batch, ok := msg.(tea.BatchMsg); ok {
			for i, one := range batch {
				batch[i] = g.command(one)
			}
		}
		return msg
	}
}

// catch ends the program if its caller panics.
func (g guard) catch() {
	if value := recover(); value != nil {
		g.end(&Crash{termtext.Escape(fmt.Sprint(value)), debug.Stack()})
	}
}

// guarded runs a function that uses the terminal directly, and returns a panic in it as
// an error.
func guarded(do func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &Crash{termtext.Escape(fmt.Sprint(value)), debug.Stack()}
		}
	}()
	return do()
}
