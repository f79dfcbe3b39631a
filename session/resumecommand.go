package session

import "aibox/agents"

// ResumeCommand returns the command line with which the user continues the session with this
// id and agent, for a hint. The agent shell needs a command for that.
func ResumeCommand(id ID, agent string) string {
	line := "aibox run --resume " + string(id)
	if shell := (&agents.Shell{}).Info(); agent == shell.Name {
		line += " -- COMMAND"
	}
	return line
}
