package changes

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/review"
	"aibox/review/reviewtest"
	"aibox/ui/widget/keymap"
)

// BenchmarkKeys measures a key up to the text of the next frame: in a file with 300,000 changed
// lines, in one of the same length with a few changes and all lines shown, in one with very long
// lines, and in a set of 10,000 files.
func BenchmarkKeys(b *testing.B) {
	var old, fresh strings.Builder
	for i := range 150_000 {
		fmt.Fprintf(&old, "\tvalue%d := compute(%d, \"old\") // what was there before\n", i, i)
		fmt.Fprintf(&fresh, "\tvalue%d := compute(%d, \"fresh\") // what stands there now\n", i, i+1)
	}
	large := reviewtest.ChangeSet(b, map[string]string{"src/large.go": old.String()}, map[string]string{"src/large.go": fresh.String()})
	few := strings.NewReplacer("value70 ", "value ", "value90000 ", "value ")
	long := reviewtest.ChangeSet(b, map[string]string{"src/long.go": old.String() + old.String()[:6<<20]}, map[string]string{"src/long.go": few.Replace(old.String()) + old.String()[:6<<20]})
	var oldWide, freshWide strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&oldWide, "%d %s\n", i, strings.Repeat("größe = one(two), ", 10*(i%90)))
		fmt.Fprintf(&freshWide, "%d %s\n", i+1, strings.Repeat("größe = one(zwei), ", 10*(i%90)))
	}
	wide := reviewtest.ChangeSet(b, map[string]string{"src/wide.go": oldWide.String()}, map[string]string{"src/wide.go": freshWide.String()})
	before, after := map[string]string{}, map[string]string{}
	for i := range 10_000 {
		name := fmt.Sprintf("dir%d/sub%d/file%d.go", i%20, i%100, i)
		before[name], after[name] = "package a\n", "package b\n"
	}
	many := reviewtest.ChangeSet(b, before, after)
	for _, of := range []struct {
		name string
		set  *review.ChangeSet
	}{{"large", large}, {"long", long}, {"wide", wide}, {"many", many}} {
		for _, key := range []string{"down", "pgdown", "end", "]", "y", "u", "|", "w", "W", "tab", "e", "E"} {
			b.Run(of.name+"/"+key, func(b *testing.B) {
				p := newUser(b, &recorded{set: of.set}, 200, 60)
				if of.name == "long" {
					p.Press("E", "]", "E", "home")
				}
				var took []time.Duration
				for b.Loop() {
					begun := time.Now()
					cmd := p.m.Update(keymap.Press(key))
					_ = p.m.View()
					took = append(took, time.Since(begun))
					if len(took) < 200 {
						p.Run(cmd)
					}
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)*95/100].Microseconds()), "p95-µs")
				var mem runtime.MemStats
				runtime.ReadMemStats(&mem)
				b.ReportMetric(float64(mem.HeapInuse>>20), "MB")
			})
		}
	}
}
