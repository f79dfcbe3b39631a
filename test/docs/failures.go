package docs

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"aibox/agents"
)

// failures.json is what test/e2e measured; its -update writes it.
//
//go:embed failures.json
var measured []byte

// A FailedRun is the result of a run whose model server failed in one way at every request
// for an answer.
type FailedRun struct {
	Agent    string `json:"agent"`
	Failure  string `json:"failure"`   // by the name of Failures
	Seconds  int    `json:"seconds"`   // from the agent's first request to the end of aibox, rounded up
	ExitCode int    `json:"exit_code"` // of aibox
	Ended    bool   `json:"ended"`     // by aibox, while the agent still tried
	Words    string `json:"words"`     // aibox's message about the model server
}

// A Failure is a way in which a model server fails.
type Failure struct{ Name, Does string }

// Failures returns the measured failures, each at every request for an answer: the server
// still lists its models.
func Failures() []Failure {
	return []Failure{
		{"401", "answers 401"},
		{"404", "answers 404"},
		{"429", "answers 429 with `Retry-After: 2`"},
		{"500", "answers 500"},
		{"cut off", "ends its stream in the middle of an answer"},
		{"empty", "answers 200 and sends nothing"},
		{"silent", "accepts the request and never answers, with `--model-timeout 15s`"},
	}
}

// FailedRuns returns the measured runs.
func FailedRuns() ([]FailedRun, error) {
	var runs []FailedRun
	if err := json.Unmarshal(measured, &runs); err != nil {
		return nil, fmt.Errorf("reading failures.json: %w", err)
	}
	return runs, nil
}

// writeFailures writes a table of the times, and one of the messages and exit codes.
func writeFailures(out *strings.Builder, all []agents.Agent) error {
	runs, err := FailedRuns()
	if err != nil {
		return err
	}
	out.WriteString("| agent |")
	for _, failure := range Failures() {
		fmt.Fprintf(out, " %s |", failure.Name)
	}
	out.WriteString("\n| --- |" + strings.Repeat(" --- |", len(Failures())) + "\n")
	for _, agent := range all {
		writeTimes(out, agent.Info().Name, runs)
	}
	out.WriteString("\n| failure | the server | exit code | message |\n| --- | --- | --- | --- |\n")
	for _, failure := range Failures() {
		for _, said := range saidOf(failure.Name, runs) {
			fmt.Fprintf(out, "| %s | %s | %d | %s |\n", failure.Name, failure.Does, said.ExitCode, cell(said.Words))
		}
	}
	return nil
}

// writeTimes writes the row of an agent that was measured.
func writeTimes(out *strings.Builder, agent string, runs []FailedRun) {
	if !slices.ContainsFunc(runs, func(r FailedRun) bool { return r.Agent == agent }) {
		return
	}
	fmt.Fprintf(out, "| %s |", agent)
	for _, failure := range Failures() {
		at := slices.IndexFunc(runs, func(r FailedRun) bool { return r.Agent == agent && r.Failure == failure.Name })
		switch {
		case at < 0:
			out.WriteString(" |")
		case runs[at].Ended:
			fmt.Fprintf(out, " **%s s** |", strconv.Itoa(runs[at].Seconds))
		default:
			fmt.Fprintf(out, " %s s |", strconv.Itoa(runs[at].Seconds))
		}
	}
	out.WriteString("\n")
}

// saidOf returns the runs of a failure that differ in the message or the exit code.
func saidOf(failure string, runs []FailedRun) []FailedRun {
	var said []FailedRun
	for _, run := range runs {
		same := func(r FailedRun) bool { return r.Words == run.Words && r.ExitCode == run.ExitCode }
		if run.Failure == failure && !slices.ContainsFunc(said, same) {
			said = append(said, run)
		}
	}
	return said
}
