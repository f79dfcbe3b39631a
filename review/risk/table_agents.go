package risk

var agentRules = []rule{
	{
		name: "agent-instructions", title: "instructions to coding agents", severity: Medium,
		runs: "whatever the text tells the agent to do", when: "when a coding agent starts in the folder", by: "Codex, Claude Code, Gemini, OpenCode, Cursor, Copilot and others",
		files: []string{
			"agents.md", "agents.*.md", "agent.md", "claude.md", "claude.*.md", "gemini.md", "qwen.md", "crush.md", "crush.local.md", "opencode.md", "codex.md",
			"warp.md", "conventions.md", "replit.md", "skill.md", ".cursorrules", ".windsurfrules", ".clinerules", ".clinerules/**", ".roorules*", ".roomodes", ".kilocodemodes", ".continuerules", ".goosehints",
			".augment-guidelines", ".rules", "copilot-instructions.md", ".github/instructions/**", ".github/prompts/**", ".github/chatmodes/**",
			".github/agents/**", ".github/skills/**", "*.instructions.md", "*.prompt.md", "*.chatmode.md", "*.mdc", ".aider.conventions.md",
		},
	},
	{
		name: "agent-settings", title: "settings of a coding agent", severity: High,
		runs: "its hooks, helpers, plugins and servers, and what it may do without asking", when: "when the agent starts in the folder", by: "the agent",
		files: []string{
			".claude/**", ".claude.json", ".claude-plugin/**", ".codex/**", ".gemini/**", ".qwen/**", ".opencode/**", "opencode.json*", ".opencode.json*", ".crush/**", "crush.json", ".crush.json",
			".aider*", ".aider/**", ".cursor/**", ".cursorignore", ".windsurf/**", ".codeium/**", ".cline/**", ".roo/**", ".kilocode/**", ".continue/**", ".continuerc.json", ".copilot/**", ".github/hooks/**", ".github/copilot/**", ".github/plugin/**", ".github/lsp.json",
			".amp/**", ".augment/**", ".goose/**", ".junie/**", ".kiro/**", ".trae/**", ".devin/**", ".openhands/**", ".agents/**", ".agent/**", ".factory/**", ".amazonq/**",
			".tabnine/**", ".sourcegraph/**", ".warp/**", ".aiassistant/**", ".pearai/**", ".void/**", ".zencoder/**", ".rovodev/**", ".qoder/**", ".codebuddy/**", ".iflow/**", ".grok/**", ".kimi/**", ".serena/**", ".vibe/**", ".pi/**", ".gptme.toml", "gptme.toml",
		},
	},
	{
		name: "mcp-servers", title: "tool servers for coding agents (MCP)", severity: High,
		runs: "the commands in it, as servers", when: "when a coding agent or an editor starts in the folder", by: "the agent or the editor",
		files: []string{".mcp.json", "mcp.json", ".mcp/**", "mcp_settings.json", "mcp-config.json", "mcp_config.json"},
	},
	{
		name: "aibox-settings", title: "settings of aibox for this repository", severity: Medium,
		runs: "nothing by itself; it changes the instructions, hidden files, network and limits of later sessions", when: "on the next aibox run", by: "aibox",
		files: []string{".aibox.toml", ".aibox/**"},
	},
}
