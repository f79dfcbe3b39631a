// Package newrun is the screen that prepares a run: the repository, the agent, the task,
// the agent's own options, the sandbox and the start. Each step is a type of its own with
// its own state; the Model routes messages to them and builds the run's request from
// their choices. The screen validates nothing itself: Runs checks and starts requests. It
// reads no files and stores no secrets.
package newrun
