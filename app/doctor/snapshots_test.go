package doctor

import (
	"testing"

	"aibox/runtime"
)

func TestAMachineWithoutTheRuntimeThatRestoresIsToldToAddIt(t *testing.T) {
	info := runtime.Info{Runtimes: []runtime.Runtime{{Name: "runsc", Path: "/opt/runsc", Args: []string{"--ignore-cgroups"}}}}
	if f := snapshotFinding(info); f.State != Warning || !f.FixedBySetup() {
		t.Errorf("without it: %+v", f)
	}
	info.Runtimes = append(info.Runtimes, runtime.Runtime{
		Name: runtime.RestorerName, Path: setupDir + "runsc-restore", Args: []string{"--aibox-runsc=/opt/runsc", "--ignore-cgroups"},
	})
	if f := snapshotFinding(info); f.State != OK {
		t.Errorf("with it: %+v", f)
	}
}
