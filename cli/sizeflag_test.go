package cli

import (
	"strings"
	"testing"

	"aibox/internal/fault"
)

func TestTheSizesOfAQuotaHaveUnits(t *testing.T) {
	run := volumeApp(t)
	out, _, err := run("token quota ci --memory 64GiB --disk 512 --upload 2g --snapshots 1TiB")
	got := strings.Join(strings.Fields(out), " ")
	for _, want := range []string{"memory 64GiB", "disk 512MiB", "sent in a day 2GiB", "snapshots 1TiB", "tokens of models in a day no limit"} {
		if err != nil || !strings.Contains(got, want) {
			t.Errorf("%q is not in %q, %v", want, got, err)
		}
	}
}

// The sizes are read before anything else, so that no daemon is needed.
func TestTheMemoryOfASandboxHasAUnit(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
	run := volumeApp(t)
	if _, _, err := run("sandbox create --memory 2GiB"); err == nil || strings.Contains(err.Error(), "--memory") {
		t.Errorf("2GiB: %v", err)
	}
	want := `--memory must be a size such as 512MiB or 4GiB, not "2 apples"`
	a, _, _ := testApp(t)
	err := a.execute(t.Context(), []string{"sandbox", "create", "--memory", "2 apples"})
	if fault.KindOf(err) != fault.Usage || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
