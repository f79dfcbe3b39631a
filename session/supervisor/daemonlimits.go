package supervisor

import (
	"context"
	"fmt"
	"strings"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/runtime"
	"aibox/session"
)

// sandboxRuntime is the runtime of sandboxes.
const sandboxRuntime = "runsc"

// unenforcedLimits returns the limits that this daemon cannot enforce, a clause each.
func unenforcedLimits(info runtime.Info) []string {
	r, known := info.Find(sandboxRuntime)
	switch {
	case !known:
		return []string{"nothing is known of the runtime " + sandboxRuntime}
	case !r.Overlay:
		return []string{"what a sandbox writes outside the workspace goes to the host's disk, without a limit"}
	case r.OverlaySize == 0:
		return []string{"writes outside the workspace are not limited"}
	}
	return nil
}

// checkDaemonLimits refuses a daemon that cannot enforce a limit, unless the user allows
// it; then the session reports and records it. It always refuses a daemon whose runtime
// might not isolate the sandbox. The backend also does that, but only after other steps
// that would have to be undone.
func (s *preparation) checkDaemonLimits(ctx context.Context, backend runtime.Backend) error {
	info, err := backend.Info(ctx)
	if err != nil {
		return err
	}
	if r, known := info.Find(sandboxRuntime); known {
		if err := info.CheckSafe(r); err != nil {
			return err
		}
	}
	if err := checkDaemonDisk(info); err != nil {
		return err
	}
	lacking := unenforcedLimits(info)
	var hints []string
	if len(lacking) > 0 {
		hints = []string{info.Hint("`aibox doctor --fix` registers gVisor with a limit", runtime.SystemRegistration)}
	}
	for _, gap := range s.deps.Limits().Gaps(s.resourceLimits()) {
		lacking, hints = append(lacking, gap.Text), append(hints, gap.Hint)
	}
	if len(lacking) == 0 {
		return nil
	}
	if !s.launch.Spec.AllowDegraded {
		refusal := fault.New(fault.Environment, "a limit cannot be enforced here: %s", strings.Join(lacking, "; "))
		for _, hint := range hints {
			refusal = refusal.Hint("%s", hint)
		}
		return refusal.Hint("--allow-degraded runs without it")
	}
	s.audit(audit.LimitsDegraded, map[string]any{"unenforced": lacking})
	s.report.warn("limits", fmt.Sprintf("not enforced: %s", strings.Join(lacking, "; ")))
	return s.save(func(st *session.State) { st.Degraded = lacking })
}
