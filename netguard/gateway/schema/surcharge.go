package schema

import (
	"slices"
	"strings"
)

// ordinary are the service tiers and speeds at which an answer costs at most its model's list
// price, in lower case: those that servers use without one, and cheaper ones. Faster ones cost up to
// six times as much.
// https://developers.openai.com/api/docs/pricing
// https://platform.claude.com/docs/en/build-with-claude/fast-mode
// https://console.groq.com/docs/service-tiers
var ordinary = []string{"", "auto", "default", "unspecified", "on_demand", "standard", "standard_only", "flex", "batch"}

// serviceTier passes the member that selects how fast the server answers, and remembers one
// that can cost more than the model's price.
type serviceTier struct{}

func (serviceTier) apply(w *walk) (bool, error) {
	value, err := w.passScalar()
	if value == nil || err != nil {
		return false, err
	}
	tier := string(value)
	if value[0] == '"' {
		tier = unquote(value)
	}
	name := strings.TrimPrefix(strings.ToLower(tier), "service_tier_") // as Gemini spells its values
	if !slices.Contains(ordinary, name) {
		w.surcharge = w.at() + "=" + Printable(tier)
	}
	return true, nil
}
