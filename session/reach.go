package session

import (
	"fmt"
	"slices"
	"strings"

	"aibox/internal/amount"
	"aibox/netguard"
)

// Reach describes the sandbox's network access in one raw line: "policy local", "policy
// allowlist: example.org, npm".
func (spec *Spec) Reach() string {
	text := "policy " + spec.Network
	switch spec.Mode() {
	case netguard.Allowlist:
		text += ": " + spec.listed()
	case netguard.Public:
		text += ": every public host"
		if len(spec.Deny) > 0 {
			text += " but " + firstOf(spec.Deny)
		}
	default:
		return text
	}
	if spec.Ask {
		text += "; asks about others"
	}
	return text
}

// listed returns the names of the hosts in the allow list.
func (spec *Spec) listed() string {
	var parts []string
	if len(spec.Allow) > 0 {
		parts = append(parts, firstOf(spec.Allow))
	}
	if len(spec.CloudHosts) > 0 {
		parts = append(parts, spec.source("cloud"))
	}
	if len(parts) == 0 {
		return "no host"
	}
	return strings.Join(parts, ", ")
}

// firstOf joins the first words of a list.
func firstOf(words []string) string {
	const most = 4
	if len(words) <= most {
		return strings.Join(words, ", ")
	}
	return strings.Join(words[:most], ", ") + fmt.Sprintf(" and %d more", len(words)-most)
}

// Exits lists, in a few raw words, the ways by which data can leave the sandbox besides the
// model: open tools of the model's server, and hosts. "" means that there are none.
func (spec *Spec) Exits() string {
	var exits []string
	if open := spec.OpenTools(); open != "" {
		exits = append(exits, open)
	}
	if len(spec.CloudHosts) > 0 {
		exits = append(exits, "its vendor's cloud")
	}
	switch mode := spec.Mode(); {
	case mode == netguard.Public:
		exits = append(exits, "every public host")
	case mode == netguard.Allowlist && len(spec.Allow) > 0:
		exits = append(exits, amount.Of(len(spec.Allow), "allowed host"))
	}
	return strings.Join(exits, ", ")
}

// ReachNotices is Spec.ReachNotices with the hosts that were allowed while the session ran, and
// that still are.
func (s *Session) ReachNotices() []string {
	spec := s.Spec
	if s.State.Lists != nil {
		spec.Allow = slices.Clone(spec.Allow)
		for _, entry := range s.State.Lists.Allow {
			if entry.Source == AllowedLater || entry.Source == ApprovedLater {
				spec.Allow = append(spec.Allow, entry.Pattern)
			}
		}
	}
	return spec.ReachNotices()
}

// ReachNotices returns a raw sentence for reviewers about each way out of the sandbox
// through the egress proxy. The result is empty if there is none.
func (spec *Spec) ReachNotices() []string {
	var notices []string
	if len(spec.CloudHosts) > 0 {
		notices = append(notices, "The agent talks to its vendor's servers ("+firstOf(spec.CloudHosts)+"): aibox sees how much it sends, not what.")
	}
	switch mode := spec.Mode(); {
	case mode == netguard.Public:
		notices = append(notices, "The agent can send anything in its workspace to any public host.")
	case mode == netguard.Allowlist && len(spec.Allow) > 0:
		notices = append(notices, "The agent can send anything in its workspace to these hosts: "+firstOf(spec.Allow)+".")
	}
	return notices
}
