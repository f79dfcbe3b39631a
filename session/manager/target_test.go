package manager

import (
	"os"
	"testing"

	"aibox/review/accept"
)

func TestTheTargetIsRememberedForEachRepository(t *testing.T) {
	d := newFixture(t)
	if got := d.LastTarget("/one"); got != accept.ToBranch {
		t.Errorf("before any delivery: %v", got)
	}
	d.must(d.RememberTarget("/one", accept.ToWorktree))
	if one, two := d.LastTarget("/one"), d.LastTarget("/two"); one != accept.ToWorktree || two != accept.ToBranch {
		t.Errorf("%v, %v", one, two)
	}
	d.must(d.RememberTarget("/one", accept.ToBranch))
	if got := d.LastTarget("/one"); got != accept.ToBranch {
		t.Errorf("after a branch: %v", got)
	}
	d.must(os.WriteFile(targetsPath(d.store), []byte(`{"/one":"moon"}`), 0o600))
	if got := d.LastTarget("/one"); got != accept.ToBranch {
		t.Errorf("of a damaged file: %v", got)
	}
}
