package bakery

import (
	"fmt"
	"io"
	"time"
)

// PlainProgress writes one line per event that matters, for logs and pipes: the start and
// the end of each step, and the last lines of a failed one. Other output of steps is not
// shown.
func PlainProgress(w io.Writer) Progress { return plain{w: w} }

type plain struct{ w io.Writer }

func (p plain) Handle(e Event) {
	for _, line := range lines(e) {
		fmt.Fprintln(p.w, line)
	}
}

// lines returns the lines that an event leaves on the screen, plain or on a terminal;
// none for a step's start and output.
func lines(e Event) []string {
	at := e.Image + ": "
	if e.Image == "" {
		at = ""
	}
	switch e.Kind {
	case Note:
		return []string{at + "note: " + e.Text}
	case ImageStarted:
		return []string{at + "building " + e.Ref}
	case StepCached:
		return []string{at + "cached " + e.Text}
	case StepDone:
		return []string{at + pad(e.Took) + " " + e.Text}
	case StepFailed:
		out := []string{at + "FAILED " + e.Text + ": " + e.Err}
		for _, line := range e.Tail {
			out = append(out, at+"  | "+line)
		}
		return out
	case StepSkipped:
		return []string{at + "skipped " + e.Text + ": " + e.Err}
	case ImageReused:
		return []string{at + e.Ref + " is up to date"}
	case ImageDone:
		return []string{at + e.Ref + " is ready (" + seconds(e.Took) + ")"}
	case ImageFailed:
		return []string{at + "not built"}
	default:
		return nil
	}
}

// seconds formats the duration of a build: 0.3s, 12.0s, 2m05s.
func seconds(d time.Duration) string {
	if d >= time.Minute {
		d = d.Round(time.Second)
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%.1fs", d.Seconds())
}

// pad aligns the texts after durations in one column.
func pad(d time.Duration) string { return fmt.Sprintf("%6s", seconds(d)) }
