package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"aibox/agents"
	"aibox/app/doctor"
	"aibox/config"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/internal/screen"
	"aibox/internal/termtext"
	"aibox/review/printer"
	"aibox/session"
	"aibox/session/output"
)

// checkTask is what a check asks of an agent: it holds what a command line, a
// shell or a template could take for something of its own.
const checkTask = "- Write the file, byte for byte: \"double\" 'single' `tick` $HOME $(id) ${x} \\n %s {model} {{key}} <b> & ; | * ? [a-z] ~ # é 漢\n" +
	"--second\tline\\"

// checkAgain is the prompt of an agent that continues its conversation.
const checkAgain = "Now write the second file."

// trial is one run of a check. The model has the agent write file, with its verdict
// on whether it heard expect.
type trial struct {
	name    string // of its step
	file    string
	prompt  string
	expect  string
	resumes session.ID
	typed   bool // on a terminal, where nobody types
}

// trialResult is the result of a trial.
type trialResult struct {
	ended session.Session
	heard string   // the model's verdict; empty when the file never arrived
	said  []string // the agent's last words
}

// runs takes the steps that need a box.
func (c *agentCheck) runs(ctx context.Context, agent agents.Agent) error {
	info := agent.Info()
	if info.OwnCloud {
		c.done(checkStep{Name: "run", State: checkSkipped, Detail: "it talks to its vendor's cloud, which the built-in model cannot replace"})
		return nil
	}
	service, err := c.app.Sessions()
	if err != nil {
		return err
	}
	repo, err := scratchRepository(ctx, info.Name)
	if err != nil {
		return err
	}
	c.repair(ctx, service)
	var ids []session.ID
	defer func() { c.clean(service, ids) }()
	try := func(t trial) (trialResult, error) {
		result, err := c.try(ctx, service, agent, repo, t)
		if result.ended.ID != "" {
			ids = append(ids, result.ended.ID)
		}
		return result, err
	}
	first := trial{name: "run", file: "aibox-check-1.txt", prompt: checkTask, expect: checkTask}
	result, err := try(first)
	if err != nil || !c.judge(info, first, result) || len(info.Dialects) == 0 {
		return err
	}
	for _, t := range []trial{
		{name: "resume", file: "aibox-check-2.txt", prompt: checkAgain, expect: checkTask, resumes: result.ended.ID},
		{name: "terminal", file: "aibox-check-3.txt", prompt: checkTask, expect: checkTask, typed: true},
	} {
		task := agents.Task{Prompt: t.prompt, Interactive: t.typed, Resume: t.resumes != "", Workdir: "/workspace", Inference: imagined}
		if _, err := agent.Command(task); err != nil {
			c.done(checkStep{Name: t.name, State: checkSkipped, Detail: err.Error()})
			continue
		}
		result, err := try(t)
		if err != nil {
			return err
		}
		c.judge(info, t, result)
	}
	return nil
}

// try runs the agent once. An error means that it could not be run.
func (c *agentCheck) try(ctx context.Context, service *session.Sessions, agent agents.Agent, repo string, t trial) (trialResult, error) {
	script, remove, err := t.script()
	if err != nil {
		return trialResult{}, err
	}
	defer remove()
	secrets, err := agentSecrets(agent)
	if err != nil {
		return trialResult{}, err
	}
	run := config.Defaults().Run
	run.Hide, run.Inference, run.Timeout = []string{}, script, amount.Duration(c.o.timeout)
	run.AllowDegraded = c.app.AllowsDegraded()
	spec := session.Spec{Agent: c.name, Prompt: t.prompt, Repository: repo, Resumes: t.resumes, Interactive: t.typed, Run: run}
	if c.name == shellAgent {
		spec.Prompt, spec.Args = "", []string{"true"}
	} else if !agent.Info().NeedsPrompt {
		spec.Prompt = ""
	}
	launch := session.Launch{Spec: spec, Secrets: secrets}
	if launch.ImageID, err = c.imageOf(ctx, &launch.Spec, c.offerToBake); err != nil {
		return trialResult{}, err
	}
	id, err := service.Launch(ctx, launch, func(session.Step) {})
	if err != nil {
		return trialResult{}, err
	}
	return c.watch(ctx, service, id, t)
}

// script writes the script for a trial and returns the value of --inference.
func (t trial) script() (inference string, remove func(), err error) {
	file, err := os.CreateTemp("", "aibox-check-*.toml")
	if err != nil {
		return "", nil, err
	}
	// A string of JSON is one of TOML.
	text := func(s string) string { data, _ := json.Marshal(s); return string(data) }
	_, err = fmt.Fprintf(file, "expect = %s\ndone = \"I have written it.\"\n[[step]]\nwrite = { path = %s, content = %s }\n",
		text(t.expect), text(t.file), text("heard: {heard}\n"))
	remove = func() { _ = os.Remove(file.Name()) }
	if err = errors.Join(err, file.Close()); err != nil {
		remove()
		return "", nil, err
	}
	return "scripted:" + file.Name(), remove, nil
}

// watch follows a session to its end. One on a terminal has done its part when the
// file is there, and is stopped then.
func (c *agentCheck) watch(ctx context.Context, service *session.Sessions, id session.ID, t trial) (trialResult, error) {
	result := trialResult{ended: session.Session{Spec: session.Spec{ID: id}}}
	tail := &outputTail{screen: screen.New(screen.Size{Rows: 40, Cols: 120})}
	finished := make(chan error, 1)
	go func() {
		ended, err := service.Follow(context.WithoutCancel(ctx), id, 0, tail.take)
		if err == nil {
			result.ended = ended
		}
		finished <- err
	}()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	interrupted, stopping := ctx.Done(), false
	stop := func(why string) {
		stopping = true
		_, _ = service.Stop(context.WithoutCancel(ctx), id, why) // Follow tells when it has ended
	}
	for {
		select {
		case err := <-finished:
			if ctx.Err() != nil {
				err = fault.New(fault.Interrupted, "interrupted")
			}
			if err == nil {
				result.said = tail.lines(t.typed)
				result.heard, err = verdict(ctx, service, id)
			}
			return result, err
		case <-interrupted:
			interrupted = nil
			stop("interrupted by the user")
		case <-tick.C:
			if t.typed && !stopping && arrived(service, id, t.file) {
				stop("the check is complete")
			}
		}
	}
}

// arrived reports whether the file is in the workspace. What it holds is read from
// the change set, since an agent wrote it.
func arrived(service *session.Sessions, id session.ID, file string) bool {
	found, err := service.Find(string(id))
	if err != nil || found.State.Workspace == nil {
		return false
	}
	_, err = os.Lstat(filepath.Join(found.State.Workspace.Path, file))
	return err == nil
}

// verdict returns what the model wrote about its request, "" when it wrote nothing.
func verdict(ctx context.Context, service *session.Sessions, id session.ID) (string, error) {
	set, err := service.FinalChanges(id)
	if err != nil {
		return "", err
	}
	var patch bytes.Buffer
	if err := printer.Patch(ctx, set, &patch); err != nil {
		return "", err
	}
	heard := ""
	for line := range strings.Lines(patch.String()) {
		if text, ok := strings.CutPrefix(line, "+heard: "); ok {
			heard = strings.TrimSpace(text) // of a resumed session the second file's
		}
	}
	return heard, nil
}

// outputTail keeps the end of an agent's output, and its screen.
type outputTail struct {
	screen *screen.Screen
	tail   []byte
}

func (w *outputTail) take(chunk output.Chunk) error {
	const most = 64 << 10
	if w.tail = append(w.tail, chunk.Data...); len(w.tail) > most {
		w.tail = w.tail[len(w.tail)-most:]
	}
	_, err := w.screen.Write(chunk.Data)
	return err
}

// lines are the last lines that say something, of the screen for an agent on a
// terminal.
func (w *outputTail) lines(typed bool) []string {
	text := w.tail
	if typed {
		text = w.screen.Text(0, false)
	}
	const most = 12
	var all []string
	for line := range strings.Lines(termtext.Text(string(text))) {
		if line = strings.TrimRight(line, " \r\n"); line != "" {
			all = append(all, firstLine(line, 160))
		}
	}
	return all[max(0, len(all)-most):]
}

// judge is the step of a trial. It reports whether the agent passed.
func (c *agentCheck) judge(info agents.Info, t trial, r trialResult) bool {
	step := checkStep{Name: t.name, State: checkFailed, Lines: r.said}
	result := r.ended.State.Result
	switch {
	case result == nil:
		step.Detail = "it did not end"
	case result.Fault != nil && !(t.typed && r.heard != ""):
		step.Detail = result.Fault.Message
		if len(result.Fault.Hints) > 0 {
			step.Hint = result.Fault.Hints[0]
		}
		if t.typed {
			step.Hint = "no one answers it: does it ask a question before it starts, or wait for Enter?"
		}
	case len(info.Dialects) == 0:
		step.State, step.Lines, step.Detail = checkOK, nil, "it ran; without a model there is nothing more to check"
	case result.Tokens.Requests == 0:
		step.Detail = "it exited with 0 without calling the model"
		step.Hint = "does its command line start the task right away, and does it know the model's address?"
	case r.heard == "":
		step.Detail = "the model asked it to write " + t.file + ", but the file was not written"
		step.Hint = "does it offer the model a file or shell tool, and can it use that tool without asking?"
	case r.heard != "yes" && t.resumes != "":
		step.Detail = "the model did not see the first task again: the conversation was lost"
		step.Hint = "does `state` list the folder where it keeps conversations, and does command.resume continue the latest one?"
	case r.heard != "yes":
		step.Detail = "the task did not reach the model byte for byte"
		step.Lines = []string{"sent  " + strconv.QuoteToASCII(t.expect), "heard " + r.heard}
		step.Hint = `pass it on standard input (stdin = "prompt"), or as a separate argument after "--"`
	default:
		step.State, step.Lines, step.Detail = checkOK, nil, successText(t)
		c.done(step)
		c.addNotes(t, result)
		return true
	}
	c.done(step)
	return step.State == checkOK
}

// successText returns what a trial has shown.
func successText(t trial) string {
	switch {
	case t.typed:
		return "it started work on a terminal without asking anything"
	case t.resumes != "":
		return "it resumed its conversation"
	default:
		return "the task reached the model byte for byte, and the file was written"
	}
}

// addNotes reports what is worth knowing although it is no failure.
func (c *agentCheck) addNotes(t trial, result *session.Result) {
	if result.Left && !t.typed { // one on a terminal was stopped
		c.done(checkStep{Name: t.name, State: checkNote, Detail: "it left processes running, which ended with the sandbox"})
	}
	var names []string
	for _, refused := range result.Refused {
		if !slices.Contains(names, refused.Target) { // of one that was asked in several ways
			names = append(names, refused.Target)
		}
	}
	if len(names) > 0 {
		c.done(checkStep{Name: t.name, State: checkNote, Detail: "it was refused " + strings.Join(names, ", ") + ", and continued"})
	}
}

// clean removes the sessions of a check, latest first.
func (c *agentCheck) clean(service *session.Sessions, ids []session.ID) {
	if c.o.keep {
		return
	}
	ctx := context.Background()
	for _, id := range slices.Backward(ids) {
		if err := service.Remove(ctx, id, true); err != nil {
			fmt.Fprintf(c.err, "%s %s is left behind: %s\n", c.errTerm.warn("!"), id, safe(err.Error()))
		}
	}
}

// scratchRepository is a repository for an agent's checks, made once: aibox keeps a
// baseline for every repository it has seen.
func scratchRepository(ctx context.Context, name string) (string, error) {
	dirs, err := paths.Default()
	if err != nil {
		return "", err
	}
	repo := filepath.Join(dirs.Cache, "check", name)
	if _, err := os.Lstat(filepath.Join(repo, ".git")); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return repo, err
	}
	if err := paths.MakePrivate(repo); err != nil {
		return "", err
	}
	return repo, doctor.SampleRepository(ctx, repo)
}
