package sandbox

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"aibox/app/template"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/session"
)

// ownTemplate is a template with settings.
type ownTemplate struct {
	templateFixture
	defaults config.RunOverrides
}

func (o ownTemplate) Template(ctx context.Context, tenant session.Tenant, name string) (template.Template, error) {
	found, err := o.templateFixture.Template(ctx, tenant, name)
	found.Defaults = o.defaults
	return found, err
}

func TestARequestComesBeforeItsTemplateAndATemplateBeforeTheTenantsDefaults(t *testing.T) {
	f := newFixture(t)
	f.Templates = ownTemplate{defaults: settings(t, "memory=1024", "pids=200")}
	f.defaults = settings(t, "memory=512", "pids=100", "cpus=2")
	spec := f.create(Request{Tenant: "acme", Settings: settings(t, "pids=300")}).Spec
	if spec.Memory != 1024 || spec.Pids != 300 || spec.CPUs.String() != "2" {
		t.Errorf("%d MiB, %d processes, %s processors", spec.Memory, spec.Pids, spec.CPUs)
	}
}

func TestNothingTakesADenialOfTheTenantsDefaultsAway(t *testing.T) {
	f := newFixture(t)
	f.Templates = ownTemplate{defaults: settings(t, "deny=template.example")}
	f.defaults = settings(t, "network=public", "deny=tenant.example")
	for name, given := range map[string]config.RunOverrides{
		"nothing":      {},
		"another list": settings(t, "deny=a.example"),
		"an empty one": settings(t, "deny="),
	} {
		spec := f.create(Request{Tenant: "acme", Settings: given}).Spec
		if !slices.Contains(spec.Deny, "tenant.example") || !slices.Contains(spec.Deny, "template.example") || slices.Contains(spec.Deny, "a.example") != given.Has("deny") {
			t.Errorf("%s: %q", name, spec.Deny)
		}
	}
}

func TestNothingIsCreatedIfTheTenantsDefaultsAreUnknown(t *testing.T) {
	f := newFixture(t)
	unreadable := errors.New("unreadable")
	f.Defaults = func(context.Context, session.Tenant) (config.RunOverrides, error) {
		return config.RunOverrides{}, unreadable
	}
	if _, err := f.Create(t.Context(), Request{Tenant: "acme"}, nil); !errors.Is(err, unreadable) || len(f.launched) > 0 {
		t.Errorf("%d sandboxes were started: %v", len(f.launched), err)
	}
}

func TestASandboxCanHaveLessNetworkThanTheTenantsDefaults(t *testing.T) {
	f := newFixture(t)
	f.defaults = settings(t, "allow=tenant.example", "egress-upload=5")
	if spec := f.create(Request{Tenant: "acme", Settings: settings(t, "network=none")}).Spec; spec.Network != "none" {
		t.Error(spec.Network)
	}
}

func TestDefaultsWithWhichNoSandboxCouldBeCreatedAreRefused(t *testing.T) {
	f := newFixture(t)
	for _, pairs := range [][]string{
		{"memory=1"},
		{"network=none", "allow=a.example"},
		{"network=none", "egress-upload=5"},
		{"network=local", "deny=a.example"},
		{"image=x"},
		{"inspect=a.example"},
		{"verify=true"},
		{"env=HOME"},
		{"allow=not a host"},
	} {
		for _, tenant := range []session.Tenant{"acme", session.LocalTenant} {
			if err := f.CheckDefaults(t.Context(), tenant, settings(t, pairs...)); fault.KindOf(err) != fault.Usage {
				t.Errorf("%s, %q: %v", tenant, pairs, err)
			}
		}
	}
	for _, pairs := range [][]string{{}, {"allow=a.example", "deny=b.example", "memory=512"}, {"timeout=5m", "disk=100"}, {"network=none"}} {
		if err := f.CheckDefaults(t.Context(), "acme", settings(t, pairs...)); err != nil {
			t.Errorf("%q: %v", pairs, err)
		}
	}
}

func TestDefaultsOfATemplateThatContradictEachOtherAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"network=none allow=a.example": "an allow list has no effect", "network=none deny=a.example": "a deny list has no effect",
		"network=none egress-upload=1": "a limit of traffic has no effect", "network=none model=m": "reaches no model",
		"": "", "deny=a.example": "", "allow=a.example": "", "network=public deny=a.example": "", "network=none memory=100": "", "model=m": "",
	} {
		var defaults config.RunOverrides
		for _, word := range strings.Fields(text) {
			key, value, _ := strings.Cut(word, "=")
			if err := defaults.Set(key, value); err != nil {
				t.Fatal(err)
			}
		}
		if err := CheckTemplate(defaults); (err == nil) != (want == "") || err != nil && (fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
