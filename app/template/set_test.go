package template

import (
	"slices"
	"strings"
	"testing"

	"aibox/agents"
	"aibox/bakery"
	"aibox/dockerfiles"
	"aibox/internal/fault"
)

func TestEveryBuiltInTemplateHasARecipe(t *testing.T) {
	builder, err := bakery.New(nil, dockerfiles.FS, bakery.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range NewSet(agents.Builtin()).List() {
		if !slices.Contains(builder.Names(), found.Image.Recipe) {
			t.Errorf("%s: there is no recipe %q", found.Name, found.Image.Recipe)
		}
		if found.Summary == "" || !strings.HasPrefix(found.Workdir, "/") || found.Source == "" {
			t.Errorf("%+v is not complete", found)
		}
	}
}

func TestEveryAgentHasATemplate(t *testing.T) {
	set := NewSet(agents.Builtin())
	for _, agent := range agents.Builtin().All() {
		info := agent.Info()
		if found, err := set.Find(info.Name); err != nil || found.Image.Recipe != info.Image || found.Source != Agent {
			t.Errorf("%s: %+v, %v", info.Name, found, err)
		}
	}
}

func TestUnknownTemplateIsNotFound(t *testing.T) {
	_, err := NewSet(agents.Builtin()).Find("cod")
	if fault.KindOf(err) != fault.NotFound || !strings.Contains(err.Error(), `"cod"`) {
		t.Error(err)
	}
}
