package schema

import "slices"

// ordinary are the service tiers and speeds at which an answer costs at most its model's list
// price: those that servers use by default, and cheaper ones. Faster ones cost up to six times
// as much.
// https://developers.openai.com/api/docs/pricing
// https://platform.claude.com/docs/en/build-with-claude/fast-mode
var ordinary = []string{"", "auto", "default", "standard", "standard_only", "flex", "batch"}

// serviceTier passes the member that selects how fast the server answers, and remembers one
// that can cost more than the model's price.
type serviceTier struct{}

func (serviceTier) apply(w *walk) (bool, error) {
	if kind := w.dec.PeekKind(); kind == '{' || kind == '[' {
		return w.leave()
	}
	value, err := w.skip(nil)
	if err != nil {
		return false, err
	}
	w.out.refer(value)
	tier := string(value)
	if value[0] == '"' {
		tier = unquote(value)
	}
	if !slices.Contains(ordinary, tier) {
		w.surcharge = w.at() + "=" + Printable(tier)
	}
	return true, nil
}
