package agents

// registry is the one list of agents.
func registry() []Agent {
	return []Agent{
		&OpenCode{},
		&Codex{},
		&Shell{},
	}
}
