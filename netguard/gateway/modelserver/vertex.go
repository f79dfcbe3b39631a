package modelserver

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"aibox/netguard/gateway/schema"
)

// vertex is Google's Vertex AI: Gemini, and the models of Anthropic. Its tokens last an
// hour, and come from gcloud unless the settings name another command.
// https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference
// https://docs.anthropic.com/en/api/claude-on-vertex-ai
type vertex struct{ project, region string }

// vertexLifetime is how long a token of gcloud is used. gcloud may print a token that
// expires within minutes, so a refused one is renewed earlier.
const vertexLifetime = 45 * time.Minute

func (p Provider) vertex(env func(string) (string, bool)) (Server, []string, error) {
	project := firstOf(p.Project, env, "GOOGLE_CLOUD_PROJECT", "ANTHROPIC_VERTEX_PROJECT_ID")
	region := firstOf(p.Region, env, "GOOGLE_CLOUD_LOCATION", "CLOUD_ML_REGION")
	if region == "" {
		region = "global"
	}
	if err := p.checkPlace("project", project, "export GOOGLE_CLOUD_PROJECT=…", "or set project under [providers."+p.Name+"]"); err != nil {
		return Server{}, nil, err
	}
	if err := p.checkPlace("region", region, "set region under [providers."+p.Name+"], such as europe-west1 or global"); err != nil {
		return Server{}, nil, err
	}
	address := p.URL
	if address == "" {
		address = "https://" + vertexHost(region)
	}
	root, err := parseRoot(address)
	if err != nil {
		return Server{}, nil, err
	}
	u := Server{
		Kind: Hosted, URL: root, Dialects: []schema.Dialect{schema.Gemini, schema.Anthropic}, cloud: vertex{project, region},
		keys: newKeySource(commandKey{[]string{"gcloud", "auth", "print-access-token"}, vertexLifetime}.load), keyPlace: "the output of gcloud",
	}
	return u, nil, nil
}

// vertexHost follows https://cloud.google.com/vertex-ai/docs/general/locations.
func vertexHost(region string) string {
	switch region {
	case "global":
		return "aiplatform.googleapis.com"
	case "us", "eu":
		return "aiplatform." + region + ".rep.googleapis.com"
	default:
		return region + "-aiplatform.googleapis.com"
	}
}

func (v vertex) route(c Call, path string) (string, url.Values, bool) {
	publishers := "/v1/projects/" + v.project + "/locations/" + v.region + "/publishers"
	if c.Dialect == schema.Gemini {
		_, call, ok := strings.Cut(path, "/models/")
		model, method, named := strings.Cut(call, ":")
		switch method {
		case "generateContent", "streamGenerateContent", "countTokens":
		default:
			ok = false
		}
		return publishers + "/google/models/" + call, nil, ok && named && isSegment(model)
	}
	call := c.Model + ":rawPredict"
	switch {
	case path == "/v1/messages/count_tokens":
		call = "count-tokens:rawPredict"
	case path != "/v1/messages" || !isSegment(c.Model):
		return "", nil, false
	case c.Streams:
		call = c.Model + ":streamRawPredict"
	}
	return publishers + "/anthropic/models/" + call, nil, true
}

func (vertex) authorize(r *http.Request, _ Call, credential Credential) error {
	r.Header.Del("Anthropic-Version") // it is in the body
	r.Header.Set("Authorization", "Bearer "+credential.Key.Reveal())
	return nil
}

func (vertex) dialects(model string) []schema.Dialect {
	if strings.HasPrefix(model, "claude") {
		return []schema.Dialect{schema.Anthropic}
	}
	return []schema.Dialect{schema.Gemini}
}
