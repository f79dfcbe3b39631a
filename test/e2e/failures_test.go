package e2e

import (
	"encoding/json"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"aibox/internal/golden"
	"aibox/internal/scripted"
	"aibox/test/docs"
)

// Without aibox, some of these agents retry for an hour, and some report success. With
// -update, every agent runs with every failure, and the table for docs/agents.md is
// written. The times in it are not compared. Agents of the flags -aider and -crush always
// run with every failure.
func TestEveryAgentEndsWhenItsModelFails(t *testing.T) {
	t.Parallel()
	known := knownFailedRuns(t)
	var mu sync.Mutex
	var measured []docs.FailedRun
	if golden.Update() {
		t.Cleanup(func() { writeFailedRuns(t, append(measured, known...)) })
	}
	for _, failure := range modelFailures() {
		for _, agent := range installed() {
			if !golden.Update() && !slices.Contains(failure.always, agent) && !slices.Contains(fromElsewhere(), agent) {
				continue
			}
			t.Run(failure.name+" "+agent, func(t *testing.T) {
				t.Parallel()
				run := failure.meet(t, agent)
				mu.Lock()
				defer mu.Unlock()
				measured = append(measured, run)
				if old := find(known, run); !golden.Update() && (old.Words != run.Words || old.ExitCode != run.ExitCode) {
					t.Errorf("this is not what test/docs/failures.json has, which -update writes:\n%+v\n%+v", run, old)
				}
			})
		}
	}
}

// meet runs an agent with a server that fails, and checks what aibox reports.
func (f modelFailure) meet(t *testing.T, agent string) docs.FailedRun {
	t.Helper()
	m, model := newMachine(t), f.serve(t)
	server := model.URL
	if agent == "gemini" {
		server += "/v1beta" // its dialect alone
	}
	args := []string{"run", agent, "--repo", m.repo("p", nil), "--inference", server, "--model", scripted.Model, "--prompt", "go", "--json"}
	o := m.aibox(1, slices.Concat(args, imageArgs(agent), f.args)...)
	took := model.since()
	report := m.ended(o)
	r := report.result()
	if took > f.bound() {
		t.Errorf("it took %v:\n%s", took, o)
	}
	if r.Fault == nil || r.ModelFailures == nil || r.Changed {
		t.Fatalf("the result is %+v\n%s", r, o)
	}
	said := r.ModelFailures.Message
	if report.Error == nil || report.Error.Message != r.Fault.Message || report.Error.ExitCode != o.code {
		t.Errorf("the error is %+v", report.Error)
	}
	if r.Fault.Kind != "agent-failed" || !strings.Contains(r.Fault.Message, said) || len(r.Fault.Hints) < 2 {
		t.Errorf("the fault is %+v, and the model's failure %q", r.Fault, said)
	}
	warned := said
	if f.silent {
		warned = "no answer from the model for " // it is not 15 s yet
	}
	if !strings.Contains(o.stderr, "! "+warned) || !strings.Contains(o.stderr, "aibox: "+r.Fault.Message+"\n  → ") {
		t.Errorf("the output is\n%s", o)
	}
	if strings.Count(o.stderr, "! the model") > 3 {
		t.Errorf("it is printed too often:\n%s", o)
	}
	return docs.FailedRun{
		Agent: agent, Failure: f.name, Words: said, ExitCode: o.code,
		Seconds: int(math.Ceil(took.Seconds())), Ended: !endedItself.MatchString(r.Fault.Message),
	}
}

// endedItself matches the messages of runs whose agent gave up, with a failure or with
// success.
var endedItself = regexp.MustCompile(`^[a-z]+ (ended with exit code|exited with success)`)

// bound is the maximum time of an agent from its first request on: the longest time for which aibox
// waits, plus some time for a busy machine.
func (f modelFailure) bound() time.Duration {
	if f.wait != "" {
		return 150 * time.Second
	}
	return time.Minute
}

const failedRuns = "../../test/docs/failures.json"

func knownFailedRuns(t *testing.T) []docs.FailedRun {
	t.Helper()
	runs, err := docs.FailedRuns()
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

// find is the run of the same agent and failure; zero when there is none.
func find(runs []docs.FailedRun, run docs.FailedRun) docs.FailedRun {
	for _, other := range runs {
		if other.Agent == run.Agent && other.Failure == run.Failure {
			return other
		}
	}
	return docs.FailedRun{}
}

// writeFailedRuns writes the first run of each agent and failure, a line each.
func writeFailedRuns(t *testing.T, runs []docs.FailedRun) {
	t.Helper()
	var lines []string
	for _, agent := range slices.Concat(fromNpm, []string{"aider", "crush"}) {
		for _, failure := range docs.Failures() {
			run := find(runs, docs.FailedRun{Agent: agent, Failure: failure.Name})
			if run.Agent == "" {
				continue
			}
			line, err := json.Marshal(run)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, string(line))
		}
	}
	if err := os.WriteFile(failedRuns, []byte("[\n"+strings.Join(lines, ",\n")+"\n]\n"), 0o644); err != nil { //nolint:gosec // part of the project, for everybody
		t.Fatal(err)
	}
}
