package modelserver

import (
	"net/url"
	"strings"
)

// ollamaCloud is where Ollama's own cloud runs models.
const ollamaCloud = "ollama.com"

// RemoteHost returns the host that a server on this machine or its network forwards a
// model's requests to, so that prompts leave it; empty when the model runs there, as
// far as its name and the server's list show. It is escaped.
func (u Server) RemoteHost(model Model) string {
	if u.Kind != OllamaHost {
		return ""
	}
	if hostedByOllama(model.ID) {
		return ollamaCloud
	}
	return model.Remote
}

// remoteHost returns the host of what Ollama says about a model that it forwards, escaped.
func remoteHost(answer string) string {
	if answer == "" {
		return ""
	}
	if address, err := url.Parse(answer); err == nil && address.Hostname() != "" {
		answer = address.Hostname()
	}
	return printable(answer[:min(len(answer), maxModelID)])
}

// Searches reports whether a model goes to the web by itself, without any tool that
// the gateway could refuse: names by which OpenRouter and OpenAI sell that. It knows
// no other vendor's.
func (u Server) Searches(model string) bool {
	model = strings.ToLower(model)
	switch u.vendor() {
	case "openrouter":
		family, name, _ := strings.Cut(model, "/")
		return strings.HasSuffix(model, ":online") || family == "perplexity" || searchesAtOpenAI(name)
	case "openai":
		return searchesAtOpenAI(model)
	default:
		return false
	}
}

// searchesAtOpenAI goes by https://platform.openai.com/docs/models.
func searchesAtOpenAI(model string) bool {
	for _, part := range []string{"-search-preview", "-search-api", "-deep-research"} {
		if strings.Contains(model, part) {
			return true
		}
	}
	return false
}
