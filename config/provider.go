package config

import (
	"slices"
	"strings"
	"time"

	"aibox/agents/spec"
)

// Provider has the settings under [providers.NAME]: a model server that --inference NAME
// selects. Only the user can set them. They hold no key, only where it is.
type Provider struct {
	Kind        string        `label:"Kind" help:"What the server is; compatible for any URL" choices:"compatible anthropic openai gemini openrouter azure vertex bedrock"`
	URL         string        `label:"URL" help:"The server's address, such as https://llm.example.org/v1"`
	Dialect     []string      `label:"Dialect" help:"The APIs that the server speaks" choices:"openai anthropic gemini"`
	Region      string        `label:"Region" help:"The region of Bedrock or Vertex AI"`
	Project     string        `label:"Project" help:"The project of Vertex AI"`
	APIVersion  string        `label:"API version" help:"The api-version of Azure; empty for its v1 API"`
	KeyEnv      string        `label:"Key variable" help:"The environment variable with the key"`
	KeyFile     string        `label:"Key file" help:"The file with the key, which only you can read (mode 0600)"`
	KeyCommand  string        `label:"Key command" help:"The command that prints the key, such as \"pass show work/key\"; no shell runs it"`
	KeyLifetime time.Duration `label:"Key lifetime" help:"Run the key command again after this time; with 0, only when the server refuses the key" min:"0s"`
}

// providersTable is the table above all [providers.NAME].
const providersTable = "providers"

// namesUnder returns the names of the tables under a table of a document, sorted.
func namesUnder(d *Document, table string) []string {
	if d == nil {
		return nil
	}
	var names []string
	under, _ := d.tree[table].(map[string]any)
	for name, value := range under {
		if _, ok := value.(map[string]any); ok && !strings.Contains(name, ".") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// providerSections returns the tables of providers with their settings.
func providerSections(names []string) ([]*section, error) {
	var all []*section
	for _, name := range names {
		s := &section{name: providersTable + "." + name, defaults: new(Provider)}
		var err error
		if s.fields, err = spec.Of(s.defaults); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}
