package agentcheck

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"aibox/agents"
	"aibox/app/run"
	"aibox/config"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/screen"
	"aibox/review/printer"
	"aibox/session"
	"aibox/session/manager"
)

// firstTask is the prompt of the first run. It holds characters that a command line, a
// shell or a template could interpret.
const firstTask = "- Write the file, byte for byte: \"double\" 'single' `tick` $HOME $(id) ${x} \\n %s {model} {{key}} <b> & ; | * ? [a-z] ~ # é 漢\n" +
	"--second\tline\\"

// secondTask is the prompt of an agent that resumes its conversation.
const secondTask = "Now write the second file."

// trial is one run of the agent. The model asks the agent to write a file, which says
// whether the model received the expected text.
type trial struct {
	name        string // name of its step
	file        string
	prompt      string
	expect      string
	resumes     session.ID
	interactive bool // on a terminal without a user
}

// trialResult is the result of a trial.
type trialResult struct {
	ended    session.Session
	received string   // "yes", or what the model received instead; "" if the file was not written
	output   []string // the agent's last lines
}

// try runs the agent once. An error means that it could not be run.
func (c *check) try(ctx context.Context, service *manager.Manager, agent agents.Agent, repo string, t trial) (trialResult, error) {
	script, remove, err := t.script()
	if err != nil {
		return trialResult{}, err
	}
	defer remove()
	secrets, err := run.EnvironmentSecrets(agent)
	if err != nil {
		return trialResult{}, err
	}
	settings := config.Defaults().Run
	settings.Hide, settings.Inference, settings.Memory, settings.CPUs, settings.Disk, settings.Timeout = []string{}, script, 0, 0, 0, amount.Duration(c.Timeout)
	settings.AllowDegraded = c.App.AllowsDegraded()
	spec := session.Spec{Agent: c.name, Prompt: t.prompt, Repository: repo, Resumes: t.resumes, Interactive: t.interactive, Run: settings}
	if c.name == shell {
		spec.Prompt, spec.Args = "", []string{"true"}
	} else if !agent.Info().NeedsPrompt {
		spec.Prompt = ""
	}
	launch := session.Launch{Spec: spec, Secrets: run.Reveal(secrets)}
	if launch.ImageID, err = c.Image(ctx, &launch.Spec); err != nil {
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
	// A JSON string is also a TOML string.
	text := func(s string) string { data, _ := json.Marshal(s); return string(data) }
	_, err = fmt.Fprintf(file, "expect = %s\ndone = \"I have written it.\"\n[[step]]\nwrite = { path = %s, content = %s }\n",
		text(t.expect), text(t.file), text("received: {received}\n"))
	remove = func() { _ = os.Remove(file.Name()) }
	if err = errors.Join(err, file.Close()); err != nil {
		remove()
		return "", nil, err
	}
	return "scripted:" + file.Name(), remove, nil
}

// watch follows a session to its end. An interactive session is stopped when the file
// exists.
func (c *check) watch(ctx context.Context, service *manager.Manager, id session.ID, t trial) (trialResult, error) {
	result := trialResult{ended: session.Session{Spec: session.Spec{ID: id}}}
	tail := &outputTail{screen: screen.New(screen.Size{Rows: 40, Cols: 120})}
	if found, err := service.Find(string(id)); err == nil && found.State.Output.Format.Known() {
		tail.events = session.NewConversation(&found)
	}
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
	stop := func(reason string) {
		stopping = true
		_, _ = service.Stop(context.WithoutCancel(ctx), id, reason) // Follow returns when it has ended
	}
	for {
		select {
		case err := <-finished:
			if ctx.Err() != nil {
				err = fault.New(fault.Interrupted, "interrupted")
			}
			if err == nil {
				result.output = tail.lines(t.interactive)
				result.received, err = receivedText(ctx, service, id)
			}
			return result, err
		case <-interrupted:
			interrupted = nil
			stop("interrupted by the user")
		case <-tick.C:
			if t.interactive && !stopping && written(service, id, t.file) {
				stop("the check is complete")
			}
		}
	}
}

// written reports whether the file is in the workspace. Its content is read from the
// change set only, because an agent wrote it.
func written(service *manager.Manager, id session.ID, file string) bool {
	found, err := service.Find(string(id))
	if err != nil || found.State.Workspace == nil {
		return false
	}
	_, err = os.Lstat(filepath.Join(found.State.Workspace.Path, file))
	return err == nil
}

// receivedText returns what the model wrote about its request; "" means that it wrote
// nothing.
func receivedText(ctx context.Context, service *manager.Manager, id session.ID) (string, error) {
	set, err := service.FinalChanges(id)
	if err != nil {
		return "", err
	}
	var patch bytes.Buffer
	if err := printer.Patch(ctx, set, &patch); err != nil {
		return "", err
	}
	received := ""
	for line := range strings.Lines(patch.String()) {
		if text, ok := strings.CutPrefix(line, "+received: "); ok {
			received = strings.TrimSpace(text) // in a resumed session, the second file counts
		}
	}
	return received, nil
}
