package dashboard

// empty is what stands in the place of the list while there is no session.
func (m *Model) empty() []string {
	return []string{
		"", "  There is no session yet. " + m.theme.Key.Render("n") + " starts one; or in a repository, `aibox run codex",
		"  --prompt \"fix the failing test\"`. `aibox agents` lists the agents, and",
		"  `aibox doctor` says whether this machine is ready.",
	}
}
