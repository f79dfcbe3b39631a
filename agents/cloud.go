package agents

import (
	"strings"

	"aibox/internal/fault"
)

// Cloud is the inference of an agent that talks to its vendor's servers (Info.Hosts), with
// the user's own account. aibox then sees no prompts, no answers and no tokens: the traffic
// is encrypted between the agent and the vendor.
const Cloud = "cloud"

// UsesCloud reports whether the agent talks to its vendor's servers under an inference.
func (i Info) UsesCloud(inference string) bool {
	return i.OwnCloud || inference == Cloud && len(i.Dialects) > 0
}

// CheckCloud returns a Usage fault if the agent cannot use its vendor's cloud.
func (i Info) CheckCloud() error {
	if i.OwnCloud || i.HasCloud && len(i.Hosts) > 0 {
		return nil
	}
	return fault.New(fault.Usage, "%s cannot use --inference %s: aibox does not know how to run it with its vendor's cloud", i.Title, Cloud).
		Hint("use a model server, such as --inference auto; `aibox models` lists those that are found").
		Hint("these agents can: %s", strings.Join(withCloud(), ", "))
}

func withCloud() []string {
	var names []string
	for _, agent := range Builtin().All() {
		if info := agent.Info(); info.OwnCloud || info.HasCloud {
			names = append(names, info.Name)
		}
	}
	return names
}

// CloudSource is the source of the rules that allow the hosts of the agent's cloud.
func (i Info) CloudSource() string { return i.Title + "'s cloud" }

// modelFlag returns the flag that selects the model; none for the default of the vendor's
// cloud.
func (i Inference) modelFlag(flag string) []string {
	if i.Cloud && i.Model == "" {
		return nil
	}
	return []string{flag, i.Model}
}
