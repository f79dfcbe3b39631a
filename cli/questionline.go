package cli

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"aibox/internal/amount"
	"aibox/internal/delay"
	"aibox/session"

	"golang.org/x/term"
)

// questionLine is the open questions of an attached session for which something waits, for
// the last row of its terminal. On a nil questionLine there are none. It is safe for concurrent use.
type questionLine struct {
	*openQuestions
	known int // the highest number that was shown; openQuestions.mu guards it
}

// watchQuestions watches the questions of a session until stop is called.
func watchQuestions(ctx context.Context, service requestWatcher, id session.ID) (*questionLine, func()) {
	l := &questionLine{openQuestions: newOpenQuestions()}
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { _ = service.WatchRequests(ctx, id, l.update) }) // if that fails, the session refuses at once
	return l, func() { cancel(); watching.Wait() }
}

// first returns the oldest open question, and how many there are.
func (l *questionLine) first() (r session.Request, count int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) == 0 {
		return session.Request{}, 0
	}
	return l.open[0], len(l.open)
}

// text returns the oldest open question for the last row, escaped; empty for none.
func (l *questionLine) text() string {
	if l == nil {
		return ""
	}
	r, count := l.first()
	if count == 0 {
		return ""
	}
	text := fmt.Sprintf("ctrl-p ctrl-a answers (%s): %s", amount.Span(remaining(&r)), waitingQuestion(&r))
	if count > 1 {
		text += fmt.Sprintf(" and %d more", count-1)
	}
	return text
}

// isNew reports whether there is a question since the last call.
func (l *questionLine) isNew() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.known
	for _, r := range l.open {
		l.known = max(l.known, r.ID)
	}
	return l.known > before
}

// answerQuestions asks the open questions one after the other, each for one key. The agent's
// terminal is detached meanwhile, so that no key reaches the agent and the agent cannot
// draw over a question.
func (a *cli) answerQuestions(ctx context.Context, service answerer, questions *questionLine) error {
	asked := 0
	for {
		r, count := questions.first()
		if count == 0 || r.ID <= asked {
			break
		}
		asked = r.ID
		fmt.Fprintf(a.err, "%s %s\n  %s, another key decides later (%s) ", a.errTerm.warn("?"), waitingDetails(&r), waitingChoices(&r), expiry(&r))
		key, err := readKey(ctx, a.in, time.Until(r.Until))
		fmt.Fprintln(a.err)
		if err != nil {
			return err
		}
		answer, ok := parseWaitingAnswer(&r, key)
		if !ok {
			break
		}
		done, err := a.answerRequest(ctx, service, &r, answer)
		if err != nil {
			a.report(err)
		} else {
			fmt.Fprintf(a.err, "%s %s\n", a.errTerm.faint("→"), done)
		}
		questions.drop(r.ID)
	}
	dropKeys(a.in)
	return nil
}

// drop removes a question that was answered; the session reports that later.
func (l *questionLine) drop(id int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var rest []session.Request
	for _, r := range l.open {
		if r.ID != id {
			rest = append(rest, r)
		}
	}
	l.open = rest
}

// readKey reads one key from the terminal; empty if none was pressed within wait.
func readKey(ctx context.Context, in *os.File, wait time.Duration) (string, error) {
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return "", fmt.Errorf("preparing the terminal: %w", err)
	}
	defer func() { _ = term.Restore(int(in.Fd()), before) }()
	delay.Wait(ctx, promptGrace)
	dropKeys(in)
	buf := make([]byte, 16)
	n, err := readKeys(ctx, in, buf, max(wait, time.Millisecond))
	return string(buf[:n]), err
}
