package agentcheck

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"aibox/agents"
	"aibox/app/doctor"
	"aibox/internal/paths"
	"aibox/session"
	"aibox/session/manager"
)

// runs performs the steps that need a sandbox.
func (c *check) runs(ctx context.Context, agent agents.Agent) error {
	info := agent.Info()
	if info.OwnCloud {
		c.done(Step{Name: "run", State: Skipped, Detail: "it talks to its vendor's cloud, which the built-in model cannot replace"})
		return nil
	}
	service, err := c.App.Sessions()
	if err != nil {
		return err
	}
	repo, err := scratchRepository(ctx, info.Name)
	if err != nil {
		return err
	}
	c.Repair(ctx, service)
	var ids []session.ID
	defer func() { c.clean(service, ids) }()
	try := func(t trial) (trialResult, error) {
		result, err := c.try(ctx, service, agent, repo, t)
		if result.ended.ID != "" {
			ids = append(ids, result.ended.ID)
		}
		return result, err
	}
	first := trial{name: "run", file: "aibox-check-1.txt", prompt: firstTask, expect: firstTask}
	result, err := try(first)
	if err != nil || !c.judge(info, first, result) || len(info.Dialects) == 0 {
		return err
	}
	for _, t := range []trial{
		{name: "resume", file: "aibox-check-2.txt", prompt: secondTask, expect: firstTask, resumes: result.ended.ID},
		{name: "terminal", file: "aibox-check-3.txt", prompt: firstTask, expect: firstTask, interactive: true},
	} {
		task := agents.Task{Prompt: t.prompt, Interactive: t.interactive, Resume: t.resumes != "", Workdir: "/workspace", Inference: exampleModel}
		if _, err := agent.Command(task); err != nil {
			c.done(Step{Name: t.name, State: Skipped, Detail: err.Error()})
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

// clean removes the sessions of a check, latest first.
func (c *check) clean(service *manager.Manager, ids []session.ID) {
	if c.Keep {
		return
	}
	for _, id := range slices.Backward(ids) {
		if err := service.Remove(context.Background(), id, true); err != nil {
			c.NotRemoved(id, err)
		}
	}
}

// scratchRepository returns the repository for an agent's checks. It is created once,
// because aibox keeps a baseline for every repository that it has seen.
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
