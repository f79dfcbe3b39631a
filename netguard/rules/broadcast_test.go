package rules

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// The kernel delivers them before it looks at routing rules, so lock 2 does not refuse them.
func TestNoBroadcastOfASandboxReachesTheNamespace(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	sh(t, dockerLike)
	prober := buildProber(t)
	sandbox := room(t, "vbox", "aibox-test0", "ip addr add 172.31.240.2/29 dev eth0; ip route add default via 172.31.240.1")
	service, err := net.ListenPacket("udp4", ":0")
	must(t, err)
	defer service.Close()
	port := service.LocalAddr().(*net.UDPAddr).Port
	broadcast := func() {
		t.Helper()
		args := []string{"-t", strconv.Itoa(sandbox), "-n", prober, "probe"}
		for _, to := range []string{"255.255.255.255", "172.31.240.7", "224.0.0.1"} {
			args = append(args, fmt.Sprintf("udp %s:%d", to, port))
		}
		cmd := exec.Command("nsenter", args...)
		cmd.Env = append(cmd.Environ(), "PATIENCE=20ms") // no answer has the address that was sent to
		must(t, cmd.Run())
	}
	received := func(wait time.Duration) bool {
		_ = service.SetReadDeadline(time.Now().Add(wait))
		_, _, err := service.ReadFrom(make([]byte, 64))
		return err == nil
	}
	arrive := func() bool {
		broadcast()
		for range 3 {
			if !received(2 * time.Second) {
				return false
			}
		}
		return true
	}
	for tries := 10; !arrive(); tries-- { // the network can lose one while it is new
		if tries == 0 {
			t.Fatal("without a guard, a broadcast must arrive, or the test proves nothing")
		}
	}
	guarded(t, "aibox-test0", onePort)
	broadcast()
	status, err := here.Status(context.Background())
	must(t, err)
	if received(50*time.Millisecond) || status.Firewall.Refused != 2 {
		t.Errorf("a service in the namespace receives a broadcast; lock 1 has refused %d of 2", status.Firewall.Refused)
	}
}
