package supervisor

import (
	"testing"

	"aibox/runtime"
)

func TestOnlyARuntimeWithARootSizeLimitEnforcesAllLimits(t *testing.T) {
	for name, c := range map[string]struct {
		runtimes []runtime.Runtime
		lacking  int
	}{
		"limited":          {[]runtime.Runtime{{Name: "runsc", Overlay: true, OverlaySize: 1}}, 0},
		"without a limit":  {[]runtime.Runtime{{Name: "runsc", Overlay: true}}, 1},
		"without overlay":  {[]runtime.Runtime{{Name: "runsc", OverlaySize: 1}}, 1},
		"another's limit":  {[]runtime.Runtime{{Name: "other", Overlay: true, OverlaySize: 1}}, 1},
		"nothing is known": {nil, 1},
	} {
		if got := unenforcedLimits(runtime.Info{Runtimes: c.runtimes}); len(got) != c.lacking {
			t.Errorf("%s: %q", name, got)
		}
	}
}
