package templates

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	"aibox/agents"
	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/aibox/v1/aiboxv1connect"
	"aibox/api/auth"
	"aibox/app/sandbox"
	"aibox/app/template"
	"aibox/session"
)

// world is the service with folders of the test.
type world struct {
	*testing.T
	dir    string
	built  []string // the templates that were built
	broken error    // the result of builds
}

func (w *world) store(tenant session.Tenant) (template.Store, error) {
	return template.Store{Dir: filepath.Join(w.dir, string(tenant))}, nil
}

// client returns a client of a tenant with some rights.
func (w *world) client(tenant session.Tenant, rights ...aiboxv1.Right) aiboxv1connect.TemplatesClient {
	path, handler := aiboxv1connect.NewTemplatesHandler(&Handler{
		Set: func(tenant session.Tenant) template.Set {
			store, _ := w.store(tenant)
			return store.AddTo(template.NewSet(agents.Builtin()))
		},
		Store:         w.store,
		Images:        func(context.Context) (map[string]Image, error) { return map[string]Image{"code": {"sha256:1", 7}}, nil },
		CheckDefaults: sandbox.CheckTemplate,
		Build: func(_ context.Context, t template.Template, log func(string)) error {
			w.built = append(w.built, t.Name)
			log("RUN true")
			return w.broken
		},
	})
	mux := http.NewServeMux()
	mux.Handle(path, http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(out, r.WithContext(auth.With(r.Context(), auth.Caller{Tenant: tenant, Rights: rights})))
	}))
	server := httptest.NewServer(mux)
	w.Cleanup(server.Close)
	return aiboxv1connect.NewTemplatesClient(server.Client(), server.URL)
}

// create creates a template, and returns the log and the template.
func create(t *testing.T, c aiboxv1connect.TemplatesClient, m *aiboxv1.CreateTemplateRequest) (log []string, made *aiboxv1.Template, err error) {
	t.Helper()
	stream, err := c.Create(t.Context(), connect.NewRequest(m))
	if err != nil {
		return nil, nil, err
	}
	defer stream.Close()
	for stream.Receive() {
		if line := stream.Msg().GetLog(); line != "" {
			log = append(log, line)
		}
		made = stream.Msg().GetTemplate()
	}
	return log, made, stream.Err()
}

func names(t *testing.T, c aiboxv1connect.TemplatesClient) (all []string) {
	t.Helper()
	list, err := c.List(t.Context(), connect.NewRequest(&aiboxv1.ListTemplatesRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range list.Msg.GetTemplates() {
		all = append(all, one.GetName())
	}
	return all
}

func TestATemplateBelongsToItsTenant(t *testing.T) {
	w := &world{T: t, dir: t.TempDir()}
	a, b := w.client("a"), w.client("b")
	memory := int64(512)
	_, made, err := create(t, a, &aiboxv1.CreateTemplateRequest{
		Name: "data", Description: "Data", Defaults: &aiboxv1.TemplateDefaults{
			Env: map[string]string{"A": "1"}, Timeout: durationpb.New(time.Minute), Limits: &aiboxv1.Limits{MemoryMib: &memory}, Start: []string{"server", "--x"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := a.Get(t.Context(), connect.NewRequest(&aiboxv1.GetTemplateRequest{Name: "data"}))
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []*aiboxv1.Template{made, got.Msg} {
		d := one.GetDefaults()
		if one.GetBuiltin() || !one.GetBuilt() || one.GetSizeBytes() != 7 || one.GetCreateTime() == nil || one.GetDescription() != "Data" ||
			d.GetEnv()["A"] != "1" || d.GetTimeout().AsDuration() != time.Minute || d.GetLimits().GetMemoryMib() != 512 || d.Limits.Cpus != nil ||
			!slices.Equal(d.GetStart(), []string{"server", "--x"}) || d.GetNetwork() != nil {
			t.Errorf("%v", one)
		}
	}
	if all := names(t, a); !slices.Contains(all, "data") || !slices.Contains(all, "code") || !slices.IsSorted(all) {
		t.Errorf("its tenant sees %q", all)
	}
	if all := names(t, b); slices.Contains(all, "data") || !slices.Contains(all, "code") {
		t.Errorf("another tenant sees %q", all)
	}
	_, foreign := b.Get(t.Context(), connect.NewRequest(&aiboxv1.GetTemplateRequest{Name: "data"}))
	_, missing := b.Get(t.Context(), connect.NewRequest(&aiboxv1.GetTemplateRequest{Name: "date"}))
	if foreign == nil || missing == nil || len(foreign.Error()) != len(missing.Error()) {
		t.Errorf("another tenant's: %v, missing: %v", foreign, missing)
	}
	if _, err := b.Delete(t.Context(), connect.NewRequest(&aiboxv1.DeleteTemplateRequest{Name: "data"})); err == nil {
		t.Error("another tenant deletes it")
	}
	if _, made, err := create(t, b, &aiboxv1.CreateTemplateRequest{Name: "data", Description: "Other"}); err != nil || made.GetDescription() != "Other" {
		t.Errorf("another tenant cannot use the name: %v", err)
	}
	if _, made, err := create(t, a, &aiboxv1.CreateTemplateRequest{Name: "data", Description: "New"}); err != nil || made.GetDescription() != "New" {
		t.Errorf("it is not replaced: %v, %v", made, err)
	}
	if _, err := a.Delete(t.Context(), connect.NewRequest(&aiboxv1.DeleteTemplateRequest{Name: "data"})); err != nil || slices.Contains(names(t, a), "data") {
		t.Errorf("it is not deleted: %v", err)
	}
	if !slices.Contains(names(t, b), "data") {
		t.Error("the other tenant's is gone, too")
	}
}

func TestOnlyTheMachinesUserBuildsImages(t *testing.T) {
	w := &world{T: t, dir: t.TempDir()}
	local, other := w.client(session.LocalTenant), w.client("a")
	m := &aiboxv1.CreateTemplateRequest{Name: "data", Dockerfile: "RUN true"}
	if _, _, err := create(t, other, m); err == nil || len(w.built) > 0 || slices.Contains(names(t, other), "data") {
		t.Errorf("another tenant builds %q: %v", w.built, err)
	}
	w.broken = errors.New("no network")
	if log, _, err := create(t, local, m); err == nil || slices.Contains(names(t, local), "data") || len(log) == 0 {
		t.Errorf("a template that was not built is stored: %v", err)
	}
	w.broken = nil
	log, made, err := create(t, local, m)
	if err != nil || !slices.Equal(log, []string{"RUN true"}) || made.GetName() != "data" {
		t.Errorf("%q, %v, %v", log, made, err)
	}
	store, _ := w.store(session.LocalTenant)
	recipes, below := store.AddTo(template.NewSet(agents.Builtin())).Recipes()
	if recipes["data"] != "ARG BASE\nFROM ${BASE}\nRUN true\n" || below["data"] != "code" {
		t.Errorf("%q on %q", recipes, below)
	}
}

func TestABuildThatPrintsNothingSendsKeepAliveEvents(t *testing.T) {
	seen := make(chan struct{})
	h := &Handler{Alive: time.Millisecond, Build: func(ctx context.Context, _ template.Template, log func(string)) error {
		log("RUN make")
		select {
		case <-seen:
		case <-ctx.Done():
			return ctx.Err()
		}
		log("done")
		return nil
	}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var log []string
	received := sync.OnceFunc(func() { close(seen) })
	err := h.build(ctx, template.Template{}, func(e *aiboxv1.CreateTemplateEvent) error {
		if e.GetEvent() == nil {
			received()
		} else {
			log = append(log, e.GetLog())
		}
		return nil
	})
	if err != nil || !slices.Equal(log, []string{"RUN make", "done"}) {
		t.Errorf("%v, %q", err, log)
	}
}

func TestABuildEndsWithItsClient(t *testing.T) {
	h := &Handler{Build: func(ctx context.Context, _ template.Template, log func(string)) error {
		for ctx.Err() == nil {
			log("RUN make")
		}
		return ctx.Err()
	}}
	gone := errors.New("gone")
	if err := h.build(t.Context(), template.Template{}, func(*aiboxv1.CreateTemplateEvent) error { return gone }); !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
}

// In another goroutine it would end the whole server.
func TestAPanicInABuildReachesTheHandler(t *testing.T) {
	h := &Handler{Build: func(context.Context, template.Template, func(string)) error { panic("broken") }}
	defer func() {
		if got := recover(); got != "broken" {
			t.Errorf("%v", got)
		}
	}()
	_ = h.build(t.Context(), template.Template{}, func(*aiboxv1.CreateTemplateEvent) error { return nil })
	t.Error("there was no panic")
}

func TestBadTemplatesAreRefusedAndNothingIsStored(t *testing.T) {
	w := &world{T: t, dir: t.TempDir()}
	local := w.client(session.LocalTenant)
	network := &aiboxv1.TemplateDefaults{Network: &aiboxv1.NetworkPolicy{Mode: aiboxv1.NetworkMode_NETWORK_MODE_PUBLIC}}
	for name, m := range map[string]*aiboxv1.CreateTemplateRequest{
		"a built-in name": {Name: "code"}, "an agent's name": {Name: "codex"}, "a path": {Name: "../x"}, "no name": {},
		"an unknown base": {Name: "x", Base: "debian"}, "the base of an agent": {Name: "x", Base: "codex"}, "packages": {Name: "x", AptPackages: []string{"jq"}},
		"a loader variable":              {Name: "x", Defaults: &aiboxv1.TemplateDefaults{Env: map[string]string{"LD_PRELOAD": "/x"}}},
		"a network without its right":    {Name: "x", Defaults: network},
		"a negative time":                {Name: "x", Defaults: &aiboxv1.TemplateDefaults{Timeout: durationpb.New(-1)}},
		"a NUL character":                {Name: "x", Dockerfile: "RUN \x00"},
		"a program that is no program":   {Name: "x", Defaults: &aiboxv1.TemplateDefaults{Start: []string{"a b"}}},
		"a list without a way out":       {Name: "x", Defaults: &aiboxv1.TemplateDefaults{Network: &aiboxv1.NetworkPolicy{Mode: aiboxv1.NetworkMode_NETWORK_MODE_NONE, Allow: &aiboxv1.HostList{}}}},
		"an unknown mode of the network": {Name: "x", Defaults: &aiboxv1.TemplateDefaults{Network: &aiboxv1.NetworkPolicy{Mode: 77}}},
	} {
		if _, _, err := create(t, local, m); err == nil {
			t.Errorf("%s: it was created", name)
		}
	}
	if len(w.built) > 0 || slices.Contains(names(t, local), "x") {
		t.Errorf("%q were built, and %q are there", w.built, names(t, local))
	}
	if _, _, err := create(t, w.client(session.LocalTenant, aiboxv1.Right_RIGHT_NETWORK), &aiboxv1.CreateTemplateRequest{Name: "x", Defaults: network}); err != nil {
		t.Errorf("with the right network: %v", err)
	}
	if _, err := local.Delete(t.Context(), connect.NewRequest(&aiboxv1.DeleteTemplateRequest{Name: "code"})); err == nil {
		t.Error("a built-in one was deleted")
	}
	if _, err := w.client("").List(t.Context(), connect.NewRequest(&aiboxv1.ListTemplatesRequest{})); err == nil {
		t.Error("a call without a tenant has an answer")
	}
}

// A new field of a template's defaults has to be added here.
func TestOnlyTheNetworkOfATemplateNeedsTheRightNetwork(t *testing.T) {
	w := &world{T: t, dir: t.TempDir()}
	local := w.client(session.LocalTenant)
	tried := &aiboxv1.TemplateDefaults{
		Env: map[string]string{"K": "v"}, Timeout: durationpb.New(time.Minute), IdleTimeout: durationpb.New(time.Minute),
		Limits: &aiboxv1.Limits{}, Network: &aiboxv1.NetworkPolicy{}, Start: []string{"true"},
	}
	fields := tried.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		if !tried.ProtoReflect().Has(field) {
			t.Errorf("%s is not tried", field.Name())
			continue
		}
		defaults := &aiboxv1.TemplateDefaults{}
		defaults.ProtoReflect().Set(field, tried.ProtoReflect().Get(field))
		_, _, err := create(t, local, &aiboxv1.CreateTemplateRequest{Name: "x", Defaults: defaults})
		if refused := err != nil && strings.Contains(err.Error(), "the right network"); refused != (field.Name() == "network") {
			t.Errorf("%s: %v", field.Name(), err)
		}
	}
}
