package docs

import (
	"fmt"
	"strings"

	"aibox/session"
)

// writePhases writes the phases of a session and the transitions between them.
func writePhases(out *strings.Builder) {
	out.WriteString("| phase | meaning | what is stored | what the repair does if the supervisor has died |\n| --- | --- | --- | --- |\n")
	for _, rule := range session.PhaseRules {
		fmt.Fprintf(out, "| `%s` | %s | %s | %s |\n", rule.Phase, rule.Means, rule.Stored, rule.Repair)
	}
	out.WriteString("\n| from | to | by | when |\n| --- | --- | --- | --- |\n")
	for _, t := range session.Transitions {
		fmt.Fprintf(out, "| `%s` | `%s` | %s | %s |\n", t.From, t.To, strings.Join(t.By, ", "), t.When)
	}
}
