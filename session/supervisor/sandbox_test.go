package supervisor

import (
	"testing"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
)

func TestASandboxOnTheHostKernelIsRefused(t *testing.T) {
	var host unix.Utsname
	if err := unix.Uname(&host); err != nil {
		t.Fatal(err)
	}
	own := "Linux " + unix.ByteSliceToString(host.Release[:]) + " " + unix.ByteSliceToString(host.Version[:])
	for _, inside := range []string{own, ""} {
		if err := checkKernel(inside); fault.KindOf(err) != fault.Refused {
			t.Errorf("kernel %q gave %v", inside, err)
		}
	}
	if err := checkKernel("Linux 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016"); err != nil {
		t.Errorf("gVisor's kernel gave %v", err)
	}
}
