package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"aibox/app/run"
	"aibox/internal/fault"
	"aibox/internal/screen"
	"aibox/session"
	"aibox/session/client"
	"aibox/session/manager"
	"aibox/session/output"
	"aibox/ui"
	"aibox/ui/page"
)

// attachTerminal connects the user's terminal to the agent of an interactive session,
// until the agent ends or the user detaches (errDetached). A signal ends ctx. It always
// restores the terminal.
func (a *cli) attachTerminal(ctx context.Context, service *manager.Manager, id session.ID) error {
	out, ok := fileOf(a.out)
	if !ok || !a.isInteractive() {
		return fault.New(fault.Usage, "attaching to %s needs a terminal as input and output", id).
			Hint("`aibox logs -f %s` follows its output without one", id).
			Hint("`aibox logs --screen %s` prints what its terminal shows now", id)
	}
	questions, stop := watchQuestions(ctx, service, id)
	defer stop()
	t := &attachedTerminal{in: a.in, out: out, label: string(id), closes: id.Hidden(), questions: questions}
	for {
		attachment, err := service.Attach(ctx, id, t.agentSize(), colorDepth(a.term))
		if err != nil {
			return err
		}
		left, err := t.run(ctx, attachment)
		switch {
		case errors.Is(err, errScrollBack):
			err = a.scrollBack(ctx, service, id)
		case errors.Is(err, errQuestions):
			err = a.answerQuestions(ctx, service, questions)
		case err == nil:
			_, err = out.Write(left)
			return err
		}
		if err != nil {
			return err
		}
	}
}

// scrollBack shows the earlier output of the agent's terminal until the user leaves it.
// The terminal is detached meanwhile, so that no key can reach the agent.
func (a *cli) scrollBack(ctx context.Context, service *manager.Manager, id session.ID) error {
	_, err := ui.Run(ctx, ui.Request{
		In: a.in, Out: a.out, Sessions: service, Only: page.Scrollback{ID: id}, Remember: a.rememberHost,
	})
	dropKeys(a.in)
	return crashed(err)
}

// agentSize returns the size of an agent's terminal on this one. Without a terminal it
// is zero, which means 24 by 80.
func (c *console) agentSize() screen.Size {
	if out, ok := fileOf(c.out); ok && c.isInteractive() {
		return (&attachedTerminal{out: out}).agentSize()
	}
	return screen.Size{}
}

// isInteractive reports whether both input and output are a terminal.
func (c *console) isInteractive() bool { return c.term.interactive && terminalOf(c.in).interactive }

func needsTerminal() error {
	return fault.New(fault.Usage, "an interactive session needs a terminal as input and output").
		Hint("drop -i, or add --detach and attach from a terminal later")
}

// colorDepth returns how many colors the user's terminal has, according to the
// environment.
func colorDepth(t terminal) screen.Colors {
	switch depth := os.Getenv("COLORTERM"); {
	case !t.color:
		return screen.NoColors
	case depth == "truecolor" || depth == "24bit":
		return screen.TrueColors
	case strings.HasSuffix(os.Getenv("TERM"), "256color"):
		return screen.Colors256
	default:
		return screen.Colors16
	}
}

// runInteractive attaches the terminal to a session that `aibox run -i` has started, and
// concludes the run when the agent has ended.
func (i *invocation) runInteractive(ctx context.Context, plan run.Plan, id session.ID) error {
	err := i.attachTerminal(ctx, i.service, id)
	if err != nil && !errors.Is(err, client.ErrNotAttached) {
		return i.left(ctx, i.service, id, err)
	}
	missed := err != nil // the agent had ended before
	ended, err := i.awaitEnd(ctx, i.service, id, i.show.json)
	if err != nil {
		return err
	}
	if missed {
		err = i.printScreen(ctx, i.service, ended)
	}
	return errors.Join(err, i.finish(ctx, plan, ended))
}

// interactive is `aibox attach` for an interactive session.
func (o *attachOptions) interactive(ctx context.Context, service *manager.Manager, found session.Session) error {
	id := found.ID
	if found.State.Phase != session.Ended {
		err := o.attachTerminal(ctx, service, id)
		if err != nil && !errors.Is(err, client.ErrNotAttached) {
			return o.left(ctx, service, id, err)
		}
		ended, followErr := o.awaitEnd(ctx, service, id, false)
		if followErr != nil {
			return followErr
		}
		if err == nil {
			return ended.State.Result.Fault.Err()
		}
		found = ended
	}
	return errors.Join(o.printScreen(ctx, service, found), found.State.Result.Fault.Err())
}

// printScreen prints the current or last screen of an interactive session, or its output
// if the screen is lost.
func (c *console) printScreen(ctx context.Context, service *manager.Manager, found session.Session) error {
	if !found.Interactive {
		return fault.New(fault.Usage, "%s is not interactive, so it has no screen", found.ID).
			Hint("`aibox logs %s` prints the agent's output", found.ID)
	}
	text, err := service.Screen(ctx, found.ID)
	if errors.Is(err, session.ErrNoScreen) {
		printer := c.agentOutput(c.out)
		_, err = service.Output(found.ID, 0, printer.show)
		return errors.Join(err, printer.close())
	}
	if err != nil {
		return err
	}
	_, err = c.out.Write(screen.Recolor(text, colorDepth(c.term)))
	return err
}

// endOfOutput is an offset after any output: following from there only waits for the end.
const endOfOutput = 1 << 62

// left reports the state of a session that the terminal left before the agent ended.
func (c *console) left(ctx context.Context, service *manager.Manager, id session.ID, err error) error {
	switch {
	case errors.Is(err, errDetached):
		fmt.Fprintf(c.err, "%s %s is still running; `aibox attach %s` reattaches, `aibox stop %s` ends it\n", c.errTerm.faint("→"), id, id, id)
		return nil
	case ctx.Err() != nil:
		return fault.New(fault.Interrupted, "detached; %s is still running", id).
			Hint("`aibox attach %s` reattaches, `aibox stop %s` ends it", id, id)
	}
	if !errors.Is(err, errLost) {
		return err
	}
	// The record says how it ended.
	if _, followErr := service.Follow(ctx, id, endOfOutput, func(output.Chunk) error { return nil }); followErr != nil {
		return followErr
	}
	return err
}
