package cleanup

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"aibox/session/auditlog"
)

// auditLogs removes the logs of removed sessions whose retention is over.
func (c *cleaner) auditLogs(ctx context.Context) error {
	if c.options.AuditKeep == 0 {
		return nil
	}
	logs, err := auditlog.ArchivedLogs(c.store)
	if err != nil {
		return err
	}
	for _, log := range logs {
		info, err := os.Lstat(log.Path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && time.Since(info.ModTime()) < c.options.AuditKeep {
			continue
		}
		if err == nil {
			err = c.do("log "+string(log.Session), log.Remove)
		}
		if err != nil {
			c.fail(err)
			continue
		}
		c.report.Add(KindLogs, string(log.Session), log.Files, log.Bytes)
	}
	return ctx.Err()
}
