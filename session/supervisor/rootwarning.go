package supervisor

import (
	"fmt"

	"aibox/internal/amount"
)

// rootWarning decides when to warn that the root of the sandbox is nearly full. The sandbox's
// kernel enforces the limit: a write beyond it fails, and the session continues.
type rootWarning struct {
	limit  int64 // bytes; 0 for none
	warned bool
}

// due reports whether to warn of that much use: when it first reaches the warning, and again
// after half of the root was free.
func (w *rootWarning) due(used int64) bool {
	near := nearLimit(used, w.limit)
	due := near && !w.warned
	w.warned = near || w.warned && used > w.limit/2
	return due
}

// warnOfRoot warns that the root of the sandbox is nearly full, once gVisor keeps it in a file
// that can be measured.
func (s *limits) warnOfRoot(w *rootWarning) {
	s.mu.Lock()
	meter := s.meter
	s.mu.Unlock()
	if meter == nil || w.limit == 0 {
		return
	}
	if used, err := meter.Root(); err == nil && w.due(used) {
		s.postNotice(fmt.Sprintf("files in the sandbox outside of the workspace take %s of %s; a write beyond that fails, and the session continues",
			amount.Bytes(used), amount.Bytes(w.limit)))
	}
}
