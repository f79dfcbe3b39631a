package agents

import "time"

// MCPServer is a server of the Model Context Protocol that the agent can use, over streamable
// HTTP.
type MCPServer struct {
	Name string // of letters, digits, hyphens and underscores
	URL  string // without a credential
}

// mcpServers returns the servers as a JSON object, whose values make returns.
func (t Task) mcpServers(make func(MCPServer) map[string]any) map[string]any {
	servers := map[string]any{}
	for _, server := range t.MCP {
		servers[server.Name] = make(server)
	}
	return servers
}

// httpServer describes a server to Claude Code, which would otherwise hide its tools until the
// model searches for them.
func httpServer(s MCPServer) map[string]any {
	return map[string]any{"type": "http", "url": s.URL, "alwaysLoad": true}
}

// trustedServer describes a server to Gemini CLI and Qwen Code. Its tools need no
// permission.
func trustedServer(s MCPServer) map[string]any {
	return map[string]any{"httpUrl": s.URL, "trust": true, "timeout": mcpTimeout.Milliseconds()}
}

// mcpTimeout is how long a call of a tool may take, for agents that would give up earlier.
const mcpTimeout = 11 * time.Minute

// mcpFile is a file with the servers.
const mcpFile = "/run/aibox/mcp.json"
