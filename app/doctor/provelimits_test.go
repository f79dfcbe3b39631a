package doctor

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/probe"
	"aibox/session"
)

// seq is the output of a program that starts n processes.
func seq(n int) string { return strings.Repeat("x\n", n) }

func TestALimitIsProvedOnlyByItsOwnEffect(t *testing.T) {
	ended := func(kind fault.Kind, message string) limitTrial {
		return limitTrial{result: &session.Result{ExitCode: -1, Fault: &session.Failure{Kind: kind.String(), Message: message}}}
	}
	exit := func(code int, printed string, cpu float64) limitTrial {
		return limitTrial{&session.Result{ExitCode: code}, printed, cpu}
	}
	for _, c := range []struct {
		probe string
		trial limitTrial
		held  bool
	}{
		{"memory", ended(fault.Limit, "the sandbox reached its memory limit of 128 MiB, so it was ended"), true},
		{"memory", ended(fault.Limit, "the time limit of 1m was reached"), false},
		{"memory", ended(fault.Internal, "the memory limit is broken"), false},
		{"memory", exit(0, "not limited\n", 0), false},
		{"memory", limitTrial{}, false},
		{"disk", ended(fault.Limit, "the workspace has grown by more than its limit of 8 MiB"), true},
		{"disk", ended(fault.Environment, "the disk is nearly full"), false},
		{"processes", exit(2, seq(38), 0), true},
		{"processes", exit(2, seq(probeProcesses+1), 0), false},
		{"processes", exit(0, seq(3*probeProcesses), 0), false},
		{"processes", exit(1, "", 0), false},
		{"processes", limitTrial{}, false},
		{"processors", exit(0, "", 99), true},
		{"processors", exit(0, "", 188), false},
		{"processors", exit(0, "", 0), false},
	} {
		for _, p := range limitProbes(2) {
			if p.name != c.probe {
				continue
			}
			if held, detail := p.judge(c.trial); held != c.held || detail == "" {
				t.Errorf("%s: %v, %q for %+v", p.name, held, detail, c.trial)
			}
		}
	}
}

func TestAProbeOfProcessorsOnABusyMachineIsReportedAsInconclusive(t *testing.T) {
	for used, want := range map[float64]bool{19: true, 79: true, 99: false, 120: false} {
		if held, detail := heldProcessors(limitTrial{cpu: used}, 2); !held || strings.Contains(detail, "too busy") != want {
			t.Errorf("%.0f%%: %v, %q", used, held, detail)
		}
	}
}

// On a busy machine, both requests of a measurement can take several seconds each.
func TestAMeasuredProbeRunsMuchLongerThanItsMeasurement(t *testing.T) {
	for _, p := range limitProbes(2) {
		if !p.measured {
			continue
		}
		_, text, _ := strings.Cut(p.script, "sleep ")
		if seconds, err := strconv.Atoi(text); err != nil || time.Duration(seconds)*time.Second < 30*measureTime {
			t.Errorf("%s lasts %q seconds, %v", p.name, text, err)
		}
	}
}

func TestEachProbeOfALimitSetsOneLimit(t *testing.T) {
	names := map[string]bool{}
	for _, p := range limitProbes(2) {
		var run config.Run
		p.set(&run)
		set := 0
		for _, is := range []bool{run.Memory > 0, run.Disk > 0, run.Pids > 0, run.CPUs > 0} {
			if is {
				set++
			}
		}
		if set != 1 || names[p.name] || p.target == "" {
			t.Errorf("%+v sets %+v", p, run)
		}
		names[p.name] = true
	}
}

func TestALimitThatIsNotEnforcedMakesTheProofFail(t *testing.T) {
	if p := NewProof("", []probe.Result{{Name: "limit: memory", Want: probe.Limited}, {OK: true}}); p.Failed != 1 {
		t.Errorf("%+v", p)
	}
}
