// Package newrun is the screen on which a run is put together: the repository, the
// agent, the task, the agent's own options, what its box may do, and the start. It
// has no rules of its own. What a person chooses is a draft, shown as the command line
// that it is, and checked and started by the code that reads command lines. It never
// reads the repository itself and keeps no secret.
package newrun
