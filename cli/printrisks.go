package cli

import (
	"fmt"
	"io"

	"aibox/internal/amount"
	"aibox/review"
	"aibox/review/risk"
)

// The most that the end of a run lists; `aibox diff` lists every risk.
const (
	maxRiskyFiles = 12
	maxRisksShown = 3
)

// printRisks writes the files that a plain accept leaves out and, for each, what would
// run, when and by what: at most 12 files, and three risks of each. Without such files it
// writes nothing.
func printRisks(out io.Writer, t terminal, set *review.ChangeSet) {
	var held []*review.Change
	for i := range set.Changes {
		if set.Changes[i].Risky() {
			held = append(held, &set.Changes[i])
		}
	}
	if len(held) == 0 {
		return
	}
	are, their := "are", "their"
	if len(held) == 1 {
		are, their = "is", "its"
	}
	fmt.Fprintf(out, "%s %s %s left out of a plain accept because of %s risks:\n", t.warn("!"), amount.Of(len(held), "file"), are, their)
	for i, c := range held {
		if i == maxRiskyFiles {
			fmt.Fprintf(out, "  and %s more\n", amount.Of(len(held)-i, "file"))
			break
		}
		fmt.Fprintf(out, "  %s\n", t.bold(c.Path.String()))
		printRisksOf(out, t, c.Risks)
	}
}

// printRisksOf writes the risks that keep one file out, wrapped.
func printRisksOf(out io.Writer, t terminal, all []risk.Risk) {
	shown, more := 0, 0
	for _, r := range all {
		switch {
		case !r.Holds():
		case shown == maxRisksShown:
			more++
		default:
			shown++
			for i, line := range breakLines(notice(r.String()), max(40, t.width-6)) {
				if i > 0 {
					line = "  " + line
				}
				fmt.Fprintf(out, "    %s\n", line)
			}
		}
	}
	if more > 0 {
		fmt.Fprintf(out, "    and %d more\n", more)
	}
}
