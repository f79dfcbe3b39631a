package ui

import (
	"context"
	"fmt"
	"runtime/debug"

	"aibox/internal/termtext"

	tea "charm.land/bubbletea/v2"
)

// Crash is a bug that ended the UI: some screen, or what it had asked for, panicked.
// The terminal was restored, and sessions continue.
type Crash struct {
	Value string // what was said, escaped
	Stack []byte // where; for a report
}

// Error is one line.
func (c *Crash) Error() string { return "the terminal UI failed: " + c.Value }

// guard stands around the root model. A panic in it or in one of its commands ends the
// program as its context would, which gives the terminal back in every case. The
// library would print the raw value and a page of stack over the user's shell.
type guard struct {
	tea.Model
	end context.CancelCauseFunc
}

// Init starts the model.
func (g guard) Init() tea.Cmd {
	defer g.catch()
	return g.command(g.Model.Init())
}

// Update routes to the model.
func (g guard) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	defer g.catch()
	_, cmd := g.Model.Update(msg)
	return g, g.command(cmd)
}

// View is the model's, or nothing where it panics.
func (g guard) View() tea.View {
	defer g.catch()
	return g.Model.View()
}

// command guards a command, and those that it brings.
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

// catch ends the program where its caller panics.
func (g guard) catch() {
	if value := recover(); value != nil {
		g.end(&Crash{termtext.Escape(fmt.Sprint(value)), debug.Stack()})
	}
}

// guarded does what has the terminal for itself; a panic in it is its error.
func guarded(do func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &Crash{termtext.Escape(fmt.Sprint(value)), debug.Stack()}
		}
	}()
	return do()
}
