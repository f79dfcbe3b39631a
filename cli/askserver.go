package cli

import (
	"context"
	"fmt"
	"strings"

	"aibox/app"
	"aibox/internal/termtext"
)

// askAboutServer asks once whether prompts may go to a server that another user of
// this machine runs, when inference means such a server and no other. Without a
// terminal to ask on it does nothing, and the server is not used.
func (c *console) askAboutServer(ctx context.Context, inference string) error {
	if !c.errTerm.interactive || !terminalOf(c.in).interactive {
		return nil
	}
	server, found, err := app.UndecidedServer(ctx, inference)
	if err != nil || !found {
		return err
	}
	fmt.Fprintf(c.err, "%s %s runs as another user of this machine.\n  That user can read every prompt, including your code, and controls the answers your agent gets.\n",
		c.errTerm.warn("!"), sentence(termtext.Escape(server.String())))
	use, err := c.yes(ctx, "Use it, now and in the future? [y/N] ")
	if err != nil {
		return err
	}
	return server.Decide(use)
}

// sentence is text with a capital letter in front.
func sentence(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
