package cli

import (
	"fmt"

	"aibox/internal/termtext"
	"aibox/review"
	"aibox/session"
)

// acceptTarget is where --accept, or the setting, wants the changes; nil: nowhere.
func (o *runOptions) acceptTarget() *review.Target {
	target := new(review.Target)
	if o.accept == "none" || target.UnmarshalText([]byte(o.accept)) != nil {
		return nil
	}
	return target
}

// tellPlaced says what was put onto the working tree.
func (a *app) tellPlaced(accepted *review.Accepted) {
	fmt.Fprintf(a.err, "%s %s in your working tree %s\n", a.errTerm.good("✓"), files(len(accepted.Paths)), termtext.Escape(accepted.Repo))
}

// mendWorktrees takes back what an accept onto a working tree had done when it was
// killed, and says so.
func (a *app) mendWorktrees(service *session.Sessions) {
	mended, err := service.MendWorktrees()
	for _, m := range mended {
		done := "taken back"
		if m.Placed {
			done = "complete, and is cleared up"
		}
		fmt.Fprintf(a.err, "%s an accept of %s onto %s was cut short; it is %s\n",
			a.errTerm.warn("!"), termtext.Escape(m.Session), termtext.Escape(m.Repo), done)
		for _, path := range m.Left {
			fmt.Fprintf(a.err, "  left as it is, because it was changed since: %s\n", path)
		}
		if len(m.Left) > 0 {
			fmt.Fprintf(a.err, "  what they held before: aibox recover %s --ref %s\n", termtext.Escape(m.Session), termtext.Escape(m.Ref))
		}
	}
	if err != nil {
		fmt.Fprintf(a.err, "%s %s\n", a.errTerm.warn("!"), safe(err.Error()))
	}
}
