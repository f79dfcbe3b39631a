package doctor

import (
	"context"
	"sync"

	"aibox/bakery"
	"aibox/config"
	"aibox/runtime"
)

// Sources provide the data that a Doctor examines, in addition to the files of this
// machine.
type Sources struct {
	InstallInit   func() (string, error)           // installs the first process of a sandbox, returns its path
	UserSettings  func() (*config.Resolved, error) // without the settings of a repository
	SystemDocker  func() (bool, error)             // whether the system's Docker is used
	CustomAgents  func() CustomAgents
	Daemon        func(context.Context) (runtime.Info, error)
	Guard         func(context.Context) (Guard, error)
	Images        func(context.Context) ([]bakery.Status, error)
	HostNotes     func() []string // settings of this machine that builds of images do not get, and why
	ModelServer   func(ctx context.Context, inference string) (ModelServer, error)
	StaleSessions func() int // number of sessions that gc would remove
	Limits        func() LimitEnforcer
	// Unrepaired cleans up after crashes, and reports what it could not repair.
	Unrepaired func(context.Context) []string
}

// CustomAgents summarizes the user's agent files.
type CustomAgents struct {
	Files  int
	Broken []BrokenAgent
}

// BrokenAgent is a file that defines no agent.
type BrokenAgent struct {
	Path string
	Err  error // why
}

// Guard is the state of the network guard.
type Guard struct {
	Up            bool     // the locks are set
	Bridges       int      // networks that are locked
	Drift         []string // missing or wrong locks, raw; empty when Up
	Tool, Backend string   // of the guard's firewall
}

// ModelServer is the server that a setting of inference selects.
type ModelServer struct {
	Name     string
	KeyName  string // the variable with its key; "" for none
	Scripted bool   // the built-in server that plays a script
	Answers  bool   // it lists its models now; not checked if it is scripted or has a key
}

// Doctor examines this machine.
type Doctor struct{ sources Sources }

// New returns a Doctor for these sources, all of which must be set.
func New(sources Sources) *Doctor { return &Doctor{sources} }

// Checks returns all checks, in the order of the report. They share one query of the
// daemon, so each list is for one examination.
func (d *Doctor) Checks() []Check {
	all := []Check{
		single("git", Tools, func() Finding { return findProgram("git") }),
		single("nsenter", Tools, func() Finding { return findProgram("nsenter") }),
		single("iptables", Tools, func() Finding { return findProgram("iptables") }),
		single("init process of a sandbox", Tools, d.initFinding),
		single("settings", Tools, d.settingsFinding),
		single("your agents", Tools, d.customAgentsFinding),
	}
	// Without readable settings it is unknown which Docker is used.
	if system, err := d.sources.SystemDocker(); err == nil {
		all = append(all, d.dockerChecks(system)...)
	}
	return append(all,
		Check{Name: "model", Part: Model, Run: d.modelFindings},
		Check{Name: "sessions", Part: Tools, Run: d.sessionFindings},
		single("disk", Tools, d.diskFinding))
}

// sessionFindings reports sessions that could not be repaired after a crash.
func (d *Doctor) sessionFindings(ctx context.Context) []Finding {
	problems := d.sources.Unrepaired(ctx)
	if len(problems) == 0 {
		return []Finding{{Name: "sessions", State: OK, Detail: "nothing is left of crashes"}}
	}
	findings := make([]Finding, 0, len(problems))
	for _, problem := range problems {
		findings = append(findings, Finding{Name: "sessions", State: Warning, Detail: problem, Fix: "`aibox gc` removes what belongs to no session that runs"})
	}
	return findings
}

// single is a quick check with one finding.
func single(name string, part Part, find func() Finding) Check {
	return Check{Name: name, Part: part, Run: func(context.Context) []Finding {
		return []Finding{find()}
	}}
}

// dockerChecks checks the daemon and the runtime of sandboxes. If there is no daemon, its
// own finding reports that, and the dependent checks return nothing.
func (d *Doctor) dockerChecks(system bool) []Check {
	daemon := d.queryDaemon()
	with := func(name string, part Part, find func(context.Context, runtime.Info) []Finding) Check {
		return Check{Name: name, Part: part, Run: func(ctx context.Context) []Finding {
			info, err := daemon(ctx)
			if err != nil {
				return nil
			}
			return find(ctx, info)
		}}
	}
	return []Check{
		{Name: "this machine", Part: Machine, Run: func(ctx context.Context) []Finding {
			_, err := daemon(ctx)
			return thisMachine(system).findings(err == nil)
		}},
		{Name: "resource limits", Part: Machine, Run: func(context.Context) []Finding {
			if d.sources.Limits == nil {
				return nil
			}
			return []Finding{limitsFinding(d.sources.Limits())}
		}},
		{Name: "Docker", Part: Docker, Run: func(ctx context.Context) []Finding {
			info, err := daemon(ctx)
			return []Finding{daemonFinding(info, err, system)}
		}},
		with("gVisor (runsc)", Docker, func(ctx context.Context, info runtime.Info) []Finding {
			return []Finding{runscFinding(ctx, info, system)}
		}),
		with("snapshots of sandboxes", Docker, func(_ context.Context, info runtime.Info) []Finding {
			if _, ok := info.Find("runsc"); !ok {
				return nil // the daemon's own finding reports that
			}
			restorer, _ := info.Find(runtime.RestorerName)
			return []Finding{snapshotFinding(info, restorer.Path, system)}
		}),
		with("network guard", Docker, func(ctx context.Context, _ runtime.Info) []Finding {
			return []Finding{d.guardFinding(ctx, system)}
		}),
		with("images", Images, func(ctx context.Context, _ runtime.Info) []Finding {
			return d.imageFindings(ctx)
		}),
	}
}

// queryDaemon returns a function that queries the daemon once, at its first call.
func (d *Doctor) queryDaemon() func(context.Context) (runtime.Info, error) {
	var (
		once sync.Once
		info runtime.Info
		err  error
	)
	return func(ctx context.Context) (runtime.Info, error) {
		once.Do(func() { info, err = d.sources.Daemon(ctx) })
		return info, err
	}
}

// modelFindings checks the model server that the user's own settings select. If there is
// none, that is only a warning: agents without a model, and `scripted`, still run.
func (d *Doctor) modelFindings(ctx context.Context) []Finding {
	own, err := d.sources.UserSettings()
	if err != nil {
		return nil // settingsFinding reports it
	}
	f := Finding{Name: "model", State: OK}
	model, err := d.sources.ModelServer(ctx, own.Settings.Inference)
	if err != nil {
		f.State, f.Detail = Warning, err.Error()
		f.Fix = "start Ollama, LM Studio, llama.cpp or vLLM, or set a key such as ANTHROPIC_API_KEY or OPENAI_API_KEY"
		return []Finding{f}
	}
	switch {
	case model.Scripted:
		f.Detail = "scripted: plays a built-in script"
	case model.KeyName != "":
		f.Detail = model.Name + ", with the key of " + model.KeyName
	default:
		f.Detail = model.Name
		if !model.Answers {
			f.State, f.Detail, f.Fix = Warning, model.Name+" does not answer", "start it, or choose another with `aibox config set inference`"
		}
	}
	return []Finding{f}
}
