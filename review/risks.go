package review

import (
	"slices"

	"aibox/review/risk"
)

// Risky reports whether a plain accept leaves the file out.
func (c Change) Risky() bool { return slices.ContainsFunc(c.Risks, risk.Risk.Holds) }
