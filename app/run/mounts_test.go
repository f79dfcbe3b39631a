package run

import (
	"path/filepath"
	"strings"
	"testing"

	"aibox/internal/fault"
)

func TestNothingOfTheUserIsReadForASessionOfAnotherTenant(t *testing.T) {
	w := &world{user: userOf(t, `env = ["AIBOX_NO_SUCH_VARIABLE"]
mount = ["/nothing/is/here:/data"]`)}
	r := runner(w)
	if _, err := r.Resolve(request(func(*Request) {})); err == nil {
		t.Fatal("without the variable and the folder, a run of the user is possible")
	}
	r.Foreign = true
	plan, err := r.Resolve(request(func(*Request) {}))
	if l := plan.Launch; err != nil || l.Env != nil || l.Registries != nil || l.Spec.Env != nil || l.Spec.Mount != nil {
		t.Errorf("%v: the plan has %q, %v, %q and %q", err, l.Env, l.Registries, l.Spec.Env, l.Spec.Mount)
	}
}

func TestAMountThatIsGoneIsRefusedWithTheWayOn(t *testing.T) {
	w := &world{user: userOf(t, `mount = ["/nothing/is/here:/data"]`)}
	_, err := runner(w).Resolve(request(func(*Request) {}))
	if hints := strings.Join(fault.Hints(err), "\n"); fault.KindOf(err) != fault.Usage || !strings.Contains(hints, "--mount=") {
		t.Errorf("%v: %q", err, hints)
	}
}

func TestTheRepositoryOfARunIsNotMounted(t *testing.T) {
	repository := t.TempDir()
	_, err := runner(new(world)).Resolve(request(func(r *Request) {
		r.Repository = repository
		r.give(t, "mount="+filepath.Dir(repository)+":/data")
	}))
	if fault.KindOf(err) != fault.Refused {
		t.Error(err)
	}
}
