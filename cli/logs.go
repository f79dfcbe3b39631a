package cli

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/manager"
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
	format logFormat
}

// logFormat is a form in which `aibox logs` prints a session. The zero value is text,
// unless the user chose the form of the agent's output: then it is that.
type logFormat string

// The formats.
const (
	logText     logFormat = "text"
	logRaw      logFormat = "raw"
	logMarkdown logFormat = "markdown"
	logJSON     logFormat = "json"
	logCast     logFormat = "cast"
)

var logFormats = []string{string(logText), string(logRaw), string(logMarkdown), string(logJSON), string(logCast)}

func newLogsCommand(a *cli) *cobra.Command {
	o := logsOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "logs ID",
		Short: "Print the output of a session's agent",
		Long: `Print the output of a session's agent, without control sequences that could harm a
terminal. If the agent prints its work as events, they are shown as text: its messages on
standard output; tool calls, edits, plans and errors on standard error. Otherwise its
standard output is printed on standard output, and its standard error on standard error.

--format chooses another form:
  text      what aibox run shows
  raw       the agent's own bytes, which are not safe for a terminal
  markdown  the conversation as a document, with everything the agent wrote quoted
  json      the conversation, an event on each line
  cast      a recording for asciinema play

The events of --format json have these fields, if they apply: "kind" (start, message,
reasoning, plan, call, result, error, warning, usage, end; text for a line that is no event, and
other for an event that aibox does not know; model, allowed and refused for model calls and
other network accesses in the session's log), "time" and "offset" (when and where in the
output its line was printed), "role" (user or agent), "text", "delta" (the text continues
the previous message), "id" (of a call and its result), "tool", "input", "command", "edits"
(each with "path", "change" and "diff"), "exit_code", "failed", "tasks" (each with "text"
and "status"), "usage", "model", "stderr", "name" and "raw" (of an event of kind other), and
"cut" (bytes of the line that were dropped). A network access has "name" (model, name, egress or
a protocol), "target", "text", and of a model call "status" and "usage". Its "time" is when it
was logged. --follow prints it with the next output.

With --json, each piece of output is one line of JSON with these fields: "time" (when it
was printed), "offset" (of its first byte in the whole output), "stream" ("stdout",
"stderr", or "notice" for a message of aibox) and "text". Bytes that are not UTF-8 are
replaced with U+FFFD; --raw prints them unchanged.`,
		Example: "  aibox logs 0dq4f\n  aibox logs --format markdown 0dq4f > issue.md\n  aibox logs --format cast 0dq4f > session.cast\n" +
			"  aibox logs --format json -f 0dq4f | jq 'select(.kind == \"call\").command'\n" +
			"  aibox logs --screen 0dq4f\n  aibox logs --raw 0dq4f > output\n  aibox logs --json -f 0dq4f | jq .text",
		Args:              oneSession,
		ValidArgsFunction: a.complete.sessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0]) },
	}
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "follow the output until the session ends")
	cmd.Flags().StringVar((*string)(&o.format), "format", "", "`FORM` of the output: "+strings.Join(logFormats, ", "))
	cmd.Flags().BoolVar(&o.screen, "screen", false, "print the current or last screen of an interactive session")
	cmd.Flags().BoolVar(&o.json, "json", false, "print each piece of output as a line of JSON")
	cmd.Flags().BoolVar(&o.raw, "raw", false, "print the raw bytes, which are not safe for a terminal")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(logFormats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// validate refuses flags that cannot be combined.
func (o *logsOptions) validate() error {
	switch {
	case o.format != "" && !slices.Contains(logFormats, string(o.format)):
		return fault.New(fault.Usage, "--format cannot be %q", safe(string(o.format))).Hint("it is one of %s", strings.Join(logFormats, ", "))
	case o.format != "" && (o.json || o.raw || o.screen):
		return fault.New(fault.Usage, "--format cannot be used together with --json, --raw or --screen").Hint("keep one of them")
	case (o.raw || o.format == logRaw) && o.term.interactive:
		return fault.New(fault.Usage, "the raw output would send the agent's own control sequences to your terminal").
			Hint("redirect it to a file or a pipe, or drop --%s", map[bool]string{true: "raw", false: "format raw"}[o.raw])
	case o.format == logCast && o.term.interactive:
		return fault.New(fault.Usage, "--format cast prints a file for asciinema").Hint("redirect it to a file, and play that with asciinema play")
	case o.follow && (o.format == logMarkdown || o.format == logCast):
		return fault.New(fault.Usage, "--format %s prints a whole file, so it cannot be followed", o.format).Hint("drop --follow, or use --format text or json")
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
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	p, err := o.printer(watching, service, found)
	if err != nil {
		return err
	}
	if o.follow {
		if _, err = o.followLogs(ctx, service, found.ID, p); err != nil {
			cancel() // the session has not ended
		}
	} else {
		_, err = service.Output(found.ID, 0, p.show)
	}
	return errors.Join(err, p.close())
}

// followLogs prints the output until the session ends. If it is printed for the user, the
// session's questions are, too.
func (o *logsOptions) followLogs(ctx context.Context, service *manager.Manager, id session.ID, p logPrinter) (session.Session, error) {
	if text, ok := p.(*agentOutput); ok {
		defer o.watchRequests(ctx, service, id, text)()
	}
	return service.Follow(ctx, id, 0, p.show)
}

// logPrinter prints output in one form.
type logPrinter interface {
	show(chunk output.Chunk) error
	close() error
}

// printer returns what prints the output in the requested form.
func (o *logsOptions) printer(ctx context.Context, service *manager.Manager, found session.Session) (logPrinter, error) {
	if found.Interactive && (o.format == logJSON || o.format == logMarkdown) {
		return nil, fault.New(fault.Usage, "%s is interactive: its output is a terminal's, not a conversation", found.ID).
			Hint("`aibox logs --screen %s` prints its screen", found.ID).
			Hint("`aibox logs --format cast %s > session.cast` saves a recording", found.ID)
	}
	switch {
	case o.json:
		return &jsonChunks{out: o.out}, nil
	case o.raw || o.format == logRaw:
		return rawChunks{o.out}, nil
	case o.format == logJSON:
		return &eventPrinter{
			out: o.out, load: func() *session.Session { return reload(service, found) },
			accesses: mergeAccesses(ctx, service, found.ID, o.follow),
		}, nil
	case o.format == logMarkdown:
		return newMarkdownPrinter(o.out, found, mergeAccesses(ctx, service, found.ID, false)), nil
	case o.format == logCast:
		return newCastPrinter(o.out, found)
	}
	p := o.agentOutput(o.out)
	p.renderEvents(service, found.ID)
	p.always = o.format == logText
	return p, nil
}

// reload reads the session again: of one that is being prepared, the format of the output
// becomes known before the agent starts.
func reload(service *manager.Manager, found session.Session) *session.Session {
	if now, err := service.Find(string(found.ID)); err == nil {
		return &now
	}
	return &found
}

// rawChunks prints the agent's own bytes.
type rawChunks struct{ out io.Writer }

func (p rawChunks) show(chunk output.Chunk) error {
	if chunk.Stream == output.Notice {
		return nil // the agent did not write it
	}
	_, err := p.out.Write(chunk.Data)
	return err
}

func (rawChunks) close() error { return nil }

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

// show prints a chunk. A character that is split between two chunks belongs to the second.
func (p *jsonChunks) show(chunk output.Chunk) error {
	before := p.carry[chunk.Stream]
	data := append(before[:len(before):len(before)], chunk.Data...)
	whole := len(data) - output.PartialRune(data)
	if p.carry == nil {
		p.carry = map[output.Stream][]byte{}
	}
	p.carry[chunk.Stream] = append([]byte(nil), data[whole:]...)
	if whole == 0 {
		return nil
	}
	return encodeJSON(p.out, jsonChunk{chunk.Time.UTC(), chunk.Offset - int64(len(before)), streamNames[chunk.Stream], string(data[:whole])}, "")
}

func (*jsonChunks) close() error { return nil }
