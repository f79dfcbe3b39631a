package cleanup

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/config"
	"aibox/internal/paths"
	"aibox/netguard"
	"aibox/review"
	"aibox/review/accept"
	"aibox/review/recovery"
	"aibox/review/reviewtest"
	"aibox/review/scan"
	"aibox/runtime"
	"aibox/runtime/runtimetest"
	"aibox/session"
	"aibox/session/manager"
	"aibox/workspace"
)

// everything accepts all of a session's work to a branch.
var everything = accept.Options{Choice: review.Choice{All: true}}

// fixture holds one user's folders with a repository and ended sessions: everything that
// use cases for ended sessions need, with the real git and without a daemon.
type fixture struct {
	*manager.Manager
	store session.Store
	t     testing.TB
	dirs  paths.Dirs
	repo  string

	daemon   *runtimetest.Fake
	pool     runtime.Networks
	noDocker error
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
	d.Manager, d.store = manager.New(manager.Deps{Dirs: d.dirs, Docker: d.docker}), session.NewStore(d.dirs)
	return d
}

func (d *fixture) docker(context.Context) (manager.Docker, error) {
	return manager.Docker{Backend: d.daemon, Networks: d.pool}, d.noDocker
}

func (d *fixture) must(err error) { d.t.Helper(); reviewtest.Must(d.t, err) }

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
	d.must(d.store.WriteSpec(id, session.Spec{ID: id, Created: time.Now().UTC(), Agent: "shell", Repository: d.repo, Run: config.Run{Network: netguard.None.String(), Image: "aibox/base:0"}}))
	d.must(d.store.WriteState(id, session.State{Phase: session.Preparing, Workspace: ws}))
	return ws
}

// end stores the result of a session, as its supervisor would.
func (d *fixture) end(id session.ID, ws *workspace.Workspace) {
	d.t.Helper()
	set, err := scan.Workspace(d.t.Context(), ws, scan.Options{})
	d.must(err)
	d.must(d.store.WriteChanges(id, set))
	result := &session.Result{Changed: !set.Empty(), Changes: session.Summarize(set)}
	d.must(d.store.WriteState(id, session.State{Phase: session.Running, Workspace: ws, Started: time.Now().UTC()}))
	d.must(d.store.WriteState(id, session.State{Phase: session.Ended, Workspace: ws, Started: time.Now().UTC(), Ended: time.Now().UTC(), Result: result}))
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
	d.must(d.store.WriteSpec(id, session.Spec{ID: id, Created: time.Now().UTC(), Resumes: from, Repository: d.repo, Run: config.Run{Network: netguard.None.String()}}))
	ws, err := d.TakeOver(d.t.Context(), from, id, func(ws *workspace.Workspace) error {
		return d.store.WriteState(id, session.State{Phase: session.Preparing, Workspace: ws})
	})
	d.must(err)
	for _, name := range files {
		d.write(filepath.Join(ws.Path, name), name+"\n")
	}
	d.end(id, ws)
	return ws
}

// aged changes times so that the session appears unused for the given time.
func (d *fixture) aged(id session.ID, age time.Duration) {
	d.t.Helper()
	s, err := d.store.Load(id)
	d.must(err)
	then := time.Now().UTC().Add(-age)
	if !s.State.Ended.IsZero() {
		s.State.Ended = then
		d.must(d.store.WriteState(id, s.State))
	}
	d.must(os.Chtimes(filepath.Join(d.store.Dir(id), "state.json"), then, then))
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

const month = 30 * 24 * time.Hour

// collect runs a cleanup with a retention of a month and without a minimum age of scratch
// files.
func (d *fixture) collect(change ...func(*Options)) *Report {
	d.t.Helper()
	options := Options{OlderThan: month, minScratchAge: -1}
	for _, f := range change {
		f(&options)
	}
	report, err := newCleaner(d.dirs, d.docker, options).run(d.t.Context())
	d.must(err)
	return report
}

func dryRun(o *Options) { o.DryRun = true }

// freed formats a report as lines "kind count: names".
func freed(r *Report) string {
	var lines []string
	for _, f := range r.Freed {
		names := slices.Clone(f.Names)
		for i := range names {
			names[i] = filepath.Base(names[i])
		}
		if f.Kind == KindObjects {
			f.Count = len(names) // a dry run cannot count all of them
		}
		lines = append(lines, fmt.Sprintf("%s %d: %s", f.Kind, f.Count, strings.Join(names, " ")))
	}
	return strings.Join(lines, "\n")
}

// accepted is an ended session whose whole work is on a branch.
func (d *fixture) accepted(id session.ID, files ...string) *workspace.Workspace {
	d.t.Helper()
	ws := d.ended(id, files...)
	_, err := d.Accept(d.t.Context(), id, everything)
	d.must(err)
	return ws
}

// predate sets the times of saved states and of a repository's objects to the given age.
func (d *fixture) predate(gitDir string, age time.Duration) {
	d.t.Helper()
	then := time.Now().UTC().Add(-age)
	saved, err := recovery.PointsIn(d.t.Context(), gitDir)
	d.must(err)
	for _, s := range saved {
		old := d.gitIn(gitDir, "-c", "user.name=aibox", "-c", "user.email=aibox@localhost", "log", "-1", "--format=%s", s.Commit)
		cmd := exec.CommandContext(d.t.Context(), "git", "--git-dir", gitDir, "commit-tree", "-p", s.Base, "-m", old, s.Commit+"^{tree}")
		date := fmt.Sprintf("%d +0000", then.Unix())
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
			"GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)
		commit, err := cmd.Output()
		d.must(err)
		d.gitIn(gitDir, "update-ref", s.Ref, strings.TrimSpace(string(commit)))
	}
	d.must(filepath.WalkDir(filepath.Join(gitDir, "objects"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return os.Chtimes(path, then, then)
	}))
}

// everything lists all files of aibox except locks and git's objects.
func (d *fixture) everything() []string {
	var all []string
	for _, root := range []string{d.dirs.State, d.dirs.Data, d.dirs.Workspace} {
		_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !strings.HasSuffix(path, "lock") && !strings.Contains(path, ".git/objects") {
				all = append(all, path)
			}
			return nil
		})
	}
	return all
}
