package manager

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aibox/config"
	"aibox/internal/paths"
	"aibox/netguard"
	"aibox/review/accept"
	"aibox/review/reviewtest"
	"aibox/review/scan"
	"aibox/runtime"
	"aibox/runtime/runtimetest"
	"aibox/session"
	"aibox/workspace"
)

// fixture holds one user's folders with a repository and ended sessions: everything that
// use cases for ended sessions need, with the real git and without a daemon.
type fixture struct {
	*Manager
	t    testing.TB
	dirs paths.Dirs
	repo string

	daemon   *runtimetest.Fake
	pool     runtime.Networks
	noDocker error
	settings Settings

	duringFork func(ws *workspace.Workspace) // called before the fork's agent works
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	d := fixtureAt(t, t.TempDir())
	reviewtest.CommitIn(t, d.repo, map[string]string{"a.txt": "one\ntwo\n", "dir/b.txt": "bee\n"})
	d.must(paths.MakePrivate(d.dirs.Sessions()))
	return d
}

// fixtureAt returns a fixture whose folders are below home.
func fixtureAt(t testing.TB, home string) *fixture {
	daemon := runtimetest.NewFake()
	d := &fixture{t: t, repo: filepath.Join(home, "project"), daemon: daemon, pool: daemon.Networks(0), dirs: paths.Dirs{
		Home: home, State: home + "/state", Data: home + "/data", Cache: home + "/cache",
		Runtime: home + "/runtime", Workspace: home + "/agent_workspace",
	}}
	d.Manager = New(Deps{
		Dirs: d.dirs, Settings: func() Settings { return d.settings },
		Docker: func(context.Context) (Docker, error) { return Docker{Backend: d.daemon, Networks: d.pool}, d.noDocker },
	})
	return d
}

func (d *fixture) must(err error) { d.t.Helper(); reviewtest.Must(d.t, err) }

func (d *fixture) git(args ...string) string { d.t.Helper(); return d.gitIn(d.repo, args...) }

func (d *fixture) gitIn(dir string, args ...string) string {
	d.t.Helper()
	return reviewtest.GitIn(d.t, dir, args...)
}

func (d *fixture) write(path, content string) { d.t.Helper(); reviewtest.Write(d.t, path, content) }

// prepared is a session with a workspace whose agent has not run yet.
func (d *fixture) prepared(id session.ID) *workspace.Workspace {
	d.t.Helper()
	ws, err := workspace.Prepare(d.t.Context(), workspace.Request{Repo: d.repo, Session: string(id), Dirs: d.dirs})
	d.must(err)
	d.must(os.Mkdir(d.store.Dir(id), 0o700))
	d.must(d.store.Write(id, session.SpecFile, session.Spec{ID: id, Created: session.Now(), Agent: "shell", Repository: d.repo, Run: config.Run{Network: netguard.None.String(), Image: "aibox/base:0"}}))
	d.must(d.store.Write(id, session.StateFile, session.State{Phase: session.Preparing, Workspace: ws}))
	return ws
}

// end stores the result of a session, as its supervisor would.
func (d *fixture) end(id session.ID, ws *workspace.Workspace) {
	d.t.Helper()
	set, err := scan.Workspace(d.t.Context(), ws, scan.Options{})
	d.must(err)
	d.must(d.store.WriteChanges(id, set))
	result := &session.Result{Changed: !set.Empty(), Changes: session.Summarize(set)}
	d.must(d.store.Write(id, session.StateFile, session.State{Phase: session.Ended, Workspace: ws, Started: session.Now(), Ended: session.Now(), Result: result}))
}

// ended is a session whose agent wrote the files, each with its name as content.
func (d *fixture) ended(id session.ID, files ...string) *workspace.Workspace {
	d.t.Helper()
	ws := d.prepared(id)
	for _, name := range files {
		d.write(filepath.Join(ws.Path, name), name+"\n")
	}
	d.end(id, ws)
	return ws
}

// Accept computes a session's changes and accepts the part that opts choose.
func (d *fixture) Accept(ctx context.Context, id session.ID, opts accept.Options) (*accept.Result, error) {
	set, err := d.Changes(ctx, id)
	if err != nil {
		return nil, err
	}
	return d.AcceptSet(ctx, id, set, opts)
}

// resumed is a session that continued in the workspace of another one and wrote files.
func (d *fixture) resumed(from, id session.ID, files ...string) *workspace.Workspace {
	d.t.Helper()
	d.must(os.Mkdir(d.store.Dir(id), 0o700))
	d.must(d.store.Write(id, session.SpecFile, session.Spec{ID: id, Created: session.Now(), Resumes: from, Repository: d.repo, Run: config.Run{Network: netguard.None.String()}}))
	ws, err := d.TakeOver(d.t.Context(), from, id, func(ws *workspace.Workspace) error {
		return d.store.Write(id, session.StateFile, session.State{Phase: session.Preparing, Workspace: ws})
	})
	d.must(err)
	for _, name := range files {
		d.write(filepath.Join(ws.Path, name), name+"\n")
	}
	d.end(id, ws)
	return ws
}

// saved lists the saved states, each as "number what by", newest number last.
func (d *fixture) saved(text string) string {
	d.t.Helper()
	all, err := d.Recoverable(d.t.Context(), text)
	d.must(err)
	var lines []string
	for _, s := range all {
		lines = append(lines, s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]+" "+string(s.What)+" "+s.By)
	}
	return strings.Join(lines, ", ")
}

// files lists the files that the session changed, with the names that git prints.
func (d *fixture) files(id session.ID) string {
	d.t.Helper()
	set, err := d.Changes(d.t.Context(), id)
	d.must(err)
	names := make([]string, 0, len(set.Changes))
	for _, c := range set.Changes {
		names = append(names, string(c.Path))
	}
	return strings.Join(names, " ")
}
