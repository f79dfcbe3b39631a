package dashboard

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"aibox/internal/amount"
	"aibox/internal/paths"
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/session"
	"aibox/session/summary"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"

	"github.com/charmbracelet/x/ansi"
)

// details draws a session in full.
type details struct {
	theme     theme.Theme
	now       time.Time
	brief     *summary.Summary
	shown     *preview
	uncounted error // why its changes could not be counted
}

// view returns exactly height lines of at most width columns.
func (d *details) view(width, height int) []string {
	out := d.facts()
	if d.loaded() {
		if room := height - len(out); room > 6 && d.shown.changes != nil {
			out = append(append(out, ""), d.files(d.shown.changes.Changes, min(8, room/2))...)
		}
		if room := height - len(out) - 1; room > 0 && len(d.shown.output) > 0 {
			out = append(out, frame.Rule(d.theme, width))
			for _, line := range d.shown.output[max(0, len(d.shown.output)-room):] {
				out = append(out, line+"\x1b[m")
			}
		}
	}
	for i, line := range out {
		out[i] = ansi.Truncate(line, width, "…")
	}
	return frame.Fill(out, height)
}

// files returns a line for each of the first changes, and one for the others.
func (d *details) files(changes []review.Change, most int) []string {
	shown := changes[:min(len(changes), most)]
	out := make([]string, 0, len(shown)+1)
	for _, c := range shown {
		counts := d.theme.Good.Render(fmt.Sprintf("+%d", c.Added)) + " " + d.theme.Bad.Render(fmt.Sprintf("-%d", c.Deleted))
		if c.Binary {
			counts = "binary"
		}
		out = append(out, fmt.Sprintf("%-12s %s  %s", c.Kind, c.Path, counts))
	}
	if more := len(changes) - len(shown); more > 0 {
		out = append(out, d.theme.Faint.Render("… "+amount.Of(more, "more file")))
	}
	return out
}

// facts returns the lines about the session.
func (d *details) facts() []string {
	t, b := d.theme, d.brief
	out := []string{t.Title.Render(string(b.ID)) + "  " + stateView(&t, b)}
	if b.Task != "" {
		out = append(out, termtext.Escape(b.Task))
	}
	place := termtext.Escape(paths.Short(b.Repository))
	if b.Branch != "" {
		place += " on " + termtext.Escape(b.Branch)
	}
	if b.Batch != "" {
		place += " · batch " + string(b.Batch)
	}
	out = append(out, t.Faint.Render(place))
	if b.Queue != "" {
		out = append(out, t.Warn.Render(fmt.Sprintf("place %d in the queue: ", b.Position)+termtext.Escape(b.Queue)))
	}
	if numbers := d.numbers(); numbers != "" {
		out = append(out, numbers)
	}
	if u := b.Usage; !u.Measured.IsZero() {
		out = append(out, t.Faint.Render(fmt.Sprintf("%s of memory, %s CPU, %s", amount.Bytes(u.Memory), percent(u.CPU), amount.Of(u.Processes, "process"))))
	}
	if d.uncounted != nil {
		out = append(out, t.Warn.Render("changes not counted: "+termtext.Escape(d.uncounted.Error())))
	}
	if d.loaded() {
		out = append(out, d.run(&d.shown.session)...)
	}
	return out
}

// loaded reports whether the preview has loaded this session.
func (d *details) loaded() bool { return d.shown.known && d.shown.id == d.brief.ID }

// run returns the lines about how the session was started and how it ended.
func (d *details) run(s *session.Session) []string {
	t := d.theme
	words := []string{"network " + strings.TrimPrefix(termtext.Escape(s.Reach()), "policy "), s.Created.Local().Format(time.DateTime)}
	if model := modelOf(&s.Spec); model != "" {
		words = slices.Insert(words, 0, termtext.Escape(model))
	}
	out := []string{t.Faint.Render(strings.Join(words, " · "))}
	if r := s.State.Result; r != nil {
		if r.Fault != nil {
			out = append(out, t.Bad.Render(termtext.Escape(r.Fault.Message)))
		}
		for i, refusal := range r.Refused {
			if i == 3 {
				out = append(out, t.Faint.Render("… "+amount.Of(len(r.Refused)-i, "more refusal")))
				break
			}
			out = append(out, t.Warn.Render(fmt.Sprintf("refused %s %s: %s (%d×)", refusal.What,
				termtext.Escape(refusal.Target), termtext.Escape(refusal.Reason), refusal.Times)))
		}
	}
	return out
}

// numbers returns tokens, refusals and changes in a line; empty for none.
func (d *details) numbers() string {
	b := d.brief
	var words []string
	if b.Uncounted {
		words = append(words, "tokens unknown")
	} else if b.Tokens > 0 {
		words = append(words, amount.Short(b.Tokens)+" tokens")
	}
	if text := b.CostText(); text != "" {
		words = append(words, text)
	}
	if b.Refused > 0 {
		words = append(words, d.theme.Warn.Render(amount.Short(b.Refused)+" refused"))
	}
	if b.Changed {
		text := fmt.Sprintf("%s +%d -%d", amount.Of(b.Files, "file"), b.Added, b.Deleted)
		if partial(b) {
			text += " so far"
		}
		words = append(words, text)
	}
	if b.Unknown && b.Phase == session.Ended {
		words = append(words, d.theme.Warn.Render("changes unknown"))
	}
	if b.Phase != session.Ended {
		if !b.Deadline.IsZero() {
			words = append(words, amount.Age(b.Deadline.Sub(d.now))+" left")
		}
		if b.Waiting > 0 {
			words = append(words, d.theme.Warn.Render(amount.Of(b.Waiting, "question")+" for you"))
		}
	}
	return strings.Join(words, d.theme.Faint.Render(" · "))
}

// modelOf describes the model a session was started with; empty for none.
func modelOf(s *session.Spec) string {
	kind, _, _ := strings.Cut(s.Inference, ":")
	switch {
	case !s.HasModel():
		return ""
	case kind == "scripted":
		return "scripted model"
	case s.Model != "":
		return "model " + s.Model
	case kind == "" || kind == "auto":
		return "model chosen automatically"
	default:
		return "model chosen at " + s.Inference
	}
}
