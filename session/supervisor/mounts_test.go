package supervisor

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/probe"
	"aibox/netguard"
	"aibox/runtime"
	"aibox/session"
)

func TestMountsAreProbed(t *testing.T) {
	network := runtime.Network{Subnet: netip.MustParsePrefix("10.201.0.0/29"), Gateway: netip.MustParseAddr("10.201.0.1")}
	for _, mode := range netguard.Modes() {
		spec := session.Spec{Run: config.Run{Network: mode.String(), Mount: []string{"/home/me/data:/data", "/home/me/x:/srv/x:ro"}}}
		var probed []string
		for _, p := range ProbePlan(&spec, true, network, netip.Addr{}).Probes {
			if p.Kind == probe.Write && p.Want == probe.Refused {
				probed = append(probed, p.Target)
			}
		}
		if want := []string{"/data", "/srv/x"}; !slices.Equal(probed, want) {
			t.Errorf("%s: probed are %q, not %q", mode, probed, want)
		}
	}
}

func TestOnlyTheUsersOwnSessionsHaveMounts(t *testing.T) {
	_, s := watched(t)
	folder := t.TempDir()
	s.deps.Dirs.Home = t.TempDir()
	s.launch.Spec.Mount = []string{folder + ":/data"}
	box := &sandbox{preparation: &preparation{modelWatch: &modelWatch{run: s.run}}}
	for _, tenant := range []session.Tenant{"", session.LocalTenant} {
		s.launch.Spec.Tenant = tenant
		got, err := box.ownMounts()
		if err != nil || len(got) != 1 || !got[0].ReadOnly || !strings.HasSuffix(got[0].Source, folder) || got[0].Target != "/data" {
			t.Errorf("the tenant %q mounts %+v, %v", tenant, got, err)
		}
	}
	s.launch.Spec.Tenant = "other"
	if got, err := box.ownMounts(); fault.KindOf(err) != fault.Refused {
		t.Errorf("another tenant mounts %+v, %v", got, err)
	}
}
