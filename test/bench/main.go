// Command bench prints what aibox costs beside what a user would have without it:
// each row is a ratio, measured in turns on this machine in this run. It is a
// benchmark, never a test: it fails only when something could not be measured. It
// removes everything it makes.
//
//	go run ./test/bench [--quick] [--only WORDS] [--json FILE] [--aibox FILE]
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) == 3 && os.Args[1] == serveCommand {
		fatal(serveModel(ctx, os.Args[2]))
		return
	}
	if len(os.Args) == 3 && os.Args[1] == egressCommand {
		fatal(serveEgress(ctx, os.Args[2]))
		return
	}
	var o options
	flag.IntVar(&o.pairs, "pairs", 10, "pairs of each row")
	flag.BoolVar(&o.quick, "quick", false, "two pairs of each row and small sizes, to try the program itself")
	flag.StringVar(&o.only, "only", "", "only rows whose name holds one of these `WORDS`, parted by commas")
	flag.StringVar(&o.flood, "flood", "", "only floods whose name holds this `TEXT`")
	flag.StringVar(&o.json, "json", "bench.json", "`FILE` for the result")
	flag.StringVar(&o.aibox, "aibox", "bin/aibox", "`FILE` to measure")
	flag.Parse()
	if o.quick {
		o.pairs = 2
	}
	fatal(run(ctx, o))
}

func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	pairs int
	quick bool
	only  string
	flood string
	json  string
	aibox string
}

// suite is every row, in the order of the table.
func suite() []plan {
	return []plan{
		{"cold run", coldRun},
		{"side by side", sideBySide},
		{"codex run", agentRun("codex")},
		{"opencode run", agentRun("opencode")},
		{"claude run", agentRun("claude")},
		{"gemini run", agentRun("gemini")},
		{"qwen run", agentRun("qwen")},
		{"copilot run", agentRun("copilot")},
		{"stop", stopping},
		{"version", startUp},
		{"exec", executing},
		{"api create", inSandbox((*api).coldCreate)},
		{"api exec", inSandbox((*api).exec)},
		{"api output", inSandbox((*api).output)},
		{"api files", inSandbox((*api).files)},
		{"api requests", inSandbox((*api).steadyRequests)},
		{"api claim", claims},
		{"api crowd", crowded},
		{"gateway throughput", throughput},
		{"gateway throughput beside its model server", gatewayBulk},
		{"gateway requests", gatewayRequests},
		{"gateway latency", latency},
		{"egress proxy", egressProxy},
		{"egress proxy from a sandbox", sandboxBulk},
		{"policy decision", decision},
		{"probes", probes},
		{"change set", changeSet},
		{"diff text", diffText},
		{"workspace", prepare},
		{"help", help},
		{"list", list},
		{"supervisor", supervisor},
		{"binary", binary},
		{"tui dashboard", dashboard},
		{"tui session", sessionScreen},
		{"tui review", reviews},
		{"tui idle", idle},
		{"floods", besideFloods},
	}
}

// plan is a row that has not been measured yet.
type plan struct {
	name    string
	measure func(context.Context, *bench) ([]Row, error)
}

func run(ctx context.Context, o options) (err error) {
	b, err := open(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	var rows []Row
	for _, p := range suite() {
		if ctx.Err() != nil {
			err = errors.Join(err, ctx.Err())
			break // what was measured is shown
		}
		if !wanted(p.name, o.only) {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s …\n", p.name)
		measured, failure := p.measure(ctx, b)
		if failure != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", p.name, failure)
			err = errors.Join(err, fmt.Errorf("%s could not be measured", p.name))
		}
		rows = append(rows, measured...)
	}
	printTable(os.Stdout, rows)
	return errors.Join(err, writeJSON(o.json, rows))
}

func wanted(name, only string) bool {
	for word := range strings.SplitSeq(only, ",") {
		if strings.Contains(name, strings.TrimSpace(word)) {
			return true
		}
	}
	return false
}

func writeJSON(file string, rows []Row) error {
	data, err := json.MarshalIndent(rows, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, append(data, '\n'), 0o644); err != nil { //nolint:gosec // a result for everybody to read
		return err
	}
	if path, err := filepath.Abs(file); err == nil {
		fmt.Fprintln(os.Stderr, "written to", path)
	}
	return nil
}
