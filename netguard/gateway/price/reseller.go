package price

import (
	"strings"

	"aibox/internal/lazyregexp"
)

// resold are the vendors whose list prices OpenRouter passes on, by the first part of its
// model names.
var resold = map[string]string{"anthropic": "anthropic", "openai": "openai", "google": "gemini"}

// numbered matches the dot in a version number.
var numbered = lazyregexp.New(`(\d)\.(\d)`)

// Resold returns the price of a model of another vendor that OpenRouter sells under the name
// VENDOR/MODEL, at the vendor's list price. A name with a variant after it, such as ":nitro",
// can be another model or come from another server, so it has no price.
func (t Table) Resold(model string) (Price, bool) {
	name, plain, found := strings.Cut(model, "/")
	vendor := resold[name]
	if !found || vendor == "" || strings.ContainsAny(plain, ":/") {
		return Price{}, false
	}
	if p, ok := t.Find(plain, vendor); ok {
		return p, true
	}
	// Anthropic's own names have hyphens in version numbers, and OpenRouter's have dots.
	if hyphenated := numbered.ReplaceAllString(plain, "$1-$2"); vendor == "anthropic" && hyphenated != plain {
		return t.Find(hyphenated, vendor)
	}
	return Price{}, false
}
