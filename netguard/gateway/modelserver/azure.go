package modelserver

import (
	"net/http"
	"net/url"
	"strings"

	"aibox/internal/fault"
	"aibox/netguard/gateway/schema"
)

// azure is Azure OpenAI, and the models of Anthropic in Azure's Foundry. Models are the
// names of deployments.
//
// The v1 API has one path per call, like OpenAI's own, and needs no version. A dated
// version selects the older API with the deployment in the path.
// https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle
// https://learn.microsoft.com/azure/ai-foundry/openai/reference
// https://learn.microsoft.com/azure/ai-foundry/foundry-models/how-to/use-foundry-models-claude
type azure struct{ version string }

// azureCurrent are the values of api-version that the v1 API accepts.
var azureCurrent = map[string]bool{"": true, "v1": true, "preview": true, "latest": true}

func (p Provider) azure(env func(string) (string, bool)) (Server, []string, error) {
	address := firstOf(p.URL, env, "AZURE_OPENAI_ENDPOINT")
	if address == "" {
		return Server{}, nil, fault.New(fault.Environment, "%s needs the URL of your resource", p.Name).
			Hint("export AZURE_OPENAI_ENDPOINT=https://NAME.openai.azure.com").
			Hint("or set url under [providers.%s]", p.Name)
	}
	root, err := parseRoot(address)
	if err != nil {
		return Server{}, nil, err
	}
	for _, tail := range []string{"/openai", "/anthropic"} {
		root.Path = strings.TrimSuffix(root.Path, tail)
	}
	version := firstOf(p.APIVersion, env, "AZURE_OPENAI_API_VERSION", "OPENAI_API_VERSION")
	if version != "" {
		if err := p.checkPlace("api-version", version); err != nil {
			return Server{}, nil, err
		}
	}
	u := Server{Kind: Hosted, URL: root, Dialects: []schema.Dialect{schema.OpenAI}, cloud: azure{version}}
	if len(p.Dialects) > 0 {
		u.Dialects = []schema.Dialect{schema.OpenAI, schema.Anthropic}
	}
	return u, []string{"AZURE_OPENAI_API_KEY"}, nil
}

func (a azure) route(c Call, path string) (string, url.Values, bool) {
	query := url.Values{}
	switch rest, ok := strings.CutPrefix(path, "/v1/"); {
	case c.Dialect == schema.Anthropic:
		return "/anthropic" + path, query, ok && !strings.HasPrefix(rest, "models")
	case azureCurrent[a.version]:
		if a.version != "" {
			query.Set("api-version", a.version)
		}
		return "/openai" + path, query, ok
	default:
		query.Set("api-version", a.version)
		switch rest {
		case "chat/completions", "completions", "embeddings":
			return "/openai/deployments/" + c.Model + "/" + rest, query, ok && isSegment(c.Model)
		}
		return "/openai/" + rest, query, ok
	}
}

// isSegment reports whether a model's name can be one segment of a path.
func isSegment(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\\%?#")
}

// authorize sends a key, or a token of Microsoft Entra, which is a JSON Web Token.
func (azure) authorize(r *http.Request, c Call, credential Credential) error {
	key := credential.Key.Reveal()
	switch {
	case strings.HasPrefix(key, "eyJ") && strings.Count(key, ".") == 2:
		r.Header.Set("Authorization", "Bearer "+key)
	case c.Dialect == schema.Anthropic:
		r.Header.Set("X-Api-Key", key)
	default:
		r.Header.Set("Api-Key", key)
	}
	return nil
}

func (azure) dialects(string) []schema.Dialect {
	return []schema.Dialect{schema.OpenAI, schema.Anthropic}
}
