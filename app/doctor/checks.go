package cli

import (
	"context"
	"sync"

	"aibox/app"
	"aibox/internal/health"
	"aibox/runtime"
)

// checks are everything that doctor looks at, in the order in which it is told. The
// looks share one question to the daemon, so that each list of checks is for one
// examination.
func (a *cli) checks() []health.Check {
	all := []health.Check{
		look("git", health.Tools, func() health.Finding { return program("git") }),
		look("nsenter", health.Tools, func() health.Finding { return program("nsenter") }),
		look("iptables", health.Tools, func() health.Finding { return program("iptables") }),
		look("first process of a sandbox", health.Tools, a.initFinding),
		look("settings", health.Tools, a.settingsFinding),
		look("your agents", health.Tools, a.customAgentsFinding),
	}
	// Settings that cannot be read do not say which Docker.
	if system, err := a.app.SystemDocker(); err == nil {
		all = append(all, a.dockerChecks(system)...)
	}
	return append(all,
		health.Check{Name: "model", Part: health.Model, Look: a.modelFindings},
		look("disk", health.Tools, a.diskFinding))
}

// look is a check with one finding that takes no time to speak of.
func look(name string, part health.Part, find func() health.Finding) health.Check {
	return health.Check{Name: name, Part: part, Look: func(context.Context) []health.Finding {
		return []health.Finding{find()}
	}}
}

// dockerChecks are about what boxes are started with. Where there is no daemon, its
// own finding says so, and those of what depends on it say nothing.
func (a *cli) dockerChecks(system bool) []health.Check {
	daemon := a.askDaemon()
	with := func(name string, part health.Part, find func(context.Context, runtime.Info) []health.Finding) health.Check {
		return health.Check{Name: name, Part: part, Look: func(ctx context.Context) []health.Finding {
			info, err := daemon(ctx)
			if err != nil {
				return nil
			}
			return find(ctx, info)
		}}
	}
	return []health.Check{
		{Name: "this machine", Part: health.Machine, Look: func(ctx context.Context) []health.Finding {
			_, err := daemon(ctx)
			return thisMachine(system).findings(err == nil)
		}},
		{Name: "Docker", Part: health.Docker, Look: func(ctx context.Context) []health.Finding {
			info, err := daemon(ctx)
			return []health.Finding{daemonFinding(info, err, system)}
		}},
		with("gVisor (runsc)", health.Docker, func(ctx context.Context, info runtime.Info) []health.Finding {
			return []health.Finding{runscFinding(ctx, info)}
		}),
		with("network guard", health.Docker, func(ctx context.Context, _ runtime.Info) []health.Finding {
			return []health.Finding{a.guardFinding(ctx)}
		}),
		with("images", health.Images, func(ctx context.Context, _ runtime.Info) []health.Finding {
			return a.imageFindings(ctx)
		}),
	}
}

// askDaemon is a question to the daemon that is asked once, whoever asks first.
func (a *cli) askDaemon() func(context.Context) (runtime.Info, error) {
	var (
		once sync.Once
		info runtime.Info
		err  error
	)
	return func(ctx context.Context) (runtime.Info, error) {
		once.Do(func() {
			daemon, openErr := a.app.Docker(ctx)
			if err = openErr; err == nil {
				info, err = daemon.Backend.Info(ctx)
			}
		})
		return info, err
	}
}

// modelFindings is about somebody whom agents can talk to, by the settings that hold
// for every repository. To have nobody is no more than a warning: what runs without a
// model, and `scripted`, do.
func (a *cli) modelFindings(ctx context.Context) []health.Finding {
	own, err := a.app.UserSettings()
	if err != nil {
		return nil // settingsFinding tells
	}
	f := health.Finding{Name: "model", State: health.OK}
	model, err := app.FindModelServer(ctx, own.Settings.Inference)
	if err != nil {
		f.State, f.Detail = health.Warning, err.Error()
		f.Mend = "start Ollama, LM Studio, llama.cpp or vLLM, or set a key such as ANTHROPIC_API_KEY or OPENAI_API_KEY"
		return []health.Finding{f}
	}
	switch {
	case model.Scripted:
		f.Detail = "scripted: plays a built-in script"
	case model.KeyName != "":
		f.Detail = model.Name + ", with the key of " + model.KeyName
	default:
		f.Detail = model.Name
		if !model.Answers {
			f.State, f.Detail, f.Mend = health.Warning, model.Name+" does not answer", "start it, or name another with `aibox config set inference`"
		}
	}
	return []health.Finding{f}
}
