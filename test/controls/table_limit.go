package main

// hostTasks are the controls of the number of tasks of the host that a sandbox has.
func hostTasks() []control {
	const supervisor = "session/supervisor/tasklimit.go"
	return []control{
		{name: "the kernel limits the tasks of a sandbox", file: "runtime/limit/process/tasks.go", text: `now.Max <= most`, off: `true`, tests: "TestTheKernelLimitsTheTasksOfASandbox"},
		{name: "a sandbox with too many tasks is ended", file: supervisor, text: `case n > w.allowed:`, off: `case false:`, tests: "TestASandboxWithTooManyTasksOfTheHostIsWarnedOfAndThenEnded"},
		{name: "a sandbox with many tasks is ended on a crowded machine", file: supervisor, text: `case crowds:`, off: `case false && crowds:`, tests: "TestASandboxWithManyTasksEndsWhenTheMachineHasFewLeft"},
		{name: "a flood of names waits", file: "netguard/egress/dns.go", text: `	d.pace.wait()`, off: ``, tests: "TestTheNameServerDelaysAFlood"},
	}
}
