package modelserver

import (
	"strings"

	"aibox/internal/lazyregexp"
	"aibox/netguard/gateway/schema"
)

// SameModel reports whether asked means the session's model own. Names must be equal,
// except for differences that the server or an agent is known to ignore:
//
//   - Ollama: the tag "latest" may be left out, and letters' case does not count. The
//     name goes upstream as the session has it.
//   - Gemini: with or without "models/"; and what Gemini CLI makes of its short names
//     ("pro") and of previews.
//   - Anthropic: what Claude Code makes of its short names ("sonnet"), and names without
//     the "[1m]" that it takes for itself.
func (u Server) SameModel(own, asked string) (name string, ok bool) {
	switch {
	case own == "" || asked == "":
		return "", false
	case own == asked:
		return asked, true
	case u.Kind == OllamaHost:
		return own, sameOllama(own, asked)
	case u.Speaks(schema.Gemini) && strings.TrimPrefix(own, "models/") == strings.TrimPrefix(asked, "models/"):
		return asked, true
	case u.vendor() == "gemini":
		return asked, geminiMeans(strings.TrimPrefix(own, "models/"), strings.TrimPrefix(asked, "models/"))
	case u.Speaks(schema.Anthropic) && strings.TrimSuffix(own, "[1m]") == asked:
		return asked, true
	case u.vendor() == "anthropic":
		return asked, claudeMeans(strings.TrimSuffix(own, "[1m]"), asked)
	}
	return "", false
}

var (
	claudeFamily = lazyregexp.New(`^claude-(?:[0-9][0-9.-]*-)?(sonnet|opus|haiku|fable)(?:-[0-9][0-9-]*)?$`)
	geminiFamily = lazyregexp.New(`^gemini-([0-9]+)(?:\.[0-9]+)?-(pro|flash-lite|flash)((?:-[a-z0-9-]+)?)$`)
)

// claudeMeans reports whether Claude Code may send model for a short name.
func claudeMeans(short, model string) bool {
	parts := claudeFamily.FindStringSubmatch(model)
	switch {
	case parts == nil:
		return false
	case short == "default", short == "best":
		return true
	case short == "opusplan":
		return parts[1] == "opus" || parts[1] == "sonnet"
	default:
		return parts[1] == short
	}
}

// geminiMeans reports whether Gemini CLI may send model for what was chosen: a short
// name, or another minor version of the same model (3.1 for 3).
func geminiMeans(chosen, model string) bool {
	parts := geminiFamily.FindStringSubmatch(model)
	if parts == nil {
		return false
	}
	switch chosen {
	case "auto", "auto-gemini-2.5", "auto-gemini-3":
		return true
	case "pro", "flash", "flash-lite":
		return parts[2] == chosen
	}
	same := geminiFamily.FindStringSubmatch(chosen)
	return same != nil && same[1] == parts[1] && same[2] == parts[2] && same[3] == parts[3]
}
