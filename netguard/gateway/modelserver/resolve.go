package modelserver

import (
	"net/netip"
	"slices"
	"strings"

	"aibox/internal/lazyregexp"
	"aibox/netguard/gateway/price"
	"aibox/netguard/gateway/schema"
)

// Resolve finds the model that the user means by asked in the server's list. known is false
// if the server certainly does not have it. A model that is known but not listed has only
// its id.
//
// How much a list proves depends on the kind of server:
//
//   - scripted: it answers to every name.
//   - Ollama: strict. A name without a tag means ":latest"; the models of Ollama's
//     own cloud ("…-cloud") are there without being listed.
//   - other servers on this machine or its network: strict.
//   - OpenAI: strict; its list is all that the key may use.
//   - Anthropic: an alias of a listed model ("claude-sonnet-4-5" for the dated one,
//     "…-latest") and the short names that Claude Code translates itself ("sonnet").
//   - Gemini: names with or without "models/"; "…-latest", tuned models and the
//     short names that Gemini CLI translates itself ("pro", "flash", "auto").
//   - OpenRouter: a listed model with any variant after it (":free", ":nitro",
//     "@preset/…"), presets, and its names for the latest of a family ("~…").
//   - any other server far away: whatever is asked, since gateways of companies take
//     more names than they list.
//
// A server without a list has every model.
func Resolve(u Server, models []Model, asked string) (model Model, known bool) {
	plain := asked
	if u.Speaks(schema.Gemini) {
		plain = strings.TrimPrefix(asked, "models/")
	}
	for _, model := range models {
		if model.ID == plain || u.Kind == OllamaHost && sameOllama(model.ID, plain) {
			return model, true
		}
	}
	unlisted := Model{ID: plain}
	if models == nil {
		return unlisted, true
	}
	switch u.Kind {
	case Scripted:
		return unlisted, true
	case OllamaHost:
		return unlisted, hostedByOllama(asked)
	case Compatible:
		return unlisted, !u.nearby()
	}
	switch vendor := u.vendor(); vendor {
	case "anthropic":
		return aliasOfAnthropic(models, plain)
	case "gemini":
		_, short := slices.BinarySearch([]string{"auto", "auto-gemini-2.5", "auto-gemini-3", "flash", "flash-lite", "pro"}, plain)
		return unlisted, short || strings.HasSuffix(plain, "-latest") || strings.HasPrefix(plain, "tunedModels/")
	case "openrouter":
		return variantOfOpenRouter(models, plain)
	default:
		return unlisted, vendor != "openai"
	}
}

// vendor returns the name of the vendor's cloud, or "" if u is no cloud.
func (u Server) vendor() string {
	if u.vendorName != "" {
		return u.vendorName
	}
	for _, v := range vendors() {
		if u.Name == v.name || strings.TrimPrefix(v.url, "https://") == u.Base().Host || v.name == "openrouter" && u.Base().Host == "openrouter.ai" {
			return v.name
		}
	}
	return ""
}

// PriceName returns the name under which prices of the server's models are listed: the
// vendor's, or that of the user's own provider; price.Any for a server known only by its
// URL.
func (u Server) PriceName() string {
	switch {
	case u.vendor() != "":
		return u.vendor()
	case u.cloud != nil || providerName.MatchString(u.Name):
		return u.Name
	default:
		return price.Any
	}
}

// Free reports whether using a model costs no money: it runs on a nearby server that
// forwards nothing.
func (u Server) Free(model string) bool {
	return u.Kind == Scripted || u.Kind == OllamaHost && !hostedByOllama(model) && u.nearby()
}

// nearby reports whether the server is on this machine or its own network.
func (u Server) nearby() bool {
	host := u.Base().Hostname()
	if address, err := netip.ParseAddr(host); err == nil {
		return address.IsLoopback() || address.IsPrivate() || address.IsLinkLocalUnicast()
	}
	return !strings.Contains(host, ".") || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".localhost")
}

// sameOllama reports whether two names mean one model: the tag "latest" may be left out,
// and case does not matter.
func sameOllama(a, b string) bool {
	full := func(name string) string {
		if _, base, ok := cutLast(name, "/"); !strings.Contains(base, ":") || !ok && !strings.Contains(name, ":") {
			return name + ":latest"
		}
		return name
	}
	return strings.EqualFold(full(a), full(b))
}

// cutLast cuts text at the last separator; without one, all of text is after.
func cutLast(text, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(text, separator); i >= 0 {
		return text[:i], text[i+len(separator):], true
	}
	return "", text, false
}

// hostedByOllama reports whether the model runs in Ollama's own cloud.
func hostedByOllama(name string) bool {
	return strings.HasSuffix(name, "-cloud") || strings.HasSuffix(name, ":cloud")
}

var (
	dated      = lazyregexp.New(`^-?\d{8}$`)
	claudeName = lazyregexp.New(`^(default|best|opusplan|sonnet|opus|haiku|fable)$`)
)

// aliasOfAnthropic finds a model by its alias. "[1m]", which requests a longer context, is
// not part of the name.
func aliasOfAnthropic(models []Model, asked string) (Model, bool) {
	name := strings.TrimSuffix(asked, "[1m]")
	unlisted := Model{ID: asked}
	if claudeName.MatchString(name) {
		return unlisted, true
	}
	stem := strings.TrimSuffix(name, "-latest")
	first := strings.TrimSuffix(name, "-0") // "claude-sonnet-4-0" is the dated "claude-sonnet-4"
	for _, model := range models {
		rest, ok := strings.CutPrefix(model.ID, stem)
		if since, ok := strings.CutPrefix(model.ID, first); ok && dated.MatchString(since) {
			return Model{ID: asked, Context: model.Context, Limit: model.Limit}, true
		}
		if ok && (rest == "" || dated.MatchString(rest) || stem != name && strings.HasPrefix(rest, "-")) {
			return Model{ID: asked, Context: model.Context, Limit: model.Limit}, true
		}
	}
	return unlisted, false
}

// variantOfOpenRouter finds a model by its name with a variant or preset after it.
func variantOfOpenRouter(models []Model, asked string) (Model, bool) {
	base := asked
	for _, mark := range []string{"@preset/", ":"} {
		base, _, _ = strings.Cut(base, mark)
	}
	for _, model := range models {
		listed, _, _ := strings.Cut(model.ID, ":")
		if base == listed && base != "" {
			return Model{ID: asked, Context: model.Context, Limit: model.Limit}, true
		}
	}
	return Model{ID: asked}, base == "" && strings.HasPrefix(asked, "@preset/") || strings.HasPrefix(asked, "~")
}
