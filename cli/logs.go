package cli

import (
	"context"
	"errors"
	"io"
	"time"
	"unicode/utf8"

	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/output"

	"github.com/spf13/cobra"
)

// logsOptions are the flags of `aibox logs`.
type logsOptions struct {
	*cli

	follow bool
	raw    bool
	screen bool
	json   bool
}

func newLogsCommand(a *cli) *cobra.Command {
	o := logsOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "logs ID",
		Short: "Print the output of a session's agent",
		Long: `Print the output of a session's agent: its standard output on standard output, its
standard error on standard error, without control sequences that could harm a terminal.

With --json, each piece of output is one line of JSON with these fields: "time" (when it
was printed), "offset" (of its first byte in the whole output), "stream" ("stdout",
"stderr", or "notice" for a message of aibox) and "text". Bytes that are not UTF-8 are
replaced with U+FFFD; --raw prints them unchanged.`,
		Example:           "  aibox logs 0dq4f\n  aibox logs --screen 0dq4f\n  aibox logs --raw 0dq4f > output\n  aibox logs --json -f 0dq4f | jq -r .text",
		Args:              oneSession,
		ValidArgsFunction: a.completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0]) },
	}
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "follow the output until the session ends")
	cmd.Flags().BoolVar(&o.screen, "screen", false, "print the current or last screen of an interactive session")
	cmd.Flags().BoolVar(&o.json, "json", false, "print each piece of output as a line of JSON")
	cmd.Flags().BoolVar(&o.raw, "raw", false, "print the raw bytes, which are not safe for a terminal")
	return cmd
}

// validate refuses flags that cannot go together.
func (o *logsOptions) validate() error {
	switch {
	case o.raw && o.term.interactive:
		return fault.New(fault.Usage, "--raw would send the agent's own control sequences to your terminal").
			Hint("redirect it to a file or a pipe, or drop --raw")
	case o.screen && (o.raw || o.follow):
		return fault.New(fault.Usage, "--screen shows a single moment, not the whole output").Hint("drop --raw and --follow")
	case o.json && (o.raw || o.screen):
		return fault.New(fault.Usage, "--json cannot be used together with --raw or --screen").Hint("keep one of them")
	default:
		return nil
	}
}

func (o *logsOptions) run(ctx context.Context, text string) error {
	if err := o.validate(); err != nil {
		return err
	}
	if o.json {
		o.printJSONLines()
	}
	service, found, err := o.find(ctx, text)
	if err != nil {
		return err
	}
	if o.screen {
		return o.printScreen(ctx, service, found)
	}
	show, flush := o.printer()
	if o.follow {
		_, err = o.followLogs(ctx, service, found.ID, show)
	} else {
		_, err = service.Output(found.ID, 0, show)
	}
	return errors.Join(err, flush())
}

// followLogs prints the output until the session ends. If it is printed for the user, the
// session's questions are, too.
func (o *logsOptions) followLogs(ctx context.Context, service *session.Sessions, id session.ID, show func(output.Chunk) error) (session.Session, error) {
	if o.json || o.raw {
		return service.Follow(ctx, id, 0, show)
	}
	printer := o.agentOutput(o.out)
	defer o.attend(ctx, service, id, printer)()
	ended, err := service.Follow(ctx, id, 0, printer.show)
	return ended, errors.Join(err, printer.close())
}

// printer returns what prints the output in the requested form, and what ends it.
func (o *logsOptions) printer() (show func(output.Chunk) error, flush func() error) {
	switch {
	case o.json:
		return (&jsonChunks{out: o.out}).print, func() error { return nil }
	case o.raw:
		return rawChunks(o.out), func() error { return nil }
	default:
		printer := o.agentOutput(o.out)
		return printer.show, printer.close
	}
}

func rawChunks(out io.Writer) func(output.Chunk) error {
	return func(chunk output.Chunk) error {
		if chunk.Stream == output.Notice {
			return nil // the agent did not write it
		}
		_, err := out.Write(chunk.Data)
		return err
	}
}

// jsonChunk is a line of `aibox logs --json`. The help of the command documents its fields.
type jsonChunk struct {
	Time   time.Time `json:"time"`
	Offset int64     `json:"offset"` // of the first byte of Text
	Stream string    `json:"stream"`
	Text   string    `json:"text"`
}

// jsonChunks prints output as lines of JSON.
type jsonChunks struct {
	out   io.Writer
	carry map[output.Stream][]byte // the beginning of a character whose rest comes in the next chunk
}

var streamNames = map[output.Stream]string{output.Stdout: "stdout", output.Stderr: "stderr", output.Notice: "notice"}

// print prints a chunk. A character that is split between two chunks belongs to the second.
func (p *jsonChunks) print(chunk output.Chunk) error {
	before := p.carry[chunk.Stream]
	data := append(before[:len(before):len(before)], chunk.Data...)
	whole := len(data) - partialRune(data)
	if p.carry == nil {
		p.carry = map[output.Stream][]byte{}
	}
	p.carry[chunk.Stream] = append([]byte(nil), data[whole:]...)
	if whole == 0 {
		return nil
	}
	return encodeJSON(p.out, jsonChunk{chunk.Time.UTC(), chunk.Offset - int64(len(before)), streamNames[chunk.Stream], string(data[:whole])}, "")
}

// partialRune returns the length of an incomplete character at the end of data.
func partialRune(data []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(data); n++ {
		if tail := data[len(data)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}
