package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/session"
	"aibox/session/auditlog"
	"aibox/session/manager"
)

// list prints the selected events, and with --follow new ones. named reports whether the
// user named the sessions, so that only theirs are followed.
func (o *auditOptions) list(ctx context.Context, service *manager.Manager, logs []auditlog.Log, filter auditFilter, named bool) error {
	show := func(_ context.Context, out io.Writer) error {
		lines := o.auditLines(out)
		err := service.AuditEvents(logs, lines.printing(filter))
		if lines.count == 0 && err == nil && !o.json {
			fmt.Fprintln(o.err, "no events; without filters, `aibox audit` shows those of all sessions")
		}
		return damagedLogs(err)
	}
	switch {
	case o.follow:
		want := func(session.ID) bool { return true }
		if named {
			want = among(logs)
		}
		return o.followEvents(ctx, service, logs, want, o.auditLines(o.out).printing(filter))
	case o.json:
		return o.piped(func(out io.Writer) error { return show(ctx, out) })
	default:
		return o.paged(ctx, show)
	}
}

// followEvents prints the events of logs and continues with new ones until ctx ends: those of
// the sessions for which want returns true.
func (a *cli) followEvents(ctx context.Context, service *manager.Manager, logs []auditlog.Log, want func(session.ID) bool, printed func(auditlog.Event) error) error {
	next := map[session.ID]int{}
	err := service.AuditEvents(logs, func(e auditlog.Event) error {
		next[e.Session] = e.Seq + 1
		return printed(e)
	})
	if err = damagedLogs(err); err != nil {
		a.report(err) // the rest can be followed
	}
	err = service.FollowAudit(ctx, next, want, printed)
	if errors.Is(err, context.Canceled) {
		return fault.New(fault.Interrupted, "interrupted")
	}
	return quietly(err)
}

// among returns a function that reports whether a session has one of logs.
func among(logs []auditlog.Log) func(session.ID) bool {
	return func(id session.ID) bool {
		return slices.ContainsFunc(logs, func(log auditlog.Log) bool { return log.Session == id })
	}
}

// damagedLogs adds a hint to the error of damaged logs.
func damagedLogs(err error) error {
	if !errors.Is(err, audit.ErrBroken) {
		return err
	}
	return fault.New(fault.Refused, "%w", err).Hint("`aibox audit --verify` names the lines; the events before them are intact")
}

// auditLines prints events as lines.
type auditLines struct {
	out   io.Writer
	term  terminal
	json  bool
	whole bool   // do not cut lines to the terminal's width
	day   string // printed last
	count int
}

func (o *auditOptions) auditLines(out io.Writer) *auditLines {
	return &auditLines{out: out, term: o.term, json: o.json}
}

// printing returns a function that prints the events that filter selects.
func (l *auditLines) printing(filter auditFilter) func(auditlog.Event) error {
	return func(e auditlog.Event) error {
		if !filter.match(e) {
			return nil
		}
		l.count++
		if l.json {
			return encodeJSON(l.out, e.Line(), "")
		}
		return l.print(e)
	}
}

// The widths of the columns.
const (
	eventIDWidth   = 9
	eventTypeWidth = 18
	columnGap      = 2
)

// print prints one event. On a terminal, each day has a line of its own, and the details are
// cut to the width; `aibox audit ID/NUMBER` shows them in full.
func (l *auditLines) print(e auditlog.Event) error {
	at := e.Time.Local()
	clock := at.Format(time.DateTime)
	detail := auditDetail(e)
	if l.term.interactive {
		if day := at.Format(time.DateOnly); day != l.day {
			l.day = day
			fmt.Fprintln(l.out, l.term.bold(day))
		}
		clock = at.Format(time.TimeOnly)
		used := len(clock) + max(eventIDWidth, len(e.ID().String())) + eventTypeWidth + 3*columnGap
		if !l.whole {
			detail = firstLine(detail, max(l.term.width-used, 12))
		}
	}
	kind := fmt.Sprintf("%-*s", eventTypeWidth, termtext.Escape(string(e.Type)))
	if e.Denied() {
		kind = l.term.bad(kind)
	}
	line := fmt.Sprintf("%s  %-*s  %s  %s", l.term.faint(clock), eventIDWidth, e.ID(), kind, detail)
	_, err := fmt.Fprintln(l.out, strings.TrimRight(line, " "))
	return err
}

// showEvent prints one event in full.
func (o *auditOptions) showEvent(service *manager.Manager, text string) error {
	id, ok := session.ParseEventID(text)
	if !ok {
		return fault.New(fault.Usage, "%q is not the id of an event", text).Hint("ids look like 0dq4f/17; `aibox audit` shows them")
	}
	logs, err := service.AuditLogs(string(id.Session))
	if err != nil {
		return err
	}
	o.about = logs[0].Session
	var found *auditlog.Event
	enough := errors.New("enough")
	err = service.AuditEvents(logs, func(e auditlog.Event) error {
		if e.Seq != id.Number {
			return nil
		}
		found = &e
		return enough
	})
	switch {
	case found != nil:
	case err != nil:
		return damagedLogs(err)
	default:
		return fault.New(fault.Usage, "%s has no event %d", logs[0].Session, id.Number).Hint("`aibox audit %s` shows its events", id.Session)
	}
	if o.json {
		return encodeJSON(o.out, found.Line(), "")
	}
	rows := [][]string{
		{"event", found.ID().String()},
		{"session", string(found.Session)},
		{"time", found.Time.Local().Format(time.DateTime)},
		{"type", termtext.Escape(string(found.Type))},
	}
	for _, field := range auditFields(found.Event) {
		if field[0] != "session" || field[1] != string(found.Session) { // the start of a session names it, too
			rows = append(rows, field)
		}
	}
	return o.explained(append(rows, []string{"hash", found.Hash}))
}
