package session

import "aibox/agents"

// ResumeCommand returns the command line with which the user continues the session with this
// id and agent, for a hint. The agent shell needs a command for that.
func ResumeCommand(id ID, agent string) string {
	return withCommand("aibox run --resume "+string(id), agent)
}

// forkCommand returns the command line with which the user forks the session, as ResumeCommand does.
func forkCommand(id ID, agent string) string { return withCommand("aibox fork "+string(id), agent) }

func withCommand(line, agent string) string {
	if shell := (&agents.Shell{}).Info(); agent == shell.Name {
		line += " -- COMMAND"
	}
	return line
}
