package egress

import (
	"testing"

	"aibox/netguard"
)

func TestLentBytesAreTakenFromTheBudgets(t *testing.T) {
	host, err := netguard.ParseHost("good.example.org")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{budget: newBudget(Budgets{Upload: 100})}
	if n, refused := p.budget.reserve(host, up, 30); n != 30 || refused != nil {
		t.Fatal(n, refused)
	}
	if lent, down := p.Lend(50, 1000); lent != 50 || down != 1000 {
		t.Errorf("%d and %d bytes are lent", lent, down)
	}
	if n, refused := p.budget.reserve(host, up, 100); n != 20 || refused != nil {
		t.Errorf("%d bytes are left beside those that are lent (%v)", n, refused)
	}
	if lent, _ := p.Lend(50, 0); lent != 0 {
		t.Errorf("%d bytes are lent that are used already", lent)
	}
	p.Return(45, 1000)
	if n, refused := p.budget.reserve(host, up, 100); n != 45 || refused != nil {
		t.Errorf("%d bytes are left after the rest was given back (%v)", n, refused)
	}
	if n := p.Transferred(); n != 95 {
		t.Errorf("%d bytes count as transferred", n)
	}
}
