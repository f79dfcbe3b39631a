package cli

import (
	"fmt"

	"aibox/internal/amount"
	"aibox/session"
	"aibox/session/auditlog"
	"aibox/session/manager"
)

// summaryJSON is `aibox audit --summary --json`.
type summaryJSON struct {
	Sessions []sessionSummary `json:"sessions"`
	Total    auditlog.Summary `json:"total"`
}

// sessionSummary is the summary of one session.
type sessionSummary struct {
	Session session.ID `json:"session"`
	auditlog.Summary
}

// summarize prints totals of the selected events, for each session that has any, and for
// all.
func (o *auditOptions) summarize(service *manager.Manager, logs []auditlog.Log, filter auditFilter) error {
	bySession := map[session.ID]*auditlog.Summary{}
	err := damagedLogs(service.AuditEvents(logs, func(e auditlog.Event) error {
		if !filter.match(e) {
			return nil
		}
		if bySession[e.Session] == nil {
			bySession[e.Session] = new(auditlog.Summary)
		}
		bySession[e.Session].Add(e.Event)
		return nil
	}))
	all := summaryJSON{Sessions: []sessionSummary{}}
	for _, log := range logs {
		if sum := bySession[log.Session]; sum != nil {
			all.Sessions = append(all.Sessions, sessionSummary{log.Session, *sum})
			all.Total = all.Total.Plus(*sum)
		}
	}
	if o.json {
		if printErr := printJSON(o.out, all); printErr != nil {
			return printErr
		}
		return err
	}
	if len(all.Sessions) == 0 {
		fmt.Fprintln(o.err, "no events; without filters, `aibox audit --summary` counts those of all sessions")
		return err
	}
	var rows [][]string
	for _, s := range all.Sessions {
		rows = append(rows, summaryRow(string(s.Session), s.Summary))
	}
	rows = append(rows, summaryRow(amount.Of(len(all.Sessions), "session"), all.Total))
	if printErr := table(o.out, "SESSION\tALLOWED\tREFUSED\tUP\tDOWN\tDNS\tCALLS\tTOKENS\tPROBES\tREVIEW", rows); printErr != nil {
		return printErr
	}
	return err
}

// summaryRow is a row of the table.
func summaryRow(name string, s auditlog.Summary) []string {
	probes := fmt.Sprint(s.Probes)
	if s.Failed > 0 {
		probes = fmt.Sprintf("%d, %d failed", s.Probes, s.Failed)
	}
	review := ""
	switch {
	case s.Accepted > 0 && s.Discarded > 0:
		review = fmt.Sprintf("%d accepted, %d discarded", s.Accepted, s.Discarded)
	case s.Accepted > 0:
		review = fmt.Sprintf("%d accepted", s.Accepted)
	case s.Discarded > 0:
		review = fmt.Sprintf("%d discarded", s.Discarded)
	}
	return []string{
		name, fmt.Sprint(s.Allowed), fmt.Sprint(s.Refused), amount.Bytes(s.BytesUp), amount.Bytes(s.BytesDown), fmt.Sprint(s.Names),
		fmt.Sprint(s.Calls), amount.Short(s.Input) + "/" + amount.Short(s.Output), probes, review,
	}
}
