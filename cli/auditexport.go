package cli

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"aibox/audit"
	"aibox/internal/amount"
	"aibox/internal/diskerr"
	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/internal/termtext"
	"aibox/session/auditlog"
	"aibox/session/manager"
)

// export verifies the logs and writes the selected events to a file.
func (o *auditOptions) export(service *manager.Manager, logs []auditlog.Log, filter auditFilter) error {
	if err := checkExport(o.output); err != nil {
		return err
	}
	if err := requireIntact(service, logs); err != nil {
		return err
	}
	written := 0
	err := paths.WriteBy(o.output, func(file io.Writer) error {
		out := bufio.NewWriterSize(file, 64<<10)
		write := encodeLine(out)
		if strings.EqualFold(filepath.Ext(o.output), ".csv") {
			write = encodeRow(out)
		}
		err := service.AuditEvents(logs, func(e auditlog.Event) error {
			if !filter.match(e) {
				return nil
			}
			written++
			return write(e)
		})
		return errors.Join(err, out.Flush())
	})
	if errors.Is(err, audit.ErrBroken) {
		return damagedLogs(err)
	}
	if err != nil {
		return diskerr.Explain(fault.New(fault.Environment, "%s cannot be written: %w", o.output, err), filepath.Dir(o.output))
	}
	fmt.Fprintf(o.err, "%s %s of %s written to %s\n", o.errTerm.good("✓"), amount.Of(written, "event"), amount.Of(len(logs), "log"), termtext.Escape(o.output))
	return nil
}

// checkExport refuses a path that is not a regular file, and "-", which other programs take for standard output.
func checkExport(file string) error {
	if _, err := os.Stat(filepath.Dir(file)); err != nil {
		return fault.New(fault.Usage, "there is no folder %s", termtext.Escape(filepath.Dir(file)))
	}
	info, err := os.Lstat(file)
	if file == "-" || err == nil && !info.Mode().IsRegular() {
		return fault.New(fault.Usage, "%s is not a file", file).Hint("`aibox audit --json` writes to standard output")
	}
	return nil
}

// encodeLine writes events as lines of JSON.
func encodeLine(out io.Writer) func(auditlog.Event) error {
	return func(e auditlog.Event) error { return encodeJSON(out, e.Line(), "") }
}

// encodeRow writes events as rows of CSV, after a header.
func encodeRow(out io.Writer) func(auditlog.Event) error {
	rows := csv.NewWriter(out)
	err := rows.Write([]string{"id", "session", "seq", "time", "type", "kind", "denied", "detail", "data", "hash"})
	return func(e auditlog.Event) error {
		if err != nil {
			return err
		}
		var data strings.Builder
		if len(e.Data) > 0 {
			err = encodeJSON(&data, e.Data, "")
		}
		row := []string{
			e.ID().String(), string(e.Session), strconv.Itoa(e.Seq), e.Time.UTC().Format(time.RFC3339Nano), string(e.Type), string(e.Kind()),
			strconv.FormatBool(e.Denied()), auditDetail(e), strings.TrimSuffix(data.String(), "\n"), e.Hash,
		}
		for i, cell := range row {
			row[i] = plainCell(cell)
		}
		err = errors.Join(err, rows.Write(row))
		rows.Flush()
		return errors.Join(err, rows.Error())
	}
}

// plainCell keeps a spreadsheet from running a cell as a formula: an agent can choose the
// text, such as a name that it looks up.
func plainCell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
