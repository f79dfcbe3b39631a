package supervisor

import (
	"fmt"

	"aibox/internal/amount"
)

// rootWarning decides when to warn that the sandbox's root file system is nearly full. The
// sandbox's kernel enforces the limit: a write beyond it fails, and the session continues.
type rootWarning struct {
	limit  int64 // bytes; 0 for none
	warned bool
}

// due reports whether to warn at the given use: when it first reaches the threshold, and
// again after half of the space was free.
func (w *rootWarning) due(used int64) bool {
	near := nearLimit(used, w.limit)
	due := near && !w.warned
	w.warned = near || w.warned && used > w.limit/2
	return due
}

// warnOfRoot warns that the sandbox's root file system is nearly full. It needs the file in
// which gVisor stores it.
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
