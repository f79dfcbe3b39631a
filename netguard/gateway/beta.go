package gateway

import (
	"net/http"
	"slices"
	"strings"

	"aibox/internal/lazyregexp"
	"aibox/netguard"
)

// betas returns the values of Anthropic-Beta that pass, without their dates: those that
// agents send, and those that only change how the model answers. None makes the server
// store, fetch or run anything.
func betas() []string {
	return []string{
		"claude-code", "claude-code-side-query", "interleaved-thinking", "redact-thinking", "thinking-token-count", "thinking-display-updates",
		"thinking-resumption", "thinking-binding-controls", "resumption", "context-management", "context-hint", "context-1m", "compact",
		"mid-conversation-tool-changes", "mid-conversation-system", "mid-conversation-system-clear-at", "inline-tools", "tool-provenance",
		"advanced-tool-use", "tool-search-tool", "tool-examples", "token-efficient-tools", "fine-grained-tool-streaming", "structured-outputs",
		"effort", "task-budgets", "per-turn-control", "timing", "fast-mode", "afk-mode", "auto-mode-classifier", "dangerous-tool-use",
		"prompt-caching", "prompt-caching-scope", "prompt-caching-evict", "extended-cache-ttl", "cache-diagnosis", "cache-keepalive",
		"token-counting", "output-128k", "max-tokens-3-5-sonnet", "pdfs", "search-results",
	}
}

// toolBetas are the values that belong to a server-side tool.
var toolBetas = map[string]netguard.ServerTool{
	"web-search": netguard.WebSearch, "web-search-results-only": netguard.WebSearch, "web-fetch": netguard.WebFetch,
	"code-execution": netguard.CodeExecution, "mcp-client": netguard.MCP, "computer-use": netguard.ComputerUse,
}

// betasLimit bounds the values of Anthropic-Beta that pass together, in bytes. Their dates can be any.
const betasLimit = 2 << 10

var betaDate = lazyregexp.New(`-20[0-9]{2}-?[0-9]{2}-?[0-9]{2}$`)

// betaHeader returns the header that selects beta features of a server, with the values
// that pass, and the values that are left out.
func betaHeader(header http.Header, open []netguard.ServerTool) (name, value string, leftOut []string) {
	var pass []string
	var size int
	for _, name := range []string{"Anthropic-Beta", "Openai-Beta"} {
		for _, values := range header[name] {
			for one := range strings.SplitSeq(values, ",") {
				one = strings.TrimSpace(one)
				switch {
				case one == "" || slices.Contains(pass, one):
				case name == "Anthropic-Beta" && size+len(one) <= betasLimit && passesBeta(one, open), name == "Openai-Beta" && one == "responses=experimental":
					pass = append(pass, one)
					size += len(one)
				default:
					leftOut = append(leftOut, strings.ToLower(name)+"="+truncate(one, 64))
				}
			}
		}
		if len(pass) > 0 {
			return name, strings.Join(pass, ","), leftOut
		}
	}
	return "", "", leftOut
}

func passesBeta(value string, open []netguard.ServerTool) bool {
	name := betaDate.ReplaceAllString(value, "")
	if name == value {
		return false // every value has a date
	}
	tool, ok := toolBetas[name]
	return slices.Contains(betas(), name) || ok && slices.Contains(open, tool)
}
