package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
	"time"
)

// Row is one line of the table.
type Row struct {
	What    string    `json:"what"`
	Against string    `json:"against,omitempty"` // empty if the figure has no comparison
	Unit    string    `json:"unit"`
	Ours    float64   `json:"ours"`             // median
	Theirs  float64   `json:"theirs,omitempty"` // median
	Ratio   float64   `json:"ratio,omitempty"`  // of the medians: ours by theirs
	Target  string    `json:"target"`
	Met     bool      `json:"met"`
	Note    string    `json:"note,omitempty"`
	All     []float64 `json:"all_ours,omitempty"`
	Other   []float64 `json:"all_theirs,omitempty"`
}

// target is what a figure must be. One of the limits is set.
type target struct {
	most, least float64
	absolute    bool // of Ours, not of the ratio
}

func (t target) String() string {
	sign, limit := "≤", t.most
	if t.least > 0 {
		sign, limit = "≥", t.least
	}
	text := fmt.Sprintf("%s %s", sign, number(limit))
	if !t.absolute {
		text += " x"
	}
	return text
}

func (t target) met(figure float64) bool {
	if t.least > 0 {
		return figure >= t.least
	}
	return figure <= t.most
}

// versus makes a row from two series in the same unit.
func versus(what, against, unit string, ours, theirs []float64, t target) Row {
	row := Row{What: what, Against: against, Unit: unit, Ours: median(ours), Theirs: median(theirs), All: ours, Other: theirs}
	row.Ratio = row.Ours / row.Theirs
	row.Target = t.String()
	row.Met = t.met(row.Ratio)
	return row
}

// alone makes a row from a figure without a comparison.
func alone(what, unit string, figure float64, t target) Row {
	return Row{What: what, Unit: unit, Ours: figure, Target: t.String() + " " + unit, Met: t.met(figure)}
}

// duel measures ours and theirs in turns and returns milliseconds. The order of each pair
// alternates, so that neither always finds the caches warm.
func duel(ctx context.Context, pairs int, ours, theirs func(context.Context) (time.Duration, error)) (a, b []float64, err error) {
	for i := range pairs {
		order := []func() error{
			func() error { return measure(ctx, &a, ours) },
			func() error { return measure(ctx, &b, theirs) },
		}
		if i%2 == 1 {
			slices.Reverse(order)
		}
		for _, step := range order {
			if err := cmp.Or(ctx.Err(), step()); err != nil {
				return nil, nil, err
			}
		}
	}
	return a, b, nil
}

func measure(ctx context.Context, into *[]float64, one func(context.Context) (time.Duration, error)) error {
	took, err := one(ctx)
	*into = append(*into, millis(took))
	return err
}

func millis(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

func median(values []float64) float64 { return quantile(values, 0.5) }

// quantile is the value below which the share q of the values lies.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (sorted[high]-sorted[low])*(at-float64(low))
}

func number(f float64) string {
	switch {
	case f >= 100:
		return fmt.Sprintf("%.0f", f)
	case f >= 10:
		return fmt.Sprintf("%.1f", f)
	default:
		return fmt.Sprintf("%.4g", math.Round(f*1000)/1000)
	}
}

func printTable(out io.Writer, rows []Row) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WHAT\tAIBOX\tOTHER\tRATIO\tTARGET\tMET\tAGAINST")
	for _, r := range rows {
		other, ratio, met := "", "", "no"
		if r.Against != "" {
			other, ratio = number(r.Theirs)+" "+r.Unit, number(r.Ratio)+" x"
		}
		if r.Met {
			met = "yes"
		}
		against := r.Against
		if r.Note != "" {
			against += " (" + r.Note + ")"
		}
		fmt.Fprintf(table, "%s\t%s %s\t%s\t%s\t%s\t%s\t%s\n", r.What, number(r.Ours), r.Unit, other, ratio, r.Target, met, against)
	}
	_ = table.Flush()
}
