package ui

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"aibox/app/compose"
	"aibox/app/doctor"
	"aibox/app/firstrun"
	"aibox/app/run"
	"aibox/app/settings"
	"aibox/audit"
	"aibox/bakery"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/prompts"
	"aibox/internal/secret"
	"aibox/review"
	"aibox/review/accept"
	"aibox/review/decision"
	"aibox/review/recovery"
	"aibox/review/worktree"
	"aibox/session"
	"aibox/session/auditlog"
	"aibox/session/feedback"
	"aibox/session/manager"
	"aibox/session/output"
	"aibox/session/ports"
	"aibox/session/snapshot"
	"aibox/session/summary"
	"aibox/ui/newrun"
	"aibox/workspace"
)

// world is a user with sessions in every state, and everything else that screens show. What
// the screens change does not last.
type world struct {
	t      testing.TB
	empty  bool // there is no session
	broken bool // most use cases fail
	// inTree reports that all work of 0aaaa-codex was accepted into the working tree.
	inTree atomic.Bool
}

// review returns the review state of a session.
func (w *world) review(id session.ID) session.Review {
	switch {
	case id == "0aaaa-codex" && w.inTree.Load(), id == "0cccc-qwen":
		return session.Accepted
	}
	return session.Unreviewed
}

var errBroken = fault.New(fault.Environment, "the \x1b[31mdisk is full: %s", strings.Repeat("very ", 60)).Hint("free some space")

func (w *world) err() error {
	if w.broken {
		return errBroken
	}
	return nil
}

// request is what the UI works with in this world.
func (w *world) request() Request {
	return Request{
		Sessions: w, Guard: w, Changes: w, NewRuns: newrun.Services{Places: w, Choices: w, Runs: w, Servers: []string{"auto", "ollama", "scripted"}},
		Settings: w, Machine: w, Images: builds{w}, FirstRun: first{w}, Snapshots: stored{w},
	}
}

func (w *world) Measure(context.Context, ...session.ID) map[session.ID]session.Usage { return nil }

func (w *world) Summaries() ([]summary.Summary, error) {
	if w.empty {
		return nil, nil
	}
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	return []summary.Summary{
		{ID: "0aaaa-codex", Agent: "codex", Repository: "/home/ann/shop", Task: "fix the failing test", Created: at, Ended: at, Phase: session.Ended, Changed: true, Files: 3, Added: 40, Deleted: 2, Tokens: 12345, Refused: 2, Review: w.review("0aaaa-codex")},
		{ID: "0bbbb-aider", Agent: "aider", Repository: "/home/ann/blog", Branch: "dark", Task: "Ünïcode wörds 漢字", Created: at, Ended: at, Phase: session.Ended, Failed: true},
		{ID: "0cccc-qwen", Agent: "qwen", Repository: "/home/ann/shop", Task: "evil \x1b]0;title\x07 task", Created: at, Ended: at, Phase: session.Ended, Changed: true, Files: 1, Review: session.Accepted},
		{ID: "0dddd-shell", Agent: "shell", Interactive: true, Repository: "/home/ann/shop", Created: at, Started: at, Phase: session.Running},
		{ID: "0eeee-codex", Agent: "codex", Repository: "/home/ann/shop", Task: "more", Created: at, Started: at, Phase: session.Running},
	}, w.err()
}

func (w *world) Find(text string) (session.Session, error) {
	all, _ := w.Summaries()
	for _, b := range all {
		if string(b.ID) == text {
			spec := session.Spec{ID: b.ID, Agent: b.Agent, Repository: b.Repository, Created: b.Created, Interactive: b.Interactive, Prompt: b.Task, Run: config.Run{Model: "qwen3", Network: "local"}}
			result := &session.Result{Changed: b.Changed, Refused: []session.Refusal{{What: "name", Target: "evil.example", Reason: "no names", Times: 2}}}
			return session.Session{Spec: spec, State: session.State{Phase: b.Phase, Result: result, Started: b.Created, Review: w.review(b.ID)}, Alive: b.Phase == session.Running}, nil
		}
	}
	return session.Session{}, errors.New("there is none")
}

// silent returns a channel that stays silent until ctx ends.
func silent(ctx context.Context) <-chan struct{} {
	changed := make(chan struct{})
	context.AfterFunc(ctx, func() { close(changed) })
	return changed
}

func (w *world) Changed(ctx context.Context) (<-chan struct{}, error) { return silent(ctx), w.err() }

func (w *world) WatchOutput(ctx context.Context, _ session.ID) (<-chan struct{}, error) {
	return silent(ctx), w.err()
}

func (w *world) Repair(context.Context) ([]manager.Repaired, error) { return nil, w.err() }

func (w *world) CountChanges(context.Context, session.ID) (session.Changes, error) {
	return session.Changes{Files: 2, Added: 3}, w.err()
}

func (w *world) FinalChanges(session.ID) (*review.ChangeSet, error) {
	return &review.ChangeSet{Changes: []review.Change{{Path: "main.go", Kind: review.Modified, Added: 3, Deleted: 1}, {Path: "evil\x1b[2J", Kind: review.Added, Added: 1}}}, w.err()
}

func (w *world) Batch(text string) (session.BatchID, []session.Session, error) {
	one, _ := w.Find("0aaaa-codex")
	two, _ := w.Find("0cccc-qwen")
	return session.BatchID(text), []session.Session{one, two}, w.err()
}

func (w *world) Screen(context.Context, session.ID) ([]byte, error) {
	return []byte("$ make\r\n\x1b[31mred\x1b[m\r\n"), nil
}

func (w *world) Tail(session.ID, int64) ([]byte, error) {
	return []byte("reading\nall tests pass\n"), w.err()
}

func (w *world) Stop(_ context.Context, id session.ID, _ string) (session.Session, error) {
	found, _ := w.Find(string(id))
	return found, w.err()
}
func (w *world) Signal(context.Context, session.ID, int) error           { return w.err() }
func (w *world) Extend(context.Context, session.ID, time.Duration) error { return w.err() }
func (w *world) Discard(context.Context, session.ID) (*recovery.Point, error) {
	return nil, w.err()
}
func (w *world) RestoreNewest(context.Context, session.ID) error { return w.err() }
func (w *world) Remove(context.Context, session.ID, bool) error  { return w.err() }

func (w *world) Requests() ([]session.Request, error) {
	if w.broken {
		return nil, w.err()
	}
	return []session.Request{{Session: "0eeee-codex", ID: 1, Question: "Is there more time?", Yes: "give it 1h more", No: "let it end"}}, nil
}

func (w *world) Answer(context.Context, session.ID, int, session.Answer) error { return w.err() }
func (w *world) ChangePolicy(context.Context, session.ID, session.PolicyChange) (session.PolicyChanged, error) {
	return session.PolicyChanged{Closed: 1}, w.err()
}
func (w *world) WatchAllRequests(context.Context) error { return w.err() }

func (w *world) Ports(context.Context, session.ID) ([]ports.Listening, error) {
	return []ports.Listening{{Address: netip.MustParseAddr("127.0.0.1"), Port: 3000}}, w.err()
}

func (w *world) OpenPort(ctx context.Context, _ session.ID, _ ports.Request, visit func(ports.Update) error) error {
	if w.broken {
		return w.err()
	}
	_ = visit(ports.Update{Address: "127.0.0.1:3000"})
	<-ctx.Done()
	return ctx.Err()
}

func (w *world) Recorded(session.ID) (int64, error) { return 2600, w.err() }

func (w *world) Output(_ session.ID, from int64, visit func(output.Chunk) error) (int64, error) {
	text := strings.Repeat("a line of output \x1b[1mx\n", 100)
	if from >= int64(len(text)) {
		return from, nil
	}
	return int64(len(text)), visit(output.Chunk{Offset: from, Data: []byte(text[from:])})
}

func (w *world) Follow(ctx context.Context, id session.ID, from int64, visit func(output.Chunk) error) (session.Session, error) {
	_, _ = w.Output(id, from, visit)
	found, err := w.Find(string(id))
	if found.Alive {
		<-ctx.Done()
	}
	return found, err
}

func (w *world) Watch(ctx context.Context, _ session.ID, _ int, visit func(audit.Event) error) error {
	if err := visit(audit.Event{Type: "agent-started", Time: time.Now()}); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

func (w *world) WatchTraffic(ctx context.Context, _ int, visit func(auditlog.Traffic) error) error {
	for i := range 40 {
		access := auditlog.Access{Session: "0eeee-codex", What: "tcp", Target: fmt.Sprintf("192.0.2.%d:443", i), Why: "the sandbox has no route out", Times: 1}
		if err := visit(auditlog.Traffic{Session: access.Session, Access: &access}); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return w.err()
}

func (w *world) Scrollback(context.Context, session.ID) (*output.Scrollback, error) {
	return nil, session.ErrNoScreen
}

func (w *world) Locks(context.Context) (doctor.Guard, error) {
	return doctor.Guard{Bridges: 2}, w.err()
}

// What the review asks for.

func (w *world) Changes(context.Context, session.ID) (*review.ChangeSet, error) {
	if w.broken {
		return nil, w.err()
	}
	return workedOn(w.t), nil
}

func (w *world) AcceptSet(_ context.Context, id session.ID, _ *review.ChangeSet, opts accept.Options) (*accept.Result, error) {
	if opts.Target == accept.ToWorktree && !w.broken {
		w.inTree.Store(id == "0aaaa-codex")
		return &accept.Result{Target: opts.Target, Paths: []review.Path{"Makefile"}}, nil
	}
	return &accept.Result{Branch: "aibox/0aaaa", Files: 1}, w.err()
}

func (w *world) PlanWorktree(context.Context, session.ID, *review.ChangeSet, review.Choice) (*worktree.Plan, error) {
	return nil, errBroken
}

func (w *world) Reject(context.Context, session.ID, []review.HunkID, string) error { return w.err() }

func (w *world) Unreject(context.Context, session.ID, []review.HunkID) error { return w.err() }

func (w *world) Comment(_ context.Context, _ session.ID, c feedback.Comment) (feedback.Comment, error) {
	return c, w.err()
}

func (w *world) Feedback(session.ID) (feedback.Feedback, error) { return feedback.Feedback{}, w.err() }

func (w *world) Decisions(session.ID) (*manager.Decisions, error) {
	return new(manager.Decisions), nil
}

func (w *world) LastTarget(string) accept.Target            { return accept.ToBranch }
func (w *world) RememberTarget(string, accept.Target) error { return w.err() }

func (w *world) Draft(session.ID, *review.ChangeSet) (*decision.Saved, error) { return nil, w.err() }
func (w *world) SaveDraft(session.ID, *decision.Saved) error                  { return w.err() }

func (w *world) Verify(context.Context, session.ID, manager.VerifyRequest) (session.Verification, error) {
	return session.Verification{Command: "make test"}, w.err()
}

func (w *world) Verifier(session.Session, manager.VerifyRequest) func(context.Context, string) error {
	return func(context.Context, string) error { return w.err() }
}
func (w *world) Verifications(session.ID) ([]session.Verification, error) { return nil, nil }

func (w *world) VerifyRequest(session.Session) (manager.VerifyRequest, error) {
	return manager.VerifyRequest{Command: "make test"}, nil
}

func (w *world) Edit(_ context.Context, text string, _ *review.ChangeSet) (string, error) {
	return text, w.err()
}

// What a new run asks for.

func (w *world) catalog() config.Catalog { return config.Catalog{Images: []string{"codex"}} }

func (w *world) Recent(context.Context) ([]string, error) {
	return []string{"/home/ann/shop", "/home/ann/blog"}, w.err()
}

func (w *world) Look(_ context.Context, repository string) (compose.Place, error) {
	if w.broken {
		return compose.Place{}, w.err()
	}
	resolved, err := w.catalog().Resolve(config.Input{})
	return compose.Place{Place: workspace.Place{Top: repository, Branch: "main"}, Settings: resolved}, err
}

func (w *world) Branches(context.Context, string) ([]string, error) {
	return []string{"main", "dark/mode"}, w.err()
}

func (w *world) Folders(_ context.Context, typed string) ([]compose.Folder, bool) {
	return []compose.Folder{{Path: typed + "ship"}, {Path: typed + "blog", Repository: true}}, true
}

// noOptions are the options of an agent that has none.
type noOptions struct{}

func (w *world) Agents(context.Context) ([]compose.Agent, error) {
	flag := func(string) bool { return true }
	return []compose.Agent{
		{Name: "codex", Title: "Codex", Summary: "OpenAI's agent", NeedsPrompt: true, Options: new(noOptions), Flag: flag},
		{Name: "shell", Title: "A shell", Summary: "Your own command", Shell: true, Options: new(noOptions), Flag: flag},
	}, w.err()
}

func (w *world) Images(context.Context) (map[string]string, error) {
	return map[string]string{"codex": "missing", "shell": "fresh"}, w.err()
}
func (w *world) Models(context.Context, string) []string { return []string{"qwen3"} }

func (w *world) AcceptCloud(context.Context, run.UnacceptedCloud) error { return w.err() }

func (w *world) Again(context.Context, session.ID) (run.Request, error) {
	return run.Request{Agent: "codex", Repository: "/home/ann/shop", Prompt: "again"}, w.err()
}

func (w *world) Files(context.Context, run.Request) (visible, hidden []string, err error) {
	return []string{"main.go", "src/a.go"}, []string{".env"}, w.err()
}

func (w *world) Check(context.Context, run.Request) (compose.Checked, error) {
	return compose.Checked{Command: "codex exec"}, w.err()
}

func (w *world) Start(context.Context, run.Request, bool, func(session.Step)) (compose.Started, error) {
	return compose.Started{ID: "0eeee-codex"}, w.err()
}

func (w *world) Prompts(context.Context, string) ([]prompts.Prompt, error) {
	return []prompts.Prompt{{Name: "careful", Source: prompts.User, Text: "# Take care\nof all.\n"}}, w.err()
}

func (w *world) CheckModel(context.Context, run.Request) error { return w.err() }

func (w *world) Remember(run.Request) error { return w.err() }

// What the settings ask for.

func (w *world) Read(context.Context) (settings.Overview, error) {
	if w.broken {
		return settings.Overview{}, w.err()
	}
	resolved, err := w.catalog().Resolve(config.Input{})
	if err != nil {
		return settings.Overview{}, err
	}
	overview := settings.Overview{
		Held: resolved.All(), Own: map[string]config.Setting{}, File: "/home/ann/.config/aibox/config.toml",
		Choices: func(setting config.Setting) []string { return setting.Values() },
		Check: func(key, text string) error {
			_, err := w.catalog().With(nil, key, text)
			return err
		},
	}
	for _, setting := range overview.Held {
		overview.Own[setting.Key] = setting
	}
	return overview, nil
}
func (w *world) Set(context.Context, string, string) error { return w.err() }
func (w *world) Unset(context.Context, string) error       { return w.err() }

// What the screens of this machine and of the first run ask for.

func (w *world) Checks() []doctor.Check {
	one := func(part doctor.Part, f doctor.Finding) doctor.Check {
		if w.broken {
			f.State, f.Fix, f.Detail = doctor.Missing, doctor.SetupCommand, errBroken.Error()
		}
		return doctor.Check{Name: f.Name, Part: part, Run: func(context.Context) []doctor.Finding { return []doctor.Finding{f} }}
	}
	return []doctor.Check{
		one(doctor.Docker, doctor.Finding{Name: "Docker", State: doctor.OK, Detail: "29.1.0, rootless"}),
		one(doctor.Images, doctor.Finding{Name: "image codex", State: doctor.Warning, Detail: "missing", Fix: "aibox bake codex", Image: "codex", Agent: true}),
		one(doctor.Model, doctor.Finding{Name: "model", State: doctor.Warning, Detail: "there is none", Fix: "start Ollama"}),
	}
}

func (w *world) Prove(_ context.Context, step func(session.Step)) (*doctor.Proof, error) {
	step(session.Step{Name: "workspace", Done: true})
	return nil, errBroken
}
func (w *world) Bake(string) {}

// The builder of images: Check has another signature than that of a new run.

type builds struct{ *world }

func (builds) Check(context.Context) ([]bakery.Status, error) {
	return []bakery.Status{{Name: "base", State: bakery.Fresh}, {Name: "codex", State: bakery.Missing, Version: "1.2"}}, nil
}
func (builds) Put(bool, ...string)                         {}
func (builds) Cancel(string)                               {}
func (builds) Changed(ctx context.Context) <-chan struct{} { return silent(ctx) }

func (builds) Jobs() []bakery.Job {
	return []bakery.Job{{Name: "codex", State: bakery.Baking, Began: time.Now(), Log: []string{"one", "  two"}, Steps: []bakery.JobStep{{Text: "[1/2] RUN x", Kind: bakery.StepStarted, Began: time.Now()}}}}
}

// first are the choices of the first run.
type first struct{ *world }

func (f first) Agents(context.Context) ([]firstrun.Agent, error) {
	return []firstrun.Agent{{Name: "codex", Title: "Codex", Summary: "OpenAI's agent", Image: "codex"}, {Name: "qwen", Image: "qwen"}}, f.err()
}

func (f first) Models(context.Context, string) (firstrun.Models, error) {
	return firstrun.Models{Servers: []firstrun.Server{
		{Inference: "ollama", Title: "ollama", Local: true, Models: []string{"qwen3", "llama3"}},
		{Inference: "openai", Title: "OpenAI", KeyName: "OPENAI_API_KEY"},
		{Inference: "gemini", Title: "Gemini", KeyName: "GEMINI_API_KEY", HasKey: true, Problem: errBroken},
	}}, f.err()
}

func (f first) ListModels(context.Context, string) ([]string, error) {
	return []string{"gpt-a", "gpt-b"}, f.err()
}
func (first) UseKey(string, secret.Value)                  {}
func (f first) Keep(context.Context, string, string) error { return f.err() }

// stored are the snapshots of sandboxes.
type stored struct{ *world }

func (w stored) Snapshots(context.Context) ([]snapshot.Snapshot, error) {
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	return []snapshot.Snapshot{{ID: "snap-7d2kqaaaabbbbcccc", Name: "evil \x1b[2J", Created: at, Sandbox: "0ffff-sandbox", Bytes: 1e8}}, w.err()
}

func (w stored) Take(context.Context, session.ID) (string, error) {
	return "snap-7d2kqaaaabbbbcccc", w.err()
}

func (w stored) Start(context.Context, string) (session.ID, error) { return "0gggg-sandbox", w.err() }
func (w stored) Delete(context.Context, string) error              { return w.err() }
