package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/session"
	"aibox/session/feedback"
	"aibox/session/manager"

	"github.com/spf13/cobra"
)

// commentOptions are the flags of `aibox comment`.
type commentOptions struct {
	*cli

	hunk   string
	remove []int
	json   bool
}

func newCommentCommand(a *cli) *cobra.Command {
	o := commentOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "comment ID [FILE[:LINE] | .] [TEXT]",
		Short: "Comment on a session's work, or list its comments",
		Long: `Comment on a file, on a line of it, on a hunk, or with "." on the work as a whole.
Line numbers are those of the agent's version. Without TEXT, the comment is read from
standard input unless that is a terminal. Without arguments after ID, list the
comments and the rejected hunks.

"aibox run --resume ID" continues the agent's work with this feedback in its prompt.`,
		Example: `  aibox comment 0dq4f src/login.go:42 "check the error here"
  aibox comment 0dq4f --hunk 3f9c21 "why was this removed?"
  aibox comment 0dq4f . "add tests"
  aibox comment 0dq4f
  aibox comment 0dq4f --remove 2`,
		Args:              cobra.RangeArgs(1, 3),
		ValidArgsFunction: a.complete.sessionAndPaths,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
	}
	cmd.Flags().StringVar(&o.hunk, "hunk", "", "comment on the hunk with this `ID` or unique prefix")
	_ = cmd.RegisterFlagCompletionFunc("hunk", a.complete.hunks)
	cmd.Flags().IntSliceVar(&o.remove, "remove", nil, "remove the comment with this `NUMBER` (repeatable)")
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}

func (o *commentOptions) run(ctx context.Context, args []string) error {
	args, rest := args[:1], args[1:]
	switch {
	case len(o.remove) > 0 && (len(rest) > 0 || o.hunk != ""):
		return fault.New(fault.Usage, "--remove cannot be used with a new comment").Hint("use one of the two")
	case o.hunk != "" && len(rest) > 1:
		return fault.New(fault.Usage, "--hunk already selects what %q would", rest[len(rest)-1]).Hint("drop %q", rest[0])
	}
	service, found, err := o.find(ctx, args[0])
	if err != nil {
		return err
	}
	switch {
	case len(o.remove) > 0:
		if err := service.Uncomment(ctx, found.ID, o.remove...); err != nil || !o.json {
			return err
		}
		return o.list(service, found.ID, true)
	case len(rest) == 0 && o.hunk == "":
		return o.list(service, found.ID, o.json)
	}
	c := feedback.Comment{Hunk: review.HunkID(o.hunk)}
	if o.hunk == "" {
		if c.Path, c.Line, err = o.place(ctx, service, found.ID, rest[0]); err != nil {
			return err
		}
		rest = rest[1:]
	}
	if c.Text, err = o.text(ctx, rest); err != nil {
		return err
	}
	made, err := service.Comment(ctx, found.ID, c)
	if err != nil {
		return err
	}
	if o.json {
		return printJSON(o.out, made)
	}
	fmt.Fprintln(o.out, made.Number)
	fmt.Fprintf(o.err, "%s `%s` sends it to the agent\n", o.errTerm.faint("→"), session.ResumeCommand(found.ID, found.Agent))
	return nil
}

// text returns the text of the command line, or else of standard input.
func (o *commentOptions) text(ctx context.Context, words []string) (string, error) {
	if len(words) > 0 {
		return words[0], nil
	}
	if terminalOf(o.in).interactive {
		return "", fault.New(fault.Usage, "the comment is empty").Hint("add the text at the end, in quotes").
			Hint("to comment on the work as a whole: aibox comment %s . TEXT", o.about)
	}
	text, err := readAll(ctx, o.in, 1<<20)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", fault.New(fault.Usage, "the comment cannot be read from standard input: %w", err)
	}
	return string(text), nil
}

// place parses "FILE", "FILE:LINE" or ".", which means the work as a whole. If a file's
// name ends in a colon and a number, it names that file.
func (o *commentOptions) place(ctx context.Context, service *manager.Manager, id session.ID, text string) (review.Path, int, error) {
	if text == "." {
		return "", 0, nil
	}
	path := strings.TrimPrefix(text, "./")
	at := strings.LastIndexByte(path, ':')
	if at <= 0 {
		return review.Path(path), 0, nil
	}
	line, err := strconv.Atoi(path[at+1:])
	if err != nil {
		return review.Path(path), 0, nil //nolint:nilerr // the colon is part of the name
	}
	set, err := service.FinalChanges(id)
	if err == nil {
		if _, missing := set.Quote(ctx, review.Path(path), 0); missing == nil {
			return review.Path(path), 0, nil
		}
	}
	if line < 1 {
		return "", 0, fault.New(fault.Usage, "line numbers start at 1, so there is no line %d", line)
	}
	return review.Path(path[:at]), line, nil
}

// list prints the comments on a session's work and the rejected hunks.
func (o *commentOptions) list(service *manager.Manager, id session.ID, asJSON bool) error {
	f, err := service.Feedback(id)
	if err != nil {
		return err
	}
	if asJSON {
		if f.Comments == nil {
			f.Comments = []feedback.Comment{}
		}
		if f.Rejected == nil {
			f.Rejected = []feedback.Rejection{}
		}
		return printJSON(o.out, f)
	}
	if f.Empty() {
		fmt.Fprintf(o.err, "%s has no comments; add one with `aibox comment %s FILE:LINE TEXT`\n", id, id)
		return nil
	}
	var rows [][]string
	for _, c := range f.Comments {
		rows = append(rows, []string{strconv.Itoa(c.Number), commentPlace(c), sentTo(c.Sent), oneLine(c.Text)})
	}
	for _, r := range f.Rejected {
		rows = append(rows, []string{"rejected", fmt.Sprintf("%s hunk %.8s", r.Path, string(r.Hunk)), sentTo(r.Sent), oneLine(r.Note)})
	}
	return o.overview("NUMBER\tON\tSENT\tTEXT", rows)
}

// commentPlace describes what a comment is on.
func commentPlace(c feedback.Comment) string {
	switch {
	case c.Path == "":
		return "all of it"
	case c.Hunk != "":
		return fmt.Sprintf("%s hunk %.8s", c.Path, string(c.Hunk))
	case c.Line > 0:
		return fmt.Sprintf("%s:%d", c.Path, c.Line)
	default:
		return c.Path.String()
	}
}

func sentTo(id string) string {
	if id == "" {
		return "not yet"
	}
	return id
}

// oneLine returns text for a table cell.
func oneLine(text string) string {
	return termtext.Escape(firstLine(text, 200))
}

// rejectOptions are the flags of `aibox reject`.
type rejectOptions struct {
	*cli

	files  []string
	note   string
	remove bool
}

func newRejectCommand(a *cli) *cobra.Command {
	o := rejectOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "reject ID [HUNK…]",
		Short: "Reject hunks of a session's work",
		Long: `Reject hunks by their ids or unique prefixes; with -m, give a reason. Accepting
everything leaves rejected hunks out, and "aibox run --resume ID" asks the agent to
change or revert them.`,
		Example: `  aibox reject 0dq4f 3f9c21 -m "use the helper in util.go"
  aibox reject 0dq4f --files vendor/lib.js
  aibox reject 0dq4f 3f9c21 --remove`,
		Args:              someSessions,
		ValidArgsFunction: a.complete.sessionAndHunks,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0], args[1:]) },
	}
	cmd.Flags().StringArrayVar(&o.files, "files", nil, "reject every hunk of this `FILE` (repeatable)")
	_ = cmd.RegisterFlagCompletionFunc("files", a.complete.changed(func(review.Change) bool { return true }))
	cmd.Flags().StringVarP(&o.note, "message", "m", "", "give `TEXT` as the reason")
	cmd.Flags().BoolVar(&o.remove, "remove", false, "undo rejections instead")
	return cmd
}

func (o *rejectOptions) run(ctx context.Context, text string, words []string) error {
	if len(words) == 0 && len(o.files) == 0 {
		return fault.New(fault.Usage, "no hunk was given").Hint("`aibox diff --hunks %s` lists them with their ids", text).
			Hint("or give a file with --files")
	}
	if o.remove && o.note != "" {
		return fault.New(fault.Usage, "--remove cannot be used with a reason").Hint("drop --message")
	}
	service, found, err := o.find(ctx, text)
	if err != nil {
		return err
	}
	hunks := make([]review.HunkID, 0, len(words))
	for _, word := range words {
		for id := range strings.SplitSeq(word, ",") { // as accept --hunks takes them
			hunks = append(hunks, review.HunkID(id))
		}
	}
	if len(o.files) > 0 {
		set, err := service.FinalChanges(found.ID)
		if err != nil {
			return err
		}
		of, err := hunksOf(ctx, set, o.files)
		if err != nil {
			return err
		}
		hunks = append(hunks, of...)
	}
	if o.remove {
		return service.Unreject(ctx, found.ID, hunks)
	}
	if err := service.Reject(ctx, found.ID, hunks, o.note); err != nil {
		return err
	}
	fmt.Fprintf(o.err, "%s %s rejected; `%s` tells the agent\n", o.errTerm.good("✓"), amount.Of(len(hunks), "hunk"),
		session.ResumeCommand(found.ID, found.Agent))
	return nil
}

// hunksOf returns the ids of all hunks of the named files.
func hunksOf(ctx context.Context, set *review.ChangeSet, names []string) ([]review.HunkID, error) {
	var ids []review.HunkID
	var paths []review.Path
	for _, name := range names {
		paths = append(paths, review.Path(strings.TrimPrefix(name, "./")))
	}
	err := set.Files(ctx, func(file review.FileDiff) error {
		for _, h := range file.Hunks {
			ids = append(ids, h.ID)
		}
		return nil
	}, paths...)
	return ids, err
}
