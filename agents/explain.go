package agents

// Explainer is an agent whose exit codes mean more than that it failed.
type Explainer interface {
	// Meaning is what the agent says with an exit code other than 0, as the end of
	// a sentence ("the folder is not trusted"), or "" for a code that says nothing.
	Meaning(code int) string
}

// Meaning is what the agent says with an exit code, or "" when that is unknown.
func Meaning(agent Agent, code int) string {
	if explainer, ok := agent.(Explainer); ok && code != 0 {
		return explainer.Meaning(code)
	}
	return ""
}
