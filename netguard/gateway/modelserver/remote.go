package modelserver

import (
	"net/url"
	"strings"
)

// ollamaCloud is the host of Ollama's own cloud.
const ollamaCloud = "ollama.com"

// RemoteHost returns the host that a server on this machine or its network forwards a
// model's requests to, so that prompts leave the machine or the network; empty if the model
// runs there, as far as its name and the server's list show. It is escaped.
func (u Server) RemoteHost(model Model) string {
	if u.Kind != OllamaHost {
		return ""
	}
	if hostedByOllama(model.ID) {
		return ollamaCloud
	}
	return model.Remote
}

// remoteHost returns the host in Ollama's description of a model that it forwards, escaped.
func remoteHost(answer string) string {
	if answer == "" {
		return ""
	}
	if address, err := url.Parse(answer); err == nil && address.Hostname() != "" {
		answer = address.Hostname()
	}
	return printable(answer[:min(len(answer), maxModelID)])
}

// Searches reports whether a model searches the web by itself, without any tool that the
// gateway could refuse. It recognizes such models of OpenRouter and OpenAI by their names,
// and none of other vendors.
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

// searchesAtOpenAI follows https://platform.openai.com/docs/models.
func searchesAtOpenAI(model string) bool {
	for _, part := range []string{"-search-preview", "-search-api", "-deep-research"} {
		if strings.Contains(model, part) {
			return true
		}
	}
	return false
}
