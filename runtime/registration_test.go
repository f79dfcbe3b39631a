package runtime

import (
	"slices"
	"strings"
	"testing"

	"aibox/internal/fault"
)

func TestUnsafeRuntimeRegistrationIsRejected(t *testing.T) {
	own := []string{"--ignore-cgroups", "--overlay2=root:self,size=10g"}
	for name, test := range map[string]struct {
		change func(*Runtime)
		want   string // "" means accepted
	}{
		"aibox's own":            {func(*Runtime) {}, ""},
		"without a limit":        {func(r *Runtime) { r.Args = nil }, ""}, // limits are not considered
		"harmless arguments":     {func(r *Runtime) { r.Args = append(r.Args, "--platform=kvm", "-network=sandbox") }, ""},
		"the host's network":     {func(r *Runtime) { r.Args = append(r.Args, "--network=host") }, "--network=host"},
		"a value of its own":     {func(r *Runtime) { r.Args = append(r.Args, "-network", "host") }, "-network; "},
		"sockets of the host":    {func(r *Runtime) { r.Args = append(r.Args, "--host-uds=open") }, "--host-uds=open"},
		"the gofer's sockets":    {func(r *Runtime) { r.Args = append(r.Args, "--fsgofer-host-uds") }, "--fsgofer-host-uds"},
		"the host's files":       {func(r *Runtime) { r.Args = append(r.Args, "--directfs") }, "--directfs"},
		"an overlay of all":      {func(r *Runtime) { r.Args = append(r.Args, "--overlay2=all:self") }, "--overlay2=all:self"},
		"one nobody knows":       {func(r *Runtime) { r.Args = append(r.Args, "--new-in-2030") }, "--new-in-2030"},
		"a second line":          {func(r *Runtime) { r.Args = append(r.Args, "--network=sandbox\n--x") }, "--network=sandbox"},
		"a terminal's sequences": {func(r *Runtime) { r.Args = append(r.Args, "--x\x1b[2J") }, `--x\x1b[2J`},
		"another kind":           {func(r *Runtime) { r.Unknown = []string{"runtimeType"} }, "its setting runtimeType"},
		"no program":             {func(r *Runtime) { r.Path = "" }, "does not report its program"},
		"nothing at all":         {func(r *Runtime) { *r = Runtime{} }, "does not report its program"},
	} {
		r := Runtime{Name: "runsc", Path: "/opt/runsc", Args: append([]string(nil), own...)}
		test.change(&r)
		switch err := (Info{Rootless: true}).CheckSafe(r); {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case test.want != "" && (fault.KindOf(err) != fault.Environment || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\x1b") || !strings.Contains(strings.Join(fault.Hints(err), ""), "aibox doctor --fix")):
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOnlyARestorerThatIsRegisteredAsItsRuntimeIsUsed(t *testing.T) {
	args := []string{"--ignore-cgroups", "--overlay2=root:self,size=10g"}
	runsc := Runtime{Name: "runsc", Path: "/opt/runsc", Args: args}
	right := RestorerOf(runsc)
	check := func(runtimes ...Runtime) error { return Info{Runtimes: runtimes}.CheckRestorer("runsc") }
	if err := check(runsc, right); err != nil {
		t.Error(err)
	}
	changes := map[string]func(*Runtime){
		"another program":      func(r *Runtime) { r.Path = "/tmp/runsc-restore" },
		"another runsc":        func(r *Runtime) { r.Args[0] = "--aibox-runsc=/tmp/runsc" },
		"a further argument":   func(r *Runtime) { r.Args = append(r.Args, "--network=host") },
		"a missing argument":   func(r *Runtime) { r.Args = r.Args[:2] },
		"an unknown setting":   func(r *Runtime) { r.Unknown = []string{"runtimeType"} },
		"under another name":   func(r *Runtime) { r.Name = "other" },
		"arguments reordered":  func(r *Runtime) { r.Args[1], r.Args[2] = r.Args[2], r.Args[1] },
		"no arguments at all":  func(r *Runtime) { r.Args = nil },
		"its runsc comes last": func(r *Runtime) { r.Args = append(slices.Clone(r.Args[1:]), r.Args[0]) },
	}
	for name, change := range changes {
		restorer := right
		restorer.Args = slices.Clone(right.Args)
		change(&restorer)
		if err := check(runsc, restorer); fault.KindOf(err) != fault.Environment {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, runtimes := range map[string][]Runtime{"no restorer": {runsc}, "no runtime": {right}} {
		if err := check(runtimes...); fault.KindOf(err) != fault.Environment {
			t.Errorf("%s: %v", name, err)
		}
	}
	unsafe := Runtime{Name: "runsc", Path: "/opt/runsc", Args: []string{"--network=host"}}
	if err := check(unsafe, RestorerOf(unsafe)); fault.KindOf(err) != fault.Environment {
		t.Errorf("an unsafe runtime: %v", err)
	}
}

func TestARefusedRuntimeOfTheSystemsDockerIsRegisteredByTheUser(t *testing.T) {
	err := Info{}.CheckSafe(Runtime{Name: "runsc", Path: "/opt/runsc", Args: []string{"--network=host"}})
	if hints := fault.Hints(err); len(hints) != 1 || hints[0] != SystemRegistration {
		t.Errorf("%v, hints %q", err, hints)
	}
}
