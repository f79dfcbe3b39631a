package cli

import (
	"errors"
	"fmt"

	"aibox/audit"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/session"
	"aibox/session/auditlog"
	"aibox/session/manager"
)

// verifiedLine is a line of `aibox audit --verify --json`. The help of the command documents
// its fields.
type verifiedLine struct {
	Session session.ID   `json:"session"`
	Path    string       `json:"path"`
	Removed bool         `json:"removed"`
	Events  int          `json:"events"`
	Damage  []damageLine `json:"damage"`
}

// damageLine is a damaged place of a log.
type damageLine struct {
	Line    int    `json:"line"` // 0 if it is about the whole log
	Problem string `json:"problem"`
}

// verifyLogs verifies logs and prints a line for each of them, and for each damage.
func (o *auditOptions) verifyLogs(service *manager.Manager, logs []auditlog.Log) error {
	damaged := 0
	var failed []error
	for _, log := range logs {
		verified, err := service.VerifyAudit(log)
		if err != nil {
			failed = append(failed, fault.New(fault.Environment, "%s: %w", log.Path, err))
			continue
		}
		if len(verified.Damage) > 0 {
			damaged++
		}
		if err := o.printVerified(log, verified); err != nil {
			return err
		}
	}
	if damaged > 0 {
		failed = append(failed, changedLogs(damaged, len(logs)))
	}
	if len(logs) == 0 && !o.json {
		fmt.Fprintln(o.err, "there are no audit logs")
	}
	return errors.Join(failed...)
}

// changedLogs is the error of damaged logs.
func changedLogs(damaged, all int) error {
	were, they := "was", "it was"
	if damaged > 1 {
		were, they = "were", "they were"
	}
	return fault.New(fault.Refused, "%d of %s %s changed after %s written", damaged, amount.Of(all, "audit log"), were, they).
		Hint("a power failure or a full disk can cut a log, too; any other change was made by a program or a user")
}

func (o *auditOptions) printVerified(log auditlog.Log, verified audit.Verified) error {
	if o.json {
		line := verifiedLine{log.Session, log.Path, log.Removed, verified.Events, []damageLine{}}
		for _, damage := range verified.Damage {
			line.Damage = append(line.Damage, damageLine{damage.Line, damage.Problem})
		}
		return encodeJSON(o.out, line, "")
	}
	if len(verified.Damage) > 0 {
		for _, damage := range verified.Damage {
			fmt.Fprintf(o.out, "%s %s  %s: %s\n", o.term.bad("✗"), log.Session, termtext.Escape(log.Path), termtext.Escape(damage.String()))
		}
		return nil
	}
	note := ""
	if log.Removed {
		note = ", of a removed session"
	}
	if verified.EndUnknown {
		note += ", written by an earlier version: a cut at the end cannot be detected"
	}
	_, err := fmt.Fprintf(o.out, "%s %s  %s%s\n", o.term.good("✓"), log.Session, amount.Of(verified.Events, "event"), note)
	return err
}

// requireIntact returns an error if any log is damaged.
func requireIntact(service *manager.Manager, logs []auditlog.Log) error {
	damaged := 0
	for _, log := range logs {
		verified, err := service.VerifyAudit(log)
		if err != nil {
			return fault.New(fault.Environment, "%s: %w", log.Path, err)
		}
		if len(verified.Damage) > 0 {
			damaged++
		}
	}
	if damaged > 0 {
		return fault.New(fault.Refused, "%w", changedLogs(damaged, len(logs))).Hint("`aibox audit --verify` names the lines; nothing was written")
	}
	return nil
}
