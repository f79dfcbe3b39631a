package budget

import (
	"context"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/session"
)

const mib = 1 << 20

func TestATenantReservesItsPartOfTheBudgetUntilItsCallsEnd(t *testing.T) {
	b := New("the answers that %s collects at once", 5*mib, 3*mib)
	call := func(tenant session.Tenant) (context.Context, func()) { return b.With(t.Context(), tenant) }
	first, end := call("a")
	second, endSecond := call("a")
	other, endOther := call("b")
	third, endThird := call("c")
	steps := []struct {
		ctx   context.Context
		bytes int64
		want  string // of the error
	}{
		{first, 1 * mib, ""},
		{first, 1 * mib, ""},
		{second, 1*mib + 1, "the tenant collects at once would have more than 3 MiB"},
		{second, 1 * mib, ""},
		{second, 1, "the tenant"},
		{other, 2 * mib, ""},
		{third, 1, "the server collects at once would have more than 5 MiB"},
	}
	for i, step := range steps {
		err := Reserve(step.ctx, step.bytes)
		if (err != nil) != (step.want != "") || err != nil && (!strings.Contains(err.Error(), step.want) || fault.KindOf(err) != fault.Limit) {
			t.Errorf("step %d: %v", i, err)
		}
	}
	end()
	if err := Reserve(third, 2*mib); err != nil {
		t.Errorf("what a call has freed cannot be reserved: %v", err)
	}
	for _, end := range []func(){endSecond, endOther, endThird} {
		end()
	}
	if b.all != 0 || len(b.of) != 0 {
		t.Errorf("%d bytes and the tenants %v are left", b.all, b.of)
	}
}

func TestAReservationCannotOverflow(t *testing.T) {
	b := New("%s", 3*mib, 3*mib)
	ctx, end := b.With(t.Context(), "a")
	defer end()
	if err := Reserve(ctx, mib); err != nil {
		t.Fatal(err)
	}
	if err := Reserve(ctx, 1<<63-1); err == nil {
		t.Error("it was accepted")
	}
}

func TestACallReservesWhatIsMissingToANumber(t *testing.T) {
	b := New("%s", 3*mib, 3*mib)
	c := b.Call("a")
	for _, step := range []struct {
		bytes int64
		fits  bool
		all   int64
	}{{2 * mib, true, 2 * mib}, {1 * mib, true, 2 * mib}, {3 * mib, true, 3 * mib}, {3*mib + 1, false, 3 * mib}} {
		if err := c.ReserveAll(step.bytes); (err == nil) != step.fits || b.all != step.all {
			t.Errorf("%d bytes: %v; %d are reserved", step.bytes, err, b.all)
		}
	}
	c.Release()
	if err := c.Reserve(3 * mib); err != nil {
		t.Errorf("what was released cannot be reserved: %v", err)
	}
	var none *Call
	if err := none.Reserve(1 << 40); err != nil {
		t.Errorf("a call without a budget: %v", err)
	}
}
