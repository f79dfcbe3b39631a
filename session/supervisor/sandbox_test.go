package supervisor

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
	"aibox/runtime"
)

func TestASandboxOnTheHostKernelIsRefused(t *testing.T) {
	var host unix.Utsname
	if err := unix.Uname(&host); err != nil {
		t.Fatal(err)
	}
	own := "Linux " + unix.ByteSliceToString(host.Release[:]) + " " + unix.ByteSliceToString(host.Version[:])
	for _, inside := range []string{own, ""} {
		for rootless, fix := range map[bool]string{true: "aibox doctor --fix", false: runtime.SystemRegistration} {
			err := checkKernel(inside, runtime.Info{Rootless: rootless})
			if hints := fault.Hints(err); fault.KindOf(err) != fault.Refused || len(hints) != 1 || !strings.Contains(hints[0], fix) {
				t.Errorf("kernel %q, rootless %t: %v, %q", inside, rootless, err, hints)
			}
		}
	}
	if err := checkKernel("Linux 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016", runtime.Info{Rootless: true}); err != nil {
		t.Errorf("gVisor's kernel gave %v", err)
	}
}
