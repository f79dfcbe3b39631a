package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"aibox/internal/probe"
	"aibox/netguard"
)

// decision measures one decision of a policy with a long allow list.
func decision(context.Context, *bench) ([]Row, error) {
	policy := netguard.Policy{Mode: netguard.Allowlist}
	const letters = "abcdefghijklmnopqrstuvwxyz"
	for _, a := range letters {
		for _, c := range letters {
			pattern, err := netguard.ParseAllow(fmt.Sprintf("*.%c%c.example.net", a, c))
			if err != nil {
				return nil, err
			}
			policy.Allow = append(policy.Allow, netguard.Rule{Pattern: pattern, Source: "--allow"})
		}
	}
	matcher := netguard.NewMatcher(policy)
	destination, err := netguard.ParseDestination("a.very.deep.name.below.example.net:443")
	if err != nil {
		return nil, err
	}
	result := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			matcher.Decide(destination)
		}
	})
	row := alone(fmt.Sprintf("policy decision, %d patterns", len(policy.Allow)), "µs", float64(result.NsPerOp())/1e3, target{most: 10, absolute: true})
	row.Note = fmt.Sprintf("%d allocations", result.AllocsPerOp())
	row.Met = row.Met && result.AllocsPerOp() == 0
	return []Row{row}, nil
}

// probes measures how long the probes of a start take. They run at the same time, so the
// slowest one counts.
func probes(ctx context.Context, b *bench) ([]Row, error) {
	var slowest []float64
	names := map[string]int{}
	for range b.pairs {
		if _, err := b.quiet(ctx, b.aibox, "run", "shell", "--network", "allowlist", "--allow", "example.com", "--inference", "scripted", "--", "true"); err != nil {
			return nil, err
		}
		results, err := b.probeResults(ctx)
		if err = errors.Join(err, b.removeSessions(ctx)); err != nil {
			return nil, err
		}
		last := slices.MaxFunc(results, func(a, b probe.Result) int { return int(a.Took - b.Took) })
		slowest = append(slowest, float64(last.Took)/1e3)
		names[last.Name]++
	}
	var often string
	for name, count := range names {
		if count > names[often] {
			often = name
		}
	}
	row := alone("probes of a start, allowlist", "ms", median(slowest), target{most: 60, absolute: true})
	row.All, row.Note = slowest, fmt.Sprintf("p95 %s ms; the slowest is mostly %q", number(quantile(slowest, 0.95)), often)
	return []Row{row}, nil
}

// probeResults reads the results of the only session from its audit log. The logs of removed
// sessions are kept, too, so it names the session.
func (b *bench) probeResults(ctx context.Context) ([]probe.Result, error) {
	found, err := b.sessions(ctx)
	if err != nil || len(found) != 1 {
		return nil, cmp.Or(err, fmt.Errorf("there are %d sessions", len(found)))
	}
	out, err := b.quiet(ctx, b.aibox, "audit", found[0].ID, "--kind", "probes", "--json")
	if err != nil {
		return nil, err
	}
	var results []probe.Result
	for line := range strings.Lines(out) {
		var event struct {
			Data struct {
				Results []probe.Result `json:"results"`
			} `json:"data"`
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			return nil, err
		}
		results = append(results, event.Data.Results...)
	}
	if len(results) == 0 {
		return nil, errors.New("the audit log has no results of probes")
	}
	return results, nil
}
