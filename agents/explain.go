package agents

// Explainer is an agent with documented exit codes.
type Explainer interface {
	// Meaning explains an exit code other than 0 as the end of a sentence ("the folder
	// is not trusted"); "" for a code without a meaning.
	Meaning(code int) string
}

// Meaning explains an exit code of the agent; "" if it is unknown.
func Meaning(agent Agent, code int) string {
	if explainer, ok := agent.(Explainer); ok && code != 0 {
		return explainer.Meaning(code)
	}
	return ""
}
