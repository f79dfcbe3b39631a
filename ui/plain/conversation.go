package plain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"aibox/internal/fault"
	"aibox/internal/shellquote"
	"aibox/internal/termtext"
)

// conversation is a running conversation.
type conversation struct {
	Request
	ctx context.Context //nolint:containedctx // it ends with the conversation

	filter string // of the list of sessions
	from   int    // its first session, newest first
}

// choice is an entry of a list.
type choice struct {
	key  string // to type; empty means the next number
	text string // escaped
	do   func() error
}

// list is a list of choices.
type list struct {
	title   string // escaped; lines
	choices []choice
	other   func(text string) error // handles an answer that is no key; may be nil
	ask     string                  // describes the possible answers; empty for only the keys
	top     bool                    // q ends the conversation
}

// menu shows the list that show makes, again after each choice, until the user goes back.
func (t *conversation) menu(show func() (list, error)) error {
	for {
		l, err := show()
		if err == nil {
			err = t.choose(l)
		}
		switch {
		case errors.Is(err, errBack):
			return nil
		case err != nil && !errors.Is(err, errNone):
			return err
		}
	}
}

// once shows a list until the user makes a choice.
func (t *conversation) once(l list) error {
	for {
		if err := t.choose(l); !errors.Is(err, errNone) {
			return err
		}
	}
}

// choose shows a list, asks for a choice and runs it. It returns errNone for an empty
// answer. q leaves every list.
func (t *conversation) choose(l list) error {
	t.say("")
	if l.title != "" {
		t.say("%s", l.title)
	}
	number := 0
	for i := range l.choices {
		c := &l.choices[i]
		if c.key == "" {
			number++
			c.key = strconv.Itoa(number)
		}
		t.say("%s  %s", c.key, c.text)
	}
	question, left := "Which?", errBack
	if l.ask != "" {
		question += " " + l.ask + ";"
	}
	if l.top {
		question, left = question+" q quits; sessions continue:", errLeft
	} else {
		question += " q goes back:"
	}
	for {
		answer, err := t.ask(question)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(l.choices, func(c choice) bool { return strings.EqualFold(c.key, answer) })
		switch {
		case i >= 0:
			return l.choices[i].do()
		case answer == "":
			return errNone
		case strings.EqualFold(answer, "q"):
			return left
		case l.other != nil && !isNumber(answer):
			return l.other(answer)
		default:
			t.say("\"%s\" is not in the list", termtext.Escape(answer))
		}
	}
}

func isNumber(text string) bool {
	_, err := strconv.Atoi(text)
	return err == nil
}

// ask asks a question and returns the answer without surrounding spaces.
func (t *conversation) ask(question string) (string, error) {
	fmt.Fprintf(t.Out, "%s ", question)
	answer, err := t.In.Next(t.ctx)
	if err != nil {
		fmt.Fprintln(t.Out)
	}
	return strings.TrimSpace(answer), err
}

// sure asks for confirmation. Only the whole word yes confirms.
func (t *conversation) sure(question string) (bool, error) {
	answer, err := t.ask(question + " Type yes, or anything else for no:")
	if err != nil {
		return false, err
	}
	if !strings.EqualFold(answer, "yes") {
		t.say("canceled")
		return false, nil
	}
	return true, nil
}

// text asks for lines up to a line with a single period.
func (t *conversation) text(question string) (string, error) {
	t.say("%s End it with a line that has only a period.", question)
	var lines []string
	for {
		line, err := t.In.Next(t.ctx)
		if err != nil {
			return "", err
		}
		if strings.TrimSpace(line) == "." {
			return strings.TrimSpace(strings.Join(lines, "\n")), nil
		}
		lines = append(lines, line)
	}
}

// run returns an action that runs one of aibox's commands.
func (t *conversation) run(args ...string) func() error {
	return func() error {
		t.say("")
		t.say("$ %s", line(args))
		return t.Do(t.ctx, args...)
	}
}

// say prints a line.
func (t *conversation) say(format string, args ...any) { fmt.Fprintf(t.Out, format+"\n", args...) }

// fail prints an error and its hints.
func (t *conversation) fail(err error) {
	t.say("error: %s", termtext.Escape(err.Error()))
	for _, hint := range fault.Hints(err) {
		t.say("  try: %s", termtext.Escape(hint))
	}
}

// line returns an aibox command line as the user would type it, escaped.
func line(args []string) string {
	return termtext.Escape(shellquote.Join(slices.Concat([]string{"aibox"}, args)))
}
