package cli

import (
	"errors"
	"io"
	"time"

	"aibox/agents/conversation"
	"aibox/internal/paths"
	"aibox/internal/termtext"
	"aibox/session"
	"aibox/session/output"
)

// eventPrinter prints the conversation as lines of JSON.
type eventPrinter struct {
	out          io.Writer
	load         func() *session.Session // the session, when its first output has arrived
	accesses     *accessMerger
	conversation *session.Conversation
}

func (p *eventPrinter) show(chunk output.Chunk) error {
	if p.conversation == nil {
		p.conversation = session.NewConversation(p.load())
	}
	return p.print(p.accesses.merge(p.conversation.Add(chunk)))
}

func (p *eventPrinter) close() error {
	var rest []conversation.Event
	if p.conversation != nil {
		rest = p.accesses.merge(p.conversation.Close())
	}
	return p.print(append(rest, p.accesses.rest()...))
}

func (p *eventPrinter) print(events []conversation.Event) error {
	for _, e := range events {
		e.Time = e.Time.UTC()
		if err := encodeJSON(p.out, e, ""); err != nil {
			return err
		}
	}
	return nil
}

// markdownPrinter prints the conversation as a Markdown document, with what its agent
// wrote escaped for a terminal.
type markdownPrinter struct {
	out          io.Writer
	accesses     *accessMerger
	conversation *session.Conversation
	document     conversation.Markdown
	head         string // until it is printed
	prompt       string // until an event shows it
}

func newMarkdownPrinter(out io.Writer, found session.Session, accesses *accessMerger) *markdownPrinter {
	p := &markdownPrinter{out: out, accesses: accesses, conversation: session.NewConversation(&found), prompt: found.Task()}
	p.head = p.document.Head(string(found.ID), [][2]string{
		{"Agent", found.Agent},
		{"Model", found.Model},
		{"Repository", paths.Short(found.Repository)},
		{"Started", formatTime(found.State.Started)},
		{"Ended", formatTime(found.State.Ended)},
	})
	return p
}

// formatTime returns a time for a document; "" for none.
func formatTime(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

func (p *markdownPrinter) show(chunk output.Chunk) error {
	return p.print(p.accesses.merge(p.conversation.Add(chunk)))
}

func (p *markdownPrinter) close() error {
	err := p.print(append(p.accesses.merge(p.conversation.Close()), p.accesses.rest()...))
	rest := p.document.Close()
	if p.head != "" { // there was no event
		rest = p.start() + rest
	}
	_, writeErr := io.WriteString(p.out, termtext.Text(rest))
	return errors.Join(err, writeErr)
}

func (p *markdownPrinter) print(events []conversation.Event) error {
	for _, e := range events {
		text := p.document.Render(e)
		if p.head != "" && e.Kind != conversation.Start && e.Kind != conversation.Allowed {
			if e.Kind == conversation.Message && e.Role == conversation.User {
				p.prompt = "" // the agent prints it itself
			}
			text = p.start() + text
		}
		if _, err := io.WriteString(p.out, termtext.Text(text)); err != nil {
			return err
		}
	}
	return nil
}

// start returns the head and the prompt.
func (p *markdownPrinter) start() string {
	head := p.head
	if p.prompt != "" {
		var prompt conversation.Markdown
		head += prompt.Render(conversation.Event{Kind: conversation.Message, Role: conversation.User, Text: p.prompt})
	}
	p.head = ""
	return head
}
