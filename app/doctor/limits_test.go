package doctor

import (
	"errors"
	"strings"
	"testing"
)

func TestTheReportNamesWhatEnforcesLimits(t *testing.T) {
	for _, c := range []struct {
		by    LimitEnforcer
		words []string
	}{
		{LimitEnforcer{Name: "a scope of your systemd"}, []string{"a scope of your systemd limits memory, processors"}},
		{LimitEnforcer{"aibox", errors.New("the kernel uses cgroup v1")}, []string{"aibox limits memory and whole processors", "(the kernel uses cgroup v1)"}},
	} {
		f := limitsFinding(c.by)
		for _, word := range c.words {
			if f.State != OK || !strings.Contains(f.Detail, word) {
				t.Errorf("%+v lacks %q", f, word)
			}
		}
	}
}
