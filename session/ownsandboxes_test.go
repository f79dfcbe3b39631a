package session

import (
	"testing"

	"aibox/config"
)

func TestNoTokenCanHaveTheTenantOfASession(t *testing.T) {
	own := OwnTenant("00001-codex")
	if err := own.Check(); err != nil {
		t.Error(err)
	}
	if tenant, err := ParseTenant(string(own)); err == nil {
		t.Errorf("a token can have the tenant %s", tenant)
	}
	for _, bad := range []Tenant{"", "session:", "session:../x", "session:x y", "other:00001-codex", "-a"} {
		if bad.Check() == nil {
			t.Errorf("%q is a tenant", bad)
		}
	}
	sandbox := Session{Spec: Spec{Sandbox: &SandboxSpec{Tenant: own}}}
	if sandbox.OwnedBy(LocalTenant) || sandbox.OwnedBy(OwnTenant("00002-codex")) || !sandbox.OwnedBy(own) {
		t.Error("the sandbox has another owner")
	}
}

func TestTheProcessesOfASessionAreDividedWithoutARemainder(t *testing.T) {
	for pids := range 50 {
		for n := range 5 {
			spec := Spec{Run: config.Run{Pids: pids, Sandboxes: n}}
			own, each := spec.ProcessShares()
			if own+n*each != pids || pids > 0 && own == 0 {
				t.Errorf("%d processes and %d sandboxes: %d and %d each", pids, n, own, each)
			}
		}
	}
}
