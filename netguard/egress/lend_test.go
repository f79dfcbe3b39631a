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
	p := &Proxy{budget: newBudget(netguard.Traffic{Upload: 100})}
	if n, refused := p.budget.reserve(host, up, 30); n != 30 || refused != nil {
		t.Fatal(n, refused)
	}
	if lent := p.Lend(netguard.Traffic{Upload: 50, Download: 1000}); lent.Upload != 50 || lent.Download != 1000 {
		t.Errorf("%+v is lent", lent)
	}
	if n, refused := p.budget.reserve(host, up, 100); n != 20 || refused != nil {
		t.Errorf("%d bytes are left beside those that are lent (%v)", n, refused)
	}
	if lent := p.Lend(netguard.Traffic{Upload: 50}); lent.Upload != 0 {
		t.Errorf("%+v is lent that is used already", lent)
	}
	p.Return(netguard.Traffic{Upload: 45, Download: 1000})
	if n, refused := p.budget.reserve(host, up, 100); n != 45 || refused != nil {
		t.Errorf("%d bytes are left after the rest was given back (%v)", n, refused)
	}
	if n := p.Transferred(); n != 95 {
		t.Errorf("%d bytes count as transferred", n)
	}
}

// The borrower can use its bytes per host at any host, so the host that has got most counts.
func TestLentBytesPerHostAreTakenFromTheBudgetOfEachHost(t *testing.T) {
	var hosts []netguard.Host
	for _, name := range []string{"much.example.org", "other.example.org"} {
		host, err := netguard.ParseHost(name)
		if err != nil {
			t.Fatal(err)
		}
		hosts = append(hosts, host)
	}
	p := &Proxy{budget: newBudget(netguard.Traffic{UploadPerHost: 100})}
	for i, bytes := range []int64{40, 10} {
		if got, refused := p.budget.reserve(hosts[i], up, bytes); refused != nil || got != bytes {
			t.Fatalf("%d bytes are granted: %v", got, refused)
		}
	}
	if lent := p.Lend(netguard.Traffic{UploadPerHost: 50, DownloadPerHost: 1000}); lent.UploadPerHost != 50 || lent.DownloadPerHost != 1000 {
		t.Errorf("%+v is lent", lent)
	}
	if lent := p.Lend(netguard.Traffic{UploadPerHost: 50}); lent.UploadPerHost != 10 {
		t.Errorf("%+v is lent beside it", lent)
	}
	if _, refused := p.budget.reserve(hosts[0], up, 1); refused == nil {
		t.Error("a host gets more than its budget")
	}
	if n, refused := p.budget.reserve(hosts[1], up, 100); n != 30 || refused != nil {
		t.Errorf("the other host gets %d bytes (%v)", n, refused)
	}
	p.Return(netguard.Traffic{UploadPerHost: 45, DownloadPerHost: 1000})
	if n, refused := p.budget.reserve(hosts[0], up, 100); n != 45 || refused != nil {
		t.Errorf("then the first one gets %d bytes (%v)", n, refused)
	}
}
