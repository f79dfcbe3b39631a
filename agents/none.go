package agents

// None is the agent of a sandbox without an agent. It is in no Set.
type None struct{}

// Info describes it.
func (*None) Info() Info {
	return Info{Name: "sandbox", Title: "Sandbox", Summary: "No agent", Image: "base"}
}

// Command returns no program, and the model as variables for the sandbox's processes.
func (*None) Command(task Task) (Invocation, error) {
	return Invocation{Env: modelEnv(task.Inference)}, nil
}
