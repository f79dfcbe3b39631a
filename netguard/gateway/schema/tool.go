package schema

import "aibox/netguard"

// serverTool is a value that makes the model's server access more. It passes by its rule if
// the user has opened the kind, and is refused otherwise.
type serverTool struct {
	kind netguard.ServerTool
	rule rule
}

func (s serverTool) apply(w *walk) (bool, error) {
	if w.policy.opens(s.kind) {
		w.charge(s.kind)
		return s.rule.apply(w)
	}
	return w.refuse(w.closed(s.kind))
}

// offeredTool is a serverTool of a list in which agents offer tools by default. While the
// kind is closed, the tool is left out if the model has other tools, so that the agent
// continues without it. A list of only such tools is refused, since the answer would
// pretend that the tool was used.
type offeredTool struct {
	kind netguard.ServerTool
	rule rule
}

func (o offeredTool) apply(w *walk) (bool, error) {
	if w.policy.opens(o.kind) {
		w.charge(o.kind)
		return o.rule.apply(w)
	}
	w.offers = append(w.offers, o.kind)
	w.note("=" + o.kind.String())
	_, err := w.skip(nil)
	return false, err
}

// history is a part of a conversation that a server-side tool has left in it. It is
// left out while the kind is closed.
type history struct {
	kind netguard.ServerTool
	rule rule
}

func (h history) apply(w *walk) (bool, error) {
	if w.policy.opens(h.kind) {
		return h.rule.apply(w)
	}
	return w.leave()
}

// charge remembers a server-side tool of the request that has fees.
func (w *walk) charge(kind netguard.ServerTool) {
	if kind.HasFees() {
		w.fee = kind
	}
}

// closed refuses a server-side tool.
func (w *walk) closed(kind netguard.ServerTool) error {
	return forbidden("aibox refused the request because %s asks the model's server for %s, which your settings do not open. %s To allow it, set inference-tools = [%q] in your own settings",
		w.at(), kind, kind.Opens(), kind.String())
}
