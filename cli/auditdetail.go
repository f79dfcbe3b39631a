package cli

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"aibox/audit"
	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/session/auditlog"
	"aibox/ui/traffic"
)

// auditDetail describes an event in one line, escaped.
func auditDetail(e auditlog.Event) string {
	switch e.Type {
	case audit.EgressAllowed, audit.EgressRefused:
		var r audit.Egress
		if json.Unmarshal(e.Data, &r) == nil {
			return egressDetail(r)
		}
	case audit.EgressClosed:
		var end audit.EgressEnd
		if json.Unmarshal(e.Data, &end) == nil {
			return egressEndDetail(end)
		}
	case audit.EgressCounted:
		var count audit.EgressCount
		if json.Unmarshal(e.Data, &count) == nil {
			return fmt.Sprintf("%s so far: %s, %s up, %s down", termtext.Escape(count.Target()),
				amount.Of(count.Requests, "request"), amount.Bytes(count.BytesUp), amount.Bytes(count.BytesDown))
		}
	case audit.ProbesRan:
		var ran auditlog.Summary
		ran.Add(e.Event)
		return fmt.Sprintf("%d of %d passed", ran.Probes-ran.Failed, ran.Probes)
	case audit.NoticeGiven:
		var notice struct{ Text string }
		if json.Unmarshal(e.Data, &notice) == nil {
			return termtext.Escape(notice.Text)
		}
	default:
		if access, ok := auditlog.AccessOf(e.Session, e.Event); ok {
			text := traffic.Say(access).String()
			for _, remedy := range remedies(access.Hint, access.Command) {
				text += ": " + termtext.Escape(remedy)
			}
			return text
		}
	}
	return fieldsDetail(e.Event)
}

// detailFields are the fields in the line of an event, in order; all for other types.
var detailFields = map[audit.Type][]string{
	audit.SessionStarted:    {"agent", "network", "inference", "repository"},
	audit.WorkspacePrepared: {"files", "repo", "path"},
	audit.NetworkGuarded:    {"bridge", "policy"},
	audit.SandboxStarted:    {"kernel", "image"},
	audit.AgentEnded:        {"exit_code", "signal"},
	audit.ProcessStarted:    {"process", "argv", "copy", "path", "user"},
	audit.ProcessEnded:      {"process", "exit_code", "signal", "output", "error"},
	audit.FilesCopied:       {"process", "copy", "path", "bytes", "exit_code"},
	audit.FileChanged:       {"operation", "path", "to", "user", "bytes", "error"},
	audit.SandboxDestroyed:  {"calls", "input_tokens", "output_tokens", "refused"},
	audit.ChangesComputed:   {"files", "added", "deleted"},
	audit.ChangesAccepted:   {"files", "target", "branch"},
	audit.ChangesDiscarded:  {"files", "added", "deleted", "ref"},
	audit.AcceptBegun:       {"target", "all", "hunks"},
	audit.RequestMade:       {"question"},
}

// fieldsDetail lists the data of an event.
func fieldsDetail(e audit.Event) string {
	fields := auditFields(e)
	if names := detailFields[e.Type.Today()]; names != nil {
		place := func(field []string) int { return slices.Index(names, field[0]) }
		fields = slices.DeleteFunc(fields, func(field []string) bool { return place(field) < 0 })
		slices.SortFunc(fields, func(a, b []string) int { return place(a) - place(b) })
	}
	var parts []string
	for _, field := range fields {
		parts = append(parts, strings.ReplaceAll(field[0], "_", " ")+" "+field[1])
	}
	return strings.Join(parts, ", ")
}

// egressDetail describes a request to the egress proxy.
func egressDetail(r audit.Egress) string {
	parts := []string{r.Method + " " + r.Target() + r.Path}
	if r.Reason != "" {
		parts = append(parts, r.Reason)
	}
	if r.Rule != "" {
		parts = append(parts, "rule "+r.Rule)
	}
	return termtext.Escape(strings.Join(append(parts, remedies(r.Hint, r.Command)...), ": "))
}

// remedies returns what the user can do about a refusal.
func remedies(hint, command string) []string {
	var parts []string
	if hint != "" {
		parts = append(parts, hint)
	}
	if command != "" {
		parts = append(parts, "allow with "+command)
	}
	return parts
}

// egressEndDetail describes the end of a request.
func egressEndDetail(end audit.EgressEnd) string {
	took := time.Duration(end.Millis) * time.Millisecond
	text := fmt.Sprintf("%s %s up, %s down, %s", termtext.Escape(net.JoinHostPort(end.Host, strconv.Itoa(end.Port))),
		amount.Bytes(end.BytesUp), amount.Bytes(end.BytesDown), amount.Took(took))
	if end.Reason != "" {
		text += ": " + termtext.Escape(end.Reason)
	}
	return text
}

// auditFields returns the data of an event as names and values, sorted by name, escaped.
func auditFields(e audit.Event) [][]string {
	var data map[string]json.RawMessage
	if len(e.Data) == 0 || json.Unmarshal(e.Data, &data) != nil {
		return nil
	}
	fields := make([][]string, 0, len(data))
	for name, raw := range data {
		value := string(raw)
		var text string
		if json.Unmarshal(raw, &text) == nil {
			value = text
		}
		if value != "" && value != "null" {
			fields = append(fields, []string{termtext.Escape(name), termtext.Escape(value)})
		}
	}
	slices.SortFunc(fields, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	return fields
}
