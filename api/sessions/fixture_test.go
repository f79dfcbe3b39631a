package sessions

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"aibox/agents"
	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/aibox/v1/aiboxv1connect"
	"aibox/api/auth"
	"aibox/api/budget"
	"aibox/app/agentsession"
	"aibox/app/run"
	"aibox/config"
	"aibox/internal/paths"
	"aibox/netguard"
	"aibox/review/scan"
	"aibox/session"
	"aibox/session/manager"
	"aibox/workspace"
)

// fixture is the service on loopback, over a user's repository and the real records of
// sessions that have ended. Each caller is of the tenant that its header Tenant names.
type fixture struct {
	t    *testing.T
	dirs paths.Dirs
	repo string
	url  string
	// budget is what answers can have; nil: any size.
	budget *budget.Budget
	// bundle is the maximum size of a bundle in bytes; 0: the default.
	bundle int
	// rights are those of callers; nil: all of them.
	rights []aiboxv1.Right
	// unstarted is the error of each start; nil for none.
	unstarted error
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	home := t.TempDir()
	f := &fixture{t: t, repo: home + "/project", dirs: paths.Dirs{
		Home: home, State: home + "/state", Data: home + "/data", Cache: home + "/cache", Runtime: home + "/run", Workspace: home + "/w",
	}}
	f.must(paths.MakePrivate(f.dirs.Sessions()))
	f.write(f.repo+"/a.txt", strings.Repeat("same\n", 20))
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"config", "user.name", "Ann"}, {"config", "user.email", "ann@example.org"}, {"add", "-A"}, {"commit", "-qm", "first"}} {
		f.git(f.repo, args...)
	}
	all := manager.New(manager.Deps{Dirs: f.dirs})
	_, handler := aiboxv1connect.NewSessionsHandler(&Handler{Agents: agents.Builtin(), Cases: func(tenant session.Tenant) (*agentsession.Service, error) {
		return &agentsession.Service{
			Sessions: all, Policy: agentsession.Policy{Tenant: tenant, AnyRepository: tenant != "cat", AcceptRisks: true},
			Runner: func() *run.Runner { t.Error("a run was resolved"); return nil },
			Verification: func(session.Session, manager.VerifyRequest) (manager.VerifyRequest, error) {
				return manager.VerifyRequest{}, nil
			},
			Trees:  agentsession.Trees{Dir: home + "/trees", InUse: func(string) bool { return false }},
			Bundle: f.bundle,
			Defaults: func(context.Context, session.Tenant) (config.RunOverrides, error) {
				return config.RunOverrides{}, f.unstarted
			},
		}, nil
	}})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller := auth.Caller{Tenant: session.Tenant(r.Header.Get("Tenant")), Rights: auth.Rights()}
		if f.rights != nil {
			caller.Rights = f.rights
		}
		ctx := auth.With(r.Context(), caller)
		if f.budget != nil {
			var done func()
			ctx, done = f.budget.With(ctx, caller.Tenant)
			defer done()
		}
		handler.ServeHTTP(w, r.WithContext(ctx))
	}))
	server.EnableHTTP2 = true
	server.Start()
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

// as returns a client of a tenant.
func (f *fixture) as(tenant string) aiboxv1connect.SessionsClient {
	return aiboxv1connect.NewSessionsClient(&http.Client{Transport: tenantTransport(tenant)}, f.url)
}

type tenantTransport string

func (t tenantTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("Tenant", string(t))
	return http.DefaultTransport.RoundTrip(r)
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) git(dir string, args ...string) string {
	f.t.Helper()
	out, err := exec.CommandContext(f.t.Context(), "git", append([]string{"-C", dir}, args...)...).CombinedOutput()
	if err != nil {
		f.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

func (f *fixture) write(path, content string) {
	f.t.Helper()
	f.must(os.MkdirAll(filepath.Dir(path), 0o755))
	f.must(os.WriteFile(path, []byte(content), 0o644))
}

// age returns how long ago the session with an id was created. It is more for those with later
// ids, as if the clock were set back between them.
func (f *fixture) age(id session.ID) time.Duration {
	number, err := strconv.Atoi(string(id[:5]))
	f.must(err)
	return time.Duration(number) * time.Minute
}

// ended records a session of the tenant ann that has ended and wrote these files.
func (f *fixture) ended(id session.ID, files map[string]string) {
	f.t.Helper()
	ws, err := workspace.Prepare(f.t.Context(), workspace.Request{Repo: f.repo, Session: string(id), Dirs: f.dirs})
	f.must(err)
	for name, content := range files {
		f.write(filepath.Join(ws.Path, name), content)
	}
	set, err := scan.Workspace(f.t.Context(), ws, scan.Options{})
	f.must(err)
	dir, now := filepath.Join(f.dirs.Sessions(), string(id)), time.Now()
	f.must(os.Mkdir(dir, 0o700))
	for name, value := range map[string]any{
		"spec.json": session.Spec{
			ID: id, Created: now.Add(-f.age(id)), Agent: "codex", Prompt: "the task", Repository: f.repo, Tenant: "ann", Metadata: map[string]string{"job": string(id[:5])},
			Run: config.Run{Network: netguard.None.String(), Image: "aibox/base:0"},
		},
		"changes.json": set,
		"state.json": session.State{
			Phase: session.Ended, Workspace: ws, Started: now, Ended: now,
			Result: &session.Result{Changed: !set.Empty(), Changes: session.Summarize(set)},
		},
	} {
		data, err := json.Marshal(value)
		f.must(err)
		f.must(os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
}

// archive returns a tar archive of files.
func archive(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for name, content := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// bounded returns a context for one call.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}
