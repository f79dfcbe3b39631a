package sandbox

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/app/template"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/runtime"
	"aibox/session"
	"aibox/session/control"
	"aibox/session/manager"
	"aibox/session/snapshot"
	"aibox/session/volume"
)

// fixture is a service for sessions in a folder of the test.
type fixture struct {
	*testing.T
	*Service
	store    session.Store
	launched []session.Launch
	user     []byte // content of the user's settings file
	defaults config.RunOverrides
}

// templateFixture has a template with a user and one that runs as root.
type templateFixture struct{}

func (templateFixture) Template(_ context.Context, _ session.Tenant, name string) (template.Template, error) {
	switch name {
	case template.Default:
		return template.Template{Name: name, Image: template.Image{Recipe: "code"}, User: "user", Workdir: "/home/user", Env: []string{"LANG=C", "A=template"}}, nil
	case "codex":
		return template.Template{Name: name, Image: template.Image{Recipe: "codex"}, Workdir: "/workspace"}, nil
	}
	return template.Template{}, fault.New(fault.NotFound, "there is no template %q", name)
}

func (templateFixture) Image(_ context.Context, t *template.Template) (Image, error) {
	return Image{"sha256:1", "aibox/" + t.Name + ":1"}, nil
}

func noDocker(context.Context) (manager.Docker, error) {
	return manager.Docker{}, errors.New("no container daemon runs")
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	dir := t.TempDir()
	dirs := paths.Dirs{State: dir + "/state", Data: dir + "/data", Cache: dir + "/cache", Config: dir + "/config", Runtime: dir + "/run"}
	f := &fixture{T: t, store: session.NewStore(dirs)}
	f.Service = &Service{
		Sessions: manager.New(manager.Deps{Dirs: dirs, Docker: noDocker}), Templates: templateFixture{}, Volumes: volume.NewStore(dirs), Snapshots: snapshot.NewStore(dirs),
		Settings: func(overrides ...config.Override) (*config.Resolved, error) {
			in := config.Input{Flags: overrides}
			if f.user != nil {
				file := dir + "/config.toml"
				if err := os.WriteFile(file, f.user, 0o600); err != nil {
					return nil, err
				}
				var err error
				if in.User, err = config.ReadUser(file); err != nil {
					return nil, err
				}
			}
			return config.Catalog{}.Resolve(in)
		},
		Defaults:   func(context.Context, session.Tenant) (config.RunOverrides, error) { return f.defaults, nil },
		NamedImage: func(context.Context, string) (runtime.ImageID, error) { return "sha256:named", nil },
	}
	f.Launch = f.ClaimOr(func(_ context.Context, launch session.Launch, _ func(session.Step)) (session.ID, error) {
		f.launched = append(f.launched, launch)
		return f.put(launch.Spec), nil
	})
	return f
}

// put stores a running session.
func (f *fixture) put(spec session.Spec) session.ID {
	f.Helper()
	id, err := f.store.Create(session.SandboxAgent, time.Now())
	spec.ID, spec.Created = id, time.Now().UTC()
	err = errors.Join(err, f.store.WriteSpec(id, spec), f.store.WriteState(id, session.State{Phase: session.Preparing}),
		f.store.WriteState(id, session.State{Phase: session.Running, Started: time.Now().UTC()}))
	if err != nil {
		f.Fatal(err)
	}
	return id
}

// create creates a sandbox, and returns the launch for its supervisor.
func (f *fixture) create(r Request) session.Launch {
	f.Helper()
	if _, err := f.Create(context.Background(), r, nil); err != nil {
		f.Fatal(err)
	}
	return f.launched[len(f.launched)-1]
}

func settings(t *testing.T, pairs ...string) config.RunOverrides {
	t.Helper()
	var o config.RunOverrides
	for _, pair := range pairs {
		key, text, _ := strings.Cut(pair, "=")
		if err := o.Set(key, text); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// lookUp is templateFixture with another way to find an image.
type lookUp struct {
	templateFixture

	image func(ctx context.Context) error
}

func (l lookUp) Image(ctx context.Context, t *template.Template) (Image, error) {
	if err := l.image(ctx); err != nil {
		return Image{}, err
	}
	return l.templateFixture.Image(ctx, t)
}

func TestTheImageIsLookedUpWhileTheSettingsAreRead(t *testing.T) {
	f := newFixture(t)
	looking := make(chan struct{})
	f.Templates = lookUp{image: func(context.Context) error { close(looking); return nil }}
	read := f.Settings
	f.Settings = func(overrides ...config.Override) (*config.Resolved, error) {
		select {
		case <-looking:
			return read(overrides...)
		case <-time.After(time.Minute):
			return nil, errors.New("nobody looks for the image")
		}
	}
	if launch := f.create(Request{Tenant: "acme"}); launch.ImageID != "sha256:1" {
		t.Errorf("the image is %q", launch.ImageID)
	}
}

func TestALookupOfAnImageEndsWithARequestThatIsRefused(t *testing.T) {
	f := newFixture(t)
	ended := false
	f.Templates = lookUp{image: func(ctx context.Context) error {
		<-ctx.Done()
		ended = true
		return ctx.Err()
	}}
	f.Settings = func(...config.Override) (*config.Resolved, error) { return nil, errors.New("the settings are broken") }
	if _, err := f.Create(t.Context(), Request{Tenant: "acme"}, nil); err == nil || !strings.Contains(err.Error(), "broken") || !ended {
		t.Errorf("ended: %v; %v", ended, err)
	}
}

func TestTheNetworkOfASandboxIsTheTenantsDefaultNothingOrWhatWasGiven(t *testing.T) {
	f := newFixture(t)
	f.user = []byte("network = \"public\"\nallow = [\"user.example\"]\ndeny = [\"denied.example\"]\n")
	cases := []struct {
		name, policy string
		defaults     []string
		given        []string
		allow        []string
	}{
		{name: "absent", policy: "none"},
		{name: "absent with a default", policy: "allowlist", defaults: []string{"allow=tenant.example"}, allow: []string{"tenant.example"}},
		{name: "empty", policy: "allowlist", given: []string{"allow="}},
		{name: "empty with a default", policy: "allowlist", defaults: []string{"allow=tenant.example"}, given: []string{"allow="}},
		{name: "given", policy: "allowlist", given: []string{"allow=a.example"}, allow: []string{"a.example"}},
		{name: "given with a default", policy: "allowlist", defaults: []string{"allow=tenant.example"}, given: []string{"allow=a.example"}, allow: []string{"a.example"}},
		{name: "public", policy: "public", given: []string{"network=public"}},
		{name: "public with a list", policy: "public", given: []string{"network=public", "allow=git.example:22"}, allow: []string{"git.example:22"}},
		{name: "none over a default", policy: "none", defaults: []string{"network=public"}, given: []string{"network=none"}},
		{name: "a model", policy: "local", given: []string{"model=m"}},
	}
	for _, c := range cases {
		f.defaults = settings(t, c.defaults...)
		spec := f.create(Request{Tenant: "acme", Settings: settings(t, c.given...)}).Spec
		if spec.Network != c.policy || !slices.Equal(spec.Allow, c.allow) {
			t.Errorf("%s: %s %q, want %s %q", c.name, spec.Network, spec.Allow, c.policy, c.allow)
		}
		if !slices.Equal(spec.Deny, []string{"denied.example"}) || !slices.Equal(spec.Sandbox.Denied, spec.Deny) {
			t.Errorf("%s: the user's own deny list is %q, and %q of it stays", c.name, spec.Deny, spec.Sandbox.Denied)
		}
		if spec.HasModel() != (c.name == "a model") {
			t.Errorf("%s: has a model: %v", c.name, spec.HasModel())
		}
	}
}

func TestContradictoryRequestsAreRefused(t *testing.T) {
	f := newFixture(t)
	wrong := map[string]Request{
		"an allow list without a proxy": {Tenant: "acme", Settings: settings(t, "network=none", "allow=a.example")},
		"a deny list without a network": {Tenant: "acme", Settings: settings(t, "network=none", "deny=a.example")},
		"a deny list for a model alone": {Tenant: "acme", Settings: settings(t, "network=local", "deny=a.example")},
		"a deny list with the default":  {Tenant: "acme", Settings: settings(t, "deny=a.example")},
		"an upload without a network":   {Tenant: "acme", Settings: settings(t, "network=none", "egress-upload=5")},
		"an upload to no host":          {Tenant: "acme", Settings: settings(t, "network=none", "egress-upload-host=5")},
		"a download for a model alone":  {Tenant: "acme", Settings: settings(t, "network=local", "egress-download=5")},
		"a pause without a time":        {Tenant: "acme", OnTimeout: session.Pause, Settings: settings(t, "timeout=0", "idle-timeout=0")},
		"more processes than the limit": {Tenant: "acme", Settings: settings(t, "pids=64"), Permissions: session.Permissions{Processes: session.ProcessPermissions{Max: 65}}},
		"a model without a network":     {Tenant: "acme", Settings: settings(t, "network=none", "model=m")},
		"a setting of agents":           {Tenant: "acme", Settings: settings(t, "verify=make test")},
		"no tenant":                     {},
		"a tenant that is a path":       {Tenant: "../local"},
		"a volume over the system":      {Tenant: "acme", Volumes: []session.VolumeMount{{Volume: "v", Path: "/etc/x"}}},
		"a volume outside":              {Tenant: "acme", Volumes: []session.VolumeMount{{Volume: "v", Path: "/data/../etc"}}},
		"volumes that overlap":          {Tenant: "acme", Volumes: []session.VolumeMount{{Volume: "v", Path: "/data"}, {Volume: "w", Path: "/data/x"}}},
		"a variable without a name":     {Tenant: "acme", Env: map[string]string{"=": "x"}},
		"an invalid host":               {Tenant: "acme", Settings: settings(t, "allow=a b")},
		"little memory":                 {Tenant: "acme", Settings: settings(t, "memory=1")},
		"a state":                       {Tenant: "acme", OnTimeout: "explode"},
		"a control character":           {Tenant: "acme", Labels: session.Labels{Name: "a\nb"}},
		"a port":                        {Tenant: "acme", Permissions: session.Permissions{Inbound: []int{0}}},
	}
	for name, r := range wrong {
		if _, err := f.Create(context.Background(), r, nil); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v", name, err)
		}
	}
	refused := map[string]Request{
		"an image of the machine":       {Tenant: "acme", Settings: settings(t, "image=private:1")},
		"the user's secret":             {Tenant: "acme", Settings: settings(t, "secret=TOKEN=a.example:Authorization")},
		"the user's model server":       {Tenant: "acme", Settings: settings(t, "inference=ollama")},
		"root with restricted files":    {Tenant: "acme", Permissions: session.Permissions{Root: true, Files: session.FilePermissions{Hidden: []string{"/x"}}}},
		"a template of root restricted": {Tenant: "acme", Template: "codex", Permissions: session.Permissions{Processes: session.ProcessPermissions{NoChildren: true}}},
		"write access by pattern":       {Tenant: "acme", Permissions: session.Permissions{Files: session.FilePermissions{Write: []string{"/home/*"}}}},
	}
	for name, r := range refused {
		if _, err := f.Create(context.Background(), r, nil); fault.KindOf(err) != fault.Refused {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(f.launched) > 0 {
		t.Errorf("%d sandboxes were started", len(f.launched))
	}
	for name, r := range map[string]Request{
		"a deny list with a proxy":   {Tenant: "acme", Settings: settings(t, "network=public", "deny=a.example", "egress-upload=5", "egress-download=5")},
		"an empty deny list":         {Tenant: "acme", Settings: settings(t, "network=none", "deny=")},
		"a pause at an idle timeout": {Tenant: "acme", OnTimeout: session.Pause, Settings: settings(t, "timeout=0", "idle-timeout=1m")},
		"as many processes":          {Tenant: "acme", Settings: settings(t, "pids=64"), Permissions: session.Permissions{Processes: session.ProcessPermissions{Max: 64}}},
	} {
		if _, err := f.Create(context.Background(), r, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheLimitOfVolumesIsNoPartOfASandboxWithoutOne(t *testing.T) {
	f := newFixture(t)
	if launch := f.create(Request{Tenant: "acme", Settings: settings(t, "disk=16")}); launch.Spec.Disk != 0 {
		t.Errorf("no warm sandbox has the limit %v", launch.Spec.Disk)
	}
	if _, err := f.CreateVolume(context.Background(), "acme", "data"); err != nil {
		t.Fatal(err)
	}
	mounts := []session.VolumeMount{{Volume: "data", Path: "/data"}}
	if launch := f.create(Request{Tenant: "acme", Settings: settings(t, "disk=16"), Volumes: mounts}); launch.Spec.Disk.Bytes() != 16<<20 {
		t.Errorf("with a volume the limit is %v", launch.Spec.Disk)
	}
}

func TestTheValuesOfVariablesAreNotStored(t *testing.T) {
	f := newFixture(t)
	launch := f.create(Request{Tenant: "acme", Env: map[string]string{"A": "hush", "B": ""}})
	if want := []string{"LANG=C", "A=template", "A=hush", "B="}; !slices.Equal(launch.Env, want) {
		t.Errorf("the environment is %q", launch.Env)
	}
	record, err := json.Marshal(launch.Spec)
	if err != nil || strings.Contains(string(record), "hush") || !slices.Equal(launch.Spec.Env, []string{"A", "B"}) {
		t.Errorf("%s, %v", record, err)
	}
}

func TestASandboxOfAnotherTenantIsAsOneThatDoesNotExist(t *testing.T) {
	f := newFixture(t)
	ctx := context.Background()
	f.create(Request{Tenant: "acme"})
	own := string(f.put(session.Spec{Agent: session.SandboxAgent, Sandbox: &session.SandboxSpec{Tenant: "acme"}}))
	agent := string(f.put(session.Spec{Agent: "codex"}))
	warm := string(f.put(session.Spec{Agent: session.SandboxAgent, Sandbox: &session.SandboxSpec{}}))
	if _, err := f.Get(ctx, "acme", own); err != nil {
		t.Fatal(err)
	}
	calls := map[string]func(tenant session.Tenant, id string) error{
		"get":     func(tenant session.Tenant, id string) error { _, err := f.Get(ctx, tenant, id); return err },
		"running": func(tenant session.Tenant, id string) error { _, err := f.Running(ctx, tenant, id); return err },
		"destroy": func(tenant session.Tenant, id string) error { return f.Destroy(ctx, tenant, id) },
		"extend": func(tenant session.Tenant, id string) error {
			_, err := f.Extend(ctx, tenant, id, time.Hour)
			return err
		},
		"update": func(tenant session.Tenant, id string) error {
			name := "a\nb"
			_, err := f.Update(ctx, tenant, id, session.SandboxChange{Name: &name})
			return err
		},
		"network": func(tenant session.Tenant, id string) error {
			_, err := f.SetNetwork(ctx, tenant, id, session.NetworkLists{Allow: &[]string{"a b"}})
			return err
		},
		"metrics": func(tenant session.Tenant, id string) error { _, err := f.Metrics(ctx, tenant, id); return err },
		"pause":   func(tenant session.Tenant, id string) error { _, err := f.Pause(ctx, tenant, id); return err },
		"resume":  func(tenant session.Tenant, id string) error { _, err := f.Resume(ctx, tenant, id); return err },
	}
	for name, call := range calls {
		for what, at := range map[string]struct {
			tenant session.Tenant
			id     string
		}{
			"of another tenant": {"evil", own}, "an agent's": {session.LocalTenant, agent}, "a warm one": {"", warm},
			"a prefix": {"acme", own[:5]}, "a path": {"acme", "../" + own},
		} {
			err, missing := call(at.tenant, at.id), call(at.tenant, "zzzzz-sandbox")
			want := strings.ReplaceAll(fmt.Sprint(missing), "zzzzz-sandbox", at.id)
			if fault.KindOf(err) != fault.NotFound || fmt.Sprint(err) != want || !slices.Equal(fault.Hints(err), fault.Hints(missing)) {
				t.Errorf("%s, %s: %v, and for a missing one %v", name, what, err, missing)
			}
		}
	}
	for _, tenant := range []session.Tenant{"evil", session.LocalTenant, ""} {
		if page, err := f.List(ctx, tenant, Filter{}, 0, ""); err != nil || len(page.Sandboxes) > 0 {
			t.Errorf("%q lists %+v, %v", tenant, page.Sandboxes, err)
		}
	}
}

func TestTheTenantOfASessionOnlySeesAndEndsTheSandboxesOfItsAgent(t *testing.T) {
	f := newFixture(t)
	spec := func(parent session.ID) session.Spec {
		return session.Spec{Agent: session.SandboxAgent, Sandbox: &session.SandboxSpec{
			Tenant: session.OwnTenant(parent), Template: "code", Parent: &session.Parent{Session: parent},
		}}
	}
	local, acme := f.put(session.Spec{Agent: "codex"}), f.put(session.Spec{Agent: "codex", Tenant: "acme"})
	ofLocal, ofAcme, lost := f.put(spec(local)), f.put(spec(acme)), f.put(spec("00001-gone"))
	own := f.put(session.Spec{Agent: session.SandboxAgent, Sandbox: &session.SandboxSpec{Tenant: "acme", Template: "code"}})
	list := func(tenant session.Tenant, filter Filter) (ids []session.ID) {
		page, err := f.List(t.Context(), tenant, filter, 0, "")
		if err != nil {
			t.Fatal(err)
		}
		for i := range page.Sandboxes {
			ids = append(ids, page.Sandboxes[i].ID)
		}
		return ids
	}
	if got := list("acme", Filter{}); !slices.Equal(got, []session.ID{own, ofAcme}) {
		t.Errorf("acme sees %q", got)
	}
	if got := list("acme", Filter{Parent: acme}); !slices.Equal(got, []session.ID{ofAcme}) {
		t.Errorf("of one parent: %q", got)
	}
	if got := list(session.LocalTenant, Filter{}); !slices.Equal(got, []session.ID{ofLocal}) {
		t.Errorf("the user sees %q", got)
	}
	if got := list("acme", Filter{Parent: local}); len(got) > 0 {
		t.Errorf("by another tenant's session: %q", got)
	}
	if got, err := f.Get(t.Context(), "acme", string(ofAcme)); err != nil || got.Parent != acme {
		t.Errorf("%+v, %v", got, err)
	}
	for _, id := range []session.ID{ofLocal, lost} {
		if _, err := f.Get(t.Context(), "acme", string(id)); fault.KindOf(err) != fault.NotFound {
			t.Errorf("getting %s: %v", id, err)
		}
		if err := f.Destroy(t.Context(), "acme", string(id)); fault.KindOf(err) != fault.NotFound {
			t.Errorf("ending %s: %v", id, err)
		}
	}
	_, runErr := f.Running(t.Context(), "acme", string(ofAcme))
	_, netErr := f.SetNetwork(t.Context(), "acme", string(ofAcme), session.NetworkLists{})
	_, pauseErr := f.Pause(t.Context(), "acme", string(ofAcme))
	for what, err := range map[string]error{"running": runErr, "network": netErr, "pausing": pauseErr} {
		if fault.KindOf(err) != fault.Refused {
			t.Errorf("%s: %v", what, err)
		}
	}
	if agents := list(session.OwnTenant(acme), Filter{}); !slices.Equal(agents, []session.ID{ofAcme}) {
		t.Errorf("the agent sees %q", agents)
	}
}

func TestAVolumeOfAnotherTenantIsAsOneThatDoesNotExist(t *testing.T) {
	f := newFixture(t)
	ctx := context.Background()
	if _, err := f.CreateVolume(ctx, "acme", "data"); err != nil {
		t.Fatal(err)
	}
	mounts := []session.VolumeMount{{Volume: "data", Path: "/data"}}
	if _, err := f.Create(ctx, Request{Tenant: "evil", Volumes: mounts}, nil); fault.KindOf(err) != fault.NotFound {
		t.Errorf("mounting it: %v", err)
	}
	if err := f.DeleteVolume(ctx, "evil", "data"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("deleting it: %v", err)
	}
	if all, err := f.ListVolumes(ctx, "evil"); err != nil || len(all) > 0 {
		t.Errorf("listing: %v, %v", all, err)
	}
	f.create(Request{Tenant: "acme", Volumes: mounts})
	if err := f.DeleteVolume(ctx, "acme", "data"); fault.KindOf(err) != fault.Conflict {
		t.Errorf("deleting one that is used: %v", err)
	}
}

func TestAVolumeIsNotDeletedWhileASandboxWithItIsBeingCreated(t *testing.T) {
	f := newFixture(t)
	ctx := t.Context()
	if _, err := f.CreateVolume(ctx, "acme", "data"); err != nil {
		t.Fatal(err)
	}
	begun, launch := 0, f.Launch
	f.Launch = func(ctx context.Context, l session.Launch, step func(session.Step)) (session.ID, error) {
		begun++ // nothing has a record yet
		if err := f.DeleteVolume(ctx, "acme", "data"); fault.KindOf(err) != fault.Conflict {
			t.Errorf("deleting it: %v", err)
		}
		if begun == 1 {
			return "", errors.New("no image")
		}
		return launch(ctx, l, step)
	}
	request := Request{Tenant: "acme", Volumes: []session.VolumeMount{{Volume: "data", Path: "/data"}}}
	if _, err := f.Create(ctx, request, nil); err == nil {
		t.Error("the launch does not fail")
	}
	made, err := f.Create(ctx, request, nil)
	if err != nil || begun != 2 {
		t.Fatalf("%v after %d launches", err, begun)
	}
	if err := f.DeleteVolume(ctx, "acme", "data"); err == nil || !strings.Contains(err.Error(), string(made.ID)) {
		t.Errorf("deleting it afterwards: %v", err)
	}
}

func TestPagesShowEachSandboxOnceNewestFirst(t *testing.T) {
	f := newFixture(t)
	ctx := context.Background()
	for i := range 7 {
		f.create(Request{Tenant: "acme", Labels: session.Labels{Name: fmt.Sprint(i), Metadata: map[string]string{"odd": fmt.Sprint(i % 2)}}})
		f.create(Request{Tenant: "other"})
	}
	var names []string
	for token := ""; ; {
		page, err := f.List(ctx, "acme", Filter{}, 3, token)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range page.Sandboxes {
			names = append(names, s.Name)
		}
		if token = page.Next; token == "" {
			break
		}
		f.create(Request{Tenant: "acme", Labels: session.Labels{Name: "late"}})
	}
	if got := strings.Join(names, ""); got != "6543210" {
		t.Errorf("the pages show %s", got)
	}
	for filter, want := range map[*Filter]int{
		{Metadata: map[string]string{"odd": "1"}}: 3, {Name: "4"}: 1, {States: []State{Running}}: 9, {States: []State{Paused, Ended}}: 0,
		{Template: "code"}: 9, {Template: "codex"}: 0, {Metadata: map[string]string{"missing": ""}}: 0,
	} {
		if page, err := f.List(ctx, "acme", *filter, 0, ""); err != nil || len(page.Sandboxes) != want {
			t.Errorf("%+v selects %d, want %d (%v)", *filter, len(page.Sandboxes), want, err)
		}
	}
	for _, token := range []string{"x", "!", "Li4vLi4v"} {
		if _, err := f.List(ctx, "acme", Filter{}, 0, token); fault.KindOf(err) != fault.Usage {
			t.Errorf("the token %q: %v", token, err)
		}
	}
}

// claimAll provides a warm sandbox for every launch.
type claimAll struct{ id session.ID }

func (c claimAll) Claim(context.Context, session.Launch) (session.ID, bool) { return c.id, c.id != "" }

func TestAWarmSandboxIsUsedIfThereIsOne(t *testing.T) {
	f := newFixture(t)
	warm := f.put(session.Spec{Agent: session.SandboxAgent, Sandbox: &session.SandboxSpec{Tenant: "acme"}})
	f.Warm = claimAll{warm}
	made, err := f.Create(context.Background(), Request{Tenant: "acme"}, nil)
	if err != nil || made.ID != warm || len(f.launched) > 0 {
		t.Errorf("got %s, %v, after %d starts", made.ID, err, len(f.launched))
	}
	f.Warm = claimAll{}
	if made, err = f.Create(context.Background(), Request{Tenant: "acme"}, nil); err != nil || made.ID == warm || len(f.launched) != 1 {
		t.Errorf("without one: %s, %v, after %d starts", made.ID, err, len(f.launched))
	}
}

func TestAStartEndsWithItsProcessAndItsIDIsRecorded(t *testing.T) {
	f := newFixture(t)
	var recorded []session.ID
	record := func(_ context.Context, id session.ID) error {
		recorded = append(recorded, id)
		return nil
	}
	launch := f.create(Request{Tenant: "acme", RecordID: record})
	if launch.Client.PID != os.Getpid() || !launch.Client.Alive() {
		t.Errorf("the start is for the process %+v", launch.Client)
	}
	if err := launch.RecordID(t.Context(), "zzzzz-sandbox"); err != nil || len(recorded) != 1 {
		t.Errorf("%q were recorded: %v", recorded, err)
	}
}

func TestTheDecisionAboutAHostIsThatOfTheSandboxesPolicy(t *testing.T) {
	f := newFixture(t)
	made, err := f.Create(t.Context(), Request{Tenant: "acme", Settings: settings(t, "allow=*.good.example,api.example:8443")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	id := string(made.ID)
	for _, c := range []struct {
		host    string
		port    int
		allowed bool
		rule    string
	}{
		{"a.good.example", 443, true, "*.good.example"},
		{"good.example.evil", 443, false, ""},
		{"A.Good.Example", 443, true, "*.good.example"},
		{"api.example", 8443, true, "api.example:8443"},
		{"api.example", 443, false, "api.example:8443"},
		{"127.0.0.1", 443, false, ""},
	} {
		allowed, reason, rule, err := f.Explain(t.Context(), "acme", id, c.host, c.port)
		if allowed != c.allowed || rule != c.rule || reason == "" || err != nil {
			t.Errorf("%s:%d: %v %q %q, %v", c.host, c.port, allowed, reason, rule, err)
		}
	}
	for _, bad := range []struct {
		host string
		port int
	}{{"http://a.example/", 443}, {"", 443}, {"a.example", 0}, {"a.example", 65536}} {
		if _, _, _, err := f.Explain(t.Context(), "acme", id, bad.host, bad.port); fault.KindOf(err) != fault.Usage {
			t.Errorf("%q:%d: %v", bad.host, bad.port, err)
		}
	}
	if _, _, _, err := f.Explain(t.Context(), "evil", id, "a.good.example", 443); fault.KindOf(err) != fault.NotFound {
		t.Errorf("another tenant: %v", err)
	}
}

// supervise answers for a running session, and ends it when that is requested.
func (f *fixture) supervise(id session.ID) {
	f.Helper()
	lock, err := f.store.Lock(id)
	if err != nil {
		f.Fatal(err)
	}
	listener, err := control.Listen(f.store.Dir(id))
	if err != nil {
		f.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/stop" {
			found, err := f.store.Load(id)
			found.State.Phase, found.State.Ended, found.State.Result = session.Ended, time.Now().UTC(), &session.Result{}
			if err = errors.Join(err, f.store.WriteState(id, found.State), lock.Close()); err != nil {
				f.Error(err)
			}
		}
	})}
	go func() { _ = server.Serve(listener) }()
	f.Cleanup(func() { _ = server.Close() })
}

// A caller who has gone does not know of the sandbox.
func TestASandboxWhoseCallerIsGoneWhenItIsStartedIsEnded(t *testing.T) {
	f := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	cold := f.Launch
	var id session.ID
	f.Launch = func(ctx context.Context, launch session.Launch, step func(session.Step)) (_ session.ID, err error) {
		defer cancel()
		id, err = cold(ctx, launch, step)
		f.supervise(id)
		return id, err
	}
	if _, err := f.Create(ctx, Request{Tenant: "acme"}, nil); fault.KindOf(err) != fault.Interrupted {
		t.Errorf("%v", err)
	}
	if found, err := f.Sessions.Load(id); err != nil || found.State.Phase != session.Ended {
		t.Errorf("it is %s, %v", found.State.Phase, err)
	}
}

func TestASandboxWhoseSupervisorHasDiedIsEnded(t *testing.T) {
	f := newFixture(t)
	spec := session.Spec{Agent: session.SandboxAgent, Sandbox: &session.SandboxSpec{Tenant: "acme", Template: "code"}}
	running, starting, unremoved := f.put(spec), f.put(spec), f.put(spec)
	random := make([]byte, 32)
	_, _ = rand.Read(random)
	for id, state := range map[session.ID]session.State{
		starting:  {Phase: session.Preparing},
		unremoved: {Phase: session.Preparing, ContainerID: hex.EncodeToString(random)},
	} {
		if err := f.store.Write(id, session.StateFile, state); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []session.ID{running, starting} {
		if err := f.Destroy(t.Context(), "acme", string(id)); err != nil {
			t.Error(err)
		}
		if found, err := f.Sessions.Load(id); !errors.Is(err, fs.ErrNotExist) && found.State.Phase != session.Ended {
			t.Errorf("%s is %s, %v", id, found.State.Phase, err)
		}
	}
	if err := f.Destroy(t.Context(), "acme", string(unremoved)); err == nil || !strings.HasSuffix(err.Error(), "removed when Docker is back: no container daemon runs") {
		t.Errorf("the container of a sandbox is left: %v", err)
	}
}

func TestADamagedRecordOfAnotherTenantIsAsOneThatDoesNotExist(t *testing.T) {
	f := newFixture(t)
	made, err := f.Create(t.Context(), Request{Tenant: "acme"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.store.Dir(made.ID), session.StateFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, missing := f.Get(t.Context(), "evil", strings.Replace(string(made.ID), "-", "-1", 1))
	if _, err := f.Get(t.Context(), "evil", string(made.ID)); fault.KindOf(err) != fault.NotFound || strings.Contains(err.Error(), f.store.Dir(made.ID)) {
		t.Errorf("%v, and %v for one that does not exist", err, missing)
	}
	if _, err := f.Get(t.Context(), session.LocalTenant, string(made.ID)); err == nil || fault.KindOf(err) == fault.NotFound {
		t.Errorf("the user of the machine does not see the damage: %v", err)
	}
}
