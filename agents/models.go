package agents

import (
	"fmt"
	"slices"
	"strings"

	"aibox/agents/spec"
)

// Models returns the names of models that an agent with these options may request, each
// once: chosen, the session's model; those that options name; and those that the agent
// selects by itself. An empty chosen is left out. The inference gateway refuses all other
// names.
func Models(agent Agent, chosen string) ([]string, error) {
	options := Options(agent)
	fields, err := spec.Of(options)
	if err != nil {
		return nil, fmt.Errorf("reading the options of %s: %w", agent.Info().Name, err)
	}
	names := []string{chosen}
	for _, field := range fields {
		if field.Type == spec.Model {
			names = append(names, field.Text(options))
		}
	}
	if more, ok := agent.(interface{ ownModels(chosen string) []string }); ok {
		names = append(names, more.ownModels(chosen)...)
	}
	var models []string
	for _, name := range names {
		for name := range strings.SplitSeq(name, ",") { // some options take several
			if name = strings.TrimSpace(name); name != "" && !slices.Contains(models, name) {
				models = append(models, name)
			}
		}
	}
	return models, nil
}

// ownModels returns the fallback models, which are the words of a list.
func (q *Qwen) ownModels(string) []string { return q.FallbackModel }

// ownModels returns the models that settings of Codex name.
func (c *Codex) ownModels(string) []string {
	var models []string
	for _, setting := range c.Config {
		if key, value, _ := strings.Cut(setting, "="); strings.HasSuffix(strings.TrimSpace(key), "model") {
			models = append(models, strings.Trim(strings.TrimSpace(value), `"'`))
		}
	}
	return models
}

// claudeAliases are the short names that Claude Code translates itself, with their models
// (measured with the version in Info). The environment pins them, so that they mean the
// same models in other versions.
var claudeAliases = map[string][]string{
	"default":  {claudeOpus},
	"best":     {claudeOpus},
	"opus":     {claudeOpus},
	"opusplan": {claudeSonnet, claudeOpus},
	"sonnet":   {claudeSonnet},
	"haiku":    {claudeHaiku},
	"fable":    {"claude-fable-5-2"},
}

const (
	claudeOpus   = "claude-opus-5-5"
	claudeSonnet = "claude-sonnet-5-5"
	claudeHaiku  = "claude-haiku-5-5"
)

// longContext selects a longer context in Claude Code; it is not part of the name.
const longContext = "[1m]"

// ownModels resolves aliases, and removes the suffix for a longer context.
func (c *Claude) ownModels(chosen string) []string {
	var models []string
	for _, name := range []string{chosen, c.FallbackModel, c.SmallModel, c.SubagentModel} {
		name = strings.TrimSuffix(name, longContext)
		models = append(models, name)
		models = append(models, claudeAliases[name]...)
	}
	return models
}

// claudePins maps Claude's short names, which its agents and commands may use, to models:
// haiku to small, and the others to the chosen model, unless that is itself a short name.
func claudePins(chosen, small string) []string {
	opus, sonnet := chosen, chosen
	if claudeAliases[strings.TrimSuffix(chosen, longContext)] != nil {
		opus, sonnet = claudeOpus, claudeSonnet
	}
	if claudeAliases[strings.TrimSuffix(small, longContext)] != nil {
		small = claudeAliases[strings.TrimSuffix(small, longContext)][0]
	}
	return []string{
		"ANTHROPIC_DEFAULT_HAIKU_MODEL=" + small,
		"ANTHROPIC_DEFAULT_OPUS_MODEL=" + opus,
		"ANTHROPIC_DEFAULT_SONNET_MODEL=" + sonnet,
	}
}

// geminiOwn are Google's models that Gemini CLI chooses by itself, for summaries and
// searches, and when the chosen one is used up (measured with the version in Info).
var geminiOwn = []string{
	"gemini-2.5-flash", "gemini-2.5-flash-lite", "gemini-3-flash-preview", "gemini-3.1-flash-lite", "gemini-3.1-flash-lite-preview",
	"gemini-3.5-flash", "gemini-3.5-flash-lite", "gemini-3.8-flash",
}

// geminiLarge are the models that Gemini's names for large models also mean.
var geminiLarge = []string{"gemini-2.5-pro", "gemini-3-pro-preview", "gemini-3.1-pro-preview", "gemini-3.1-pro-preview-customtools"}

// geminiAliases are the names that Gemini CLI translates itself.
var geminiAliases = []string{"auto", "auto-gemini-2.5", "auto-gemini-3", "flash", "flash-lite", "pro"}

// ownModels returns the models of Google that it also needs if one of them is chosen.
func (g *GeminiCLI) ownModels(chosen string) []string {
	alias := slices.Contains(geminiAliases, chosen)
	var models []string
	if alias {
		models = append(models, geminiLarge...)
	}
	if alias || strings.HasPrefix(chosen, "gemini") {
		models = append(models, geminiOwn...)
	}
	return models
}
