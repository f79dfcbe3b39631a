package ui

import (
	"context"
	"errors"
	"reflect"

	"aibox/internal/termtext"
	"aibox/ui/page"

	tea "charm.land/bubbletea/v2"
)

// layer is an open screen.
type layer struct {
	page.Page
	close context.CancelFunc // ends its commands
	side  bool               // one of sides: leaving it loses nothing
}

// answer is a message from a screen's command. Only that screen gets it, and only while
// it is open.
type answer struct {
	layer *layer
	msg   tea.Msg
}

// Init starts the page.
func (l *layer) Init() tea.Cmd { return l.tag(l.Page.Init()) }

// Update passes a message to the page, unless a newer request has replaced its own.
func (l *layer) Update(msg tea.Msg) tea.Cmd {
	msg, current := page.Current(msg)
	if !current {
		return nil
	}
	return l.tag(l.Page.Update(msg))
}

// tag wraps a command of the page so that its messages come back as answers.
func (l *layer) tag(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() tea.Msg {
		msg := cmd()
		if batch, ok := msg.(tea.BatchMsg); ok {
			for i, cmd := range batch {
				batch[i] = l.tag(cmd)
			}
			return batch
		}
		if msg == nil || forRuntime(msg) {
			return msg
		}
		return answer{l, msg}
	}
}

// forRuntime reports whether Bubble Tea itself handles the message, for example to set the
// clipboard. Most of these types are not exported.
func forRuntime(msg tea.Msg) bool {
	return reflect.TypeOf(msg).PkgPath() == reflect.TypeFor[tea.BatchMsg]().PkgPath()
}

// deliver passes an answer to its screen. Requests are dropped unless the screen is on
// top: neither a second key press nor a late answer may act on another screen.
func (a *app) deliver(msg answer) tea.Cmd {
	for _, l := range a.open {
		if l != msg.layer {
			continue
		}
		request, ok := msg.msg.(page.Request)
		switch {
		case !ok:
			return l.Update(msg.msg)
		case l == a.page():
			return a.do(request)
		}
		return nil
	}
	if over, ok := msg.msg.(page.Ended); ok {
		a.reportEnded(over)
	}
	return nil
}

// reportEnded shows the end of an action whose screen is closed.
func (a *app) reportEnded(over page.Ended) {
	text, err := over.Ended()
	switch {
	case errors.Is(err, context.Canceled): // it ended with the screen
	case err != nil:
		a.remark = termtext.Escape(err.Error())
	default:
		a.remark = text
	}
}
