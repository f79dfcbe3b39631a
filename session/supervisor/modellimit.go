package supervisor

import (
	"fmt"
	"strconv"

	"aibox/audit"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/session"
)

// The limits of a session's uploads to its model and of its tokens. The gateway enforces
// them: it refuses the request that would exceed one. The supervisor warns the user before,
// and then ends the session.

// The names of the limits in ModelCall.Limit.
const (
	uploadLimit = "upload"
	tokenLimit  = session.RequestTokens
	costLimit   = session.RequestCost
)

// nearPercent is the used part of a limit in percent at which the user is warned.
const nearPercent = 80

// nearLimit reports whether used is close to limit; 0 means no limit.
func nearLimit(used, limit int64) bool {
	return limit > 0 && used >= limit-limit*(100-nearPercent)/100
}

// warnOfModelLimits warns once for each limit that is near.
func (s *modelWatch) warnOfModelLimits() {
	spec := s.launch.Spec
	uploaded, tokens := s.counters.usage()
	if limit := int64(spec.MaxTokens) * s.budgets.times(tokenLimit); nearLimit(tokens, limit) && s.counters.firstTime(fmt.Sprint(tokenLimit, limit)) {
		s.postNotice(fmt.Sprintf("this session has used %d of its %d tokens (--max-tokens); beyond that it asks you or is ended, and its work is kept", tokens, limit))
	}
	limit := spec.MaxCost.Dollars() * float64(s.budgets.times(costLimit))
	if cost := s.counters.cost(); limit > 0 && cost >= limit*nearPercent/100 && s.counters.firstTime(fmt.Sprint(costLimit, limit)) {
		s.postNotice(fmt.Sprintf("this session's model has cost %s of %s (--max-cost); beyond that it asks you or is ended, and its work is kept", amount.Cost(cost), amount.Cost(limit)))
	}
	if nearLimit(uploaded, spec.MaxUpload.Bytes()) && s.counters.firstTime(uploadLimit) {
		s.postNotice(fmt.Sprintf("this session has sent %d of %d MiB to the model (--max-upload); beyond that it is ended, and its work is kept", uploaded>>20, spec.MaxUpload))
	}
}

// reachedModelLimit ends the session after the gateway has refused a request because of a
// limit.
func (s *modelWatch) reachedModelLimit(limit string) {
	spec := s.launch.Spec
	var f *fault.Fault
	var name, value string
	switch limit {
	case tokenLimit:
		name, value = "token", strconv.FormatInt(int64(spec.MaxTokens)*s.budgets.times(tokenLimit), 10)
		f = fault.New(fault.Limit, "the limit of %s tokens was reached", value).
			Hint("%s", s.hintKept("--max-tokens sets another limit"))
	case costLimit:
		name, value = "cost", amount.Cost(spec.MaxCost.Dollars()*float64(s.budgets.times(costLimit)))
		f = fault.New(fault.Limit, "the limit of %s for the model was reached", value).
			Hint("%s", s.hintKept("--max-cost sets another limit"))
	case uploadLimit:
		name, value = "upload", fmt.Sprintf("%d MiB", spec.MaxUpload)
		f = fault.New(fault.Limit, "the limit of %s sent to the model was reached", value).
			Hint("%s", s.hintKept("--max-upload sets another limit"))
	default:
		return
	}
	if s.counters.firstTime("end " + limit) {
		s.audit(audit.LimitReached, map[string]string{"limit": name, "value": value})
	}
	s.end(f)
}
