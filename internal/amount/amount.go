// Package amount formats numbers, sizes and times for display, in short and rounded form
// that nothing parses. The types Decimal, Duration, MiB and USD are the amounts in settings
// and records; they also parse.
package amount

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Of returns a number with its noun: "1 file", "3 files", "2 branches". The noun is a
// singular whose plural ends in s, or in es after s, x, z, ch and sh.
func Of(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + ending(noun)
}

func ending(noun string) string {
	if noun == "" {
		return ""
	}
	switch last := noun[len(noun)-1]; {
	case last == 's', last == 'x', last == 'z':
		return "es"
	case last == 'h' && len(noun) > 1 && (noun[len(noun)-2] == 'c' || noun[len(noun)-2] == 's'):
		return "es"
	}
	return "s"
}

// Short returns a count in at most five columns: 9999, 12k, 3M.
func Short(n int) string {
	switch {
	case n < 10_000:
		return fmt.Sprint(n)
	case n < 10_000_000:
		return fmt.Sprintf("%dk", n/1000)
	default:
		return fmt.Sprintf("%dM", n/1_000_000)
	}
}

// Age returns a time in its largest unit: 5s, 12m, 30h, 4d. A negative one is 0s.
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return strconv.Itoa(max(0, int(d.Seconds()))) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + "m"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + "h"
	default:
		return strconv.Itoa(int(d.Hours()/24)) + "d"
	}
}

// Took returns how long something took: 0.4s, 12.3s, 4m10s.
func Took(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// Span returns an exact time without the units that are 0: 30d, 1h, 1m30s; days have no
// smaller units. Unlike the others, its result is valid input for a duration.
func Span(d time.Duration) string {
	const day = 24 * time.Hour
	if d != 0 && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Bytes returns a size in powers of 1024, the units in which limits are set: 512 B, 12 KiB,
// 3.4 MiB, 21 GiB. Below 10 there is one digit after the point, unless it is 0.
func Bytes(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	size, unit := float64(n), ""
	for _, unit = range []string{"KiB", "MiB", "GiB", "TiB"} {
		if size /= 1024; size < 1023.5 {
			break
		}
	}
	if size < 9.95 {
		return strings.Replace(fmt.Sprintf("%.1f %s", size, unit), ".0 ", " ", 1)
	}
	return fmt.Sprintf("%.0f %s", size, unit)
}
