package supervisor

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"path/filepath"
	"testing"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/internal/lifeline"
	"aibox/internal/paths"
	"aibox/internal/probe"
	"aibox/runtime"
	"aibox/session"
)

// discarded drops reports.
type discarded struct{ io.Writer }

func (discarded) Close() error { return nil }

// warmed returns a warm sandbox whose PID 1 answers probes with these results.
func warmed(t *testing.T, passes bool) (*sandbox, *resources) {
	t.Helper()
	a, b := net.Pipe()
	inside := lifeline.NewConn(b)
	go func() {
		f, err := inside.Receive()
		if err != nil {
			return
		}
		plan, err := lifeline.Decode[probe.Plan](f)
		for i, p := range plan.Probes {
			result := p.Pending()
			result.OK = passes
			err = errors.Join(err, inside.SendMessage(lifeline.TypeProbeResult, lifeline.ProbeResult{Place: i, Result: result}))
		}
		if err != nil {
			t.Error(err)
		}
	}()
	store := session.NewStore(paths.Dirs{State: t.TempDir()})
	if err := store.CreateChosen("00001-sandbox"); err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(filepath.Join(t.TempDir(), "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	r := &run{id: "00001-sandbox", store: store, log: log, report: reporter{discarded{io.Discard}}, ended: make(chan struct{})}
	r.launch.Spec = session.Spec{Agent: session.SandboxAgent, Sandbox: &session.SandboxSpec{Warm: &session.WarmStart{}}}
	s := &sandbox{warm: newWarmSandbox(), line: lifeline.NewConn(a), preparation: &preparation{modelWatch: &modelWatch{run: r}}}
	t.Cleanup(func() { _, _, _ = s.line.Close(), inside.Close(), log.Close() })
	return s, &resources{network: runtime.Network{Subnet: netip.MustParsePrefix("172.30.0.0/29"), Gateway: netip.MustParseAddr("172.30.0.1")}}
}

func TestAClaimNeedsTheProofTheMachineAndTheRecord(t *testing.T) {
	changed := fault.New(fault.Refused, "a runtime has changed")
	for name, test := range map[string]struct {
		passes bool
		check  error
		disk   bool // the record can be stored
		want   bool
	}{
		"all":             {passes: true, disk: true, want: true},
		"a failed probe":  {disk: true},
		"another machine": {passes: true, check: changed, disk: true},
		"a full disk":     {passes: true},
	} {
		s, res := warmed(t, test.passes)
		if !test.disk {
			s.id = "00002-sandbox" // it has no folder
		}
		launch := session.Launch{Spec: session.Spec{Agent: session.SandboxAgent, Sandbox: &session.SandboxSpec{Tenant: "acme"}}}
		err := s.becomeClaimed(t.Context(), res, &launch, func(context.Context) error { return test.check })
		tenant := s.launch.Spec.Sandbox.Tenant
		if claimed := err == nil; claimed != test.want || claimed != s.wasWarm || claimed != (tenant == "acme") {
			t.Errorf("%s: the tenant is %q, %v", name, tenant, err)
		}
		if test.check != nil && !errors.Is(err, test.check) {
			t.Errorf("%s: %v", name, err)
		}
		stored, err := s.store.Load("00001-sandbox")
		if test.want && (err != nil || stored.Spec.Sandbox.Tenant != "acme") {
			t.Errorf("%s: the record is %+v, %v", name, stored.Spec.Sandbox, err)
		}
	}
}
