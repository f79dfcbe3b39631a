package docker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/network"

	"aibox/runtime"
)

const holdLease = "AIBOX_TEST_HOLD_LEASE"

// hold is run by the test binary as another process: it takes a lease and keeps it until it is
// killed.
func hold() {
	n := &Networks{dir: os.Getenv(holdLease)}
	held, err := n.lease(os.Args[1])
	if err == nil {
		err = held.write("other")
	}
	fmt.Println(err)
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	held.release()
}

func TestLeaseEndsWithItsProcess(t *testing.T) {
	dir := t.TempDir()
	n := &Networks{dir: dir}
	cmd := exec.Command(os.Args[0], "aibox-0")
	cmd.Env = []string{holdLease + "=" + dir}
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "<nil>\n" {
		t.Fatalf("the other process says %q", line)
	}
	if _, err := n.lease("aibox-0"); !errors.Is(err, errLeased) {
		t.Errorf("a held lease was given: %v", err)
	}
	if holder := n.holder("aibox-0"); holder != "other" {
		t.Errorf("the holder is %q", holder)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	held, err := n.lease("aibox-0")
	if err != nil {
		t.Fatalf("the lease outlived its process: %v", err)
	}
	held.release()
}

func TestManySessionsAtOnceGetBridgesOfTheirOwn(t *testing.T) {
	b := open(t)
	base := pool(t, b)
	var mu sync.Mutex
	seen := map[string]bool{}
	var group sync.WaitGroup
	for i := range 6 {
		group.Go(func() {
			n := newNetworks(b, Options{Leases: base.dir, Pool: base.pool}) // as another process would
			got, err := n.Acquire(context.Background(), fmt.Sprint(i))
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { _ = n.Release(context.Background(), got) })
			mu.Lock()
			defer mu.Unlock()
			if seen[got.Bridge] || seen[got.Subnet.String()] {
				t.Errorf("%+v was given twice", got)
			}
			seen[got.Bridge], seen[got.Subnet.String()] = true, true
		})
	}
	group.Wait()
}

func TestUsedSubnetIsSkippedAndAnEmptyPoolIsReported(t *testing.T) {
	b := open(t)
	base := pool(t, b)
	small := newNetworks(b, Options{Leases: base.dir, Pool: netip.PrefixFrom(base.pool.Addr(), 28)})
	foreign, err := b.api.NetworkCreate(t.Context(), prefix+"-foreign", network.CreateOptions{
		Driver: "bridge",
		IPAM:   &network.IPAM{Config: []network.IPAMConfig{{Subnet: netip.PrefixFrom(base.pool.Addr(), 30).String()}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.api.NetworkRemove(context.Background(), foreign.ID) })
	got, err := small.Acquire(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = small.Release(context.Background(), got) })
	if got.Subnet.Overlaps(netip.PrefixFrom(base.pool.Addr(), 30)) {
		t.Errorf("%s is in use", got.Subnet)
	}
	if _, err := small.Acquire(t.Context(), "two"); !errors.Is(err, runtime.ErrPoolExhausted) {
		t.Errorf("got %v", err)
	}
}

func TestBridgeWithInternetAccessIsNeverUsed(t *testing.T) {
	b := open(t)
	base := pool(t, b)
	name, err := randomName()
	if err != nil {
		t.Fatal(err)
	}
	// It has the labels and the name, but masquerades as Docker's own networks do.
	open, err := b.api.NetworkCreate(t.Context(), name, network.CreateOptions{
		Driver: "bridge", Labels: map[string]string{labelPool: "1", labelUser: ownUser()}, Options: map[string]string{optionName: name, optionICC: "false"},
		IPAM: &network.IPAM{Config: []network.IPAMConfig{{
			Subnet: netip.PrefixFrom(base.pool.Addr(), 29).String(), Gateway: base.pool.Addr().Next().String(),
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.api.NetworkRemove(context.Background(), open.ID) })
	got, err := base.Acquire(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = base.Release(context.Background(), got) })
	if got.ID == open.ID {
		t.Error("it was given")
	}
}

// After an upgrade of Docker, networks have another option than before, and no session uses the old ones.
func TestANetworkThatNoSandboxMayUseIsRemoved(t *testing.T) {
	b := open(t)
	base := pool(t, b)
	name, err := randomName()
	if err != nil {
		t.Fatal(err)
	}
	old, err := b.api.NetworkCreate(t.Context(), name, network.CreateOptions{
		Driver: "bridge", Labels: map[string]string{labelPool: "1"},
		Options: map[string]string{optionName: name, optionICC: "false", optionMasq: "false", optionMode: "nat"},
		IPAM: &network.IPAM{Config: []network.IPAMConfig{{
			Subnet: netip.PrefixFrom(base.pool.Addr(), 29).String(), Gateway: base.pool.Addr().Next().String(),
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.api.NetworkRemove(context.Background(), old.ID) })
	is := func(n runtime.Network) bool { return n.ID == old.ID }
	b.rootful = true // it has no owner, and can be another user's
	removed, err := base.Prune(t.Context(), true)
	if err != nil || slices.ContainsFunc(removed, is) {
		t.Errorf("with the system's Docker, removed are %+v, %v", removed, err)
	}
	b.rootful = false
	removed, err = base.Prune(t.Context(), false)
	if err != nil || !slices.ContainsFunc(removed, is) {
		t.Errorf("removed are %+v, %v", removed, err)
	}
}

// The leases of a user are in the user's own folder, and the system's Docker is shared.
func TestTheNetworkOfAnotherUserIsNeitherTakenNorRemoved(t *testing.T) {
	b := open(t)
	base := pool(t, b)
	name, err := randomName()
	if err != nil {
		t.Fatal(err)
	}
	options := map[string]string{optionName: name, optionICC: "false", optionMasq: "false"}
	if mode := base.gatewayMode(); mode != "" {
		options[optionMode] = mode
	}
	for owner, own := range map[string]bool{strconv.Itoa(os.Getuid() + 1): false, ownUser(): true} {
		made, err := b.api.NetworkCreate(t.Context(), name, network.CreateOptions{
			Driver: "bridge", Labels: map[string]string{labelPool: "1", labelUser: owner}, Options: options,
			IPAM: &network.IPAM{Config: []network.IPAMConfig{{
				Subnet: netip.PrefixFrom(base.pool.Addr(), 29).String(), Gateway: base.pool.Addr().Next().String(),
			}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		remove := func() { _ = b.api.NetworkRemove(context.Background(), made.ID) }
		t.Cleanup(remove)
		usable, err := base.list(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		removed, err := base.Prune(t.Context(), true)
		if err != nil {
			t.Fatal(err)
		}
		is := func(n runtime.Network) bool { return n.ID == made.ID }
		if slices.ContainsFunc(usable, is) != own || slices.ContainsFunc(removed, is) != own {
			t.Errorf("of %s: can be used %t, is removed %t", owner, slices.ContainsFunc(usable, is), slices.ContainsFunc(removed, is))
		}
		remove()
	}
}

// The system removes a user's runtime folder, and the leases in it, when the user's last login
// ends, even while sessions run.
func TestABridgeInUseIsNotTakenAfterItsLeaseFileWasRemoved(t *testing.T) {
	r := prepare(t)
	running := r.boot(t, nil)
	if err := os.RemoveAll(r.pool.dir); err != nil {
		t.Fatal(err)
	}
	next := newNetworks(r.backend, Options{Leases: r.pool.dir, Pool: r.pool.pool}) // as another process would
	got, err := next.Acquire(t.Context(), "next")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = next.Release(context.Background(), got) })
	if got.Bridge == running.network.Bridge {
		t.Error("two sessions have the same bridge")
	}
}

// While a container is being disconnected, the daemon lists it no longer and still keeps the network.
func TestTheDaemonRefusesToRemoveANetworkThatIsInUse(t *testing.T) {
	r := prepare(t)
	running := r.boot(t, nil)
	if err := r.pool.remove(t.Context(), running.network, nil, false); !errdefs.IsPermissionDenied(err) {
		t.Errorf("it says %v, which Prune takes for a failure", err)
	}
}
