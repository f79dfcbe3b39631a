package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/internal/fault"

	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"
)

func TestFlagsGiveThePermissionsOfASandbox(t *testing.T) {
	for line, want := range map[string]*aiboxv1.Permissions{
		"":                            nil,
		"--root":                      {Root: true},
		"--root=false":                {},
		"--write /data,/home/user":    {Write: &aiboxv1.PatternList{Patterns: []string{"/data", "/home/user"}}},
		"--write=":                    {Write: &aiboxv1.PatternList{}},
		"--hide /etc/a,b --hide /x*":  {Hidden: &aiboxv1.PatternList{Patterns: []string{"/etc/a,b", "/x*"}}},
		"--no-children":               {NoChildProcesses: true},
		"--max-processes 5":           {MaxProcesses: 5},
		"--inbound 80,3000":           {InboundPorts: &aiboxv1.PortList{Ports: []uint32{80, 3000}}},
		"--inbound=":                  {InboundPorts: &aiboxv1.PortList{}},
		"--inbound 80 --inbound 3000": {InboundPorts: &aiboxv1.PortList{Ports: []uint32{80, 3000}}},
	} {
		var p permissionFlags
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		p.add(flags)
		if err := flags.Parse(strings.Fields(line)); err != nil {
			t.Fatal(err)
		}
		got, err := p.permissions(flags)
		if err != nil || (got == nil) != (want == nil) || !proto.Equal(got, want) {
			t.Errorf("%q gives %v, %v", line, got, err)
		}
	}
	var p permissionFlags
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	p.add(flags)
	flags.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(permissionNames, f.Name) {
			t.Errorf("--%s alone changes nothing", f.Name)
		}
	})
}

// The API checks permissions before it looks for an image, so that no daemon is needed.
func TestPermissionsThatCannotBeEnforcedAreRefused(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	for line, want := range map[string]struct {
		kind fault.Kind
		text string
	}{
		"--root --write /data":                 {fault.Refused, "cannot be enforced on root"},
		"--root --no-children":                 {fault.Refused, "cannot be enforced on root"},
		"--write /home/*":                      {fault.Refused, "it is given to whole folders"},
		"--write data":                         {fault.Usage, "an absolute path"},
		"--hide secrets":                       {fault.Usage, "is not a pattern of hidden files"},
		"--max-processes -1":                   {fault.Usage, "-1 is not a number of processes"},
		"--inbound 0":                          {fault.Usage, "0 is not a port"},
		"--inbound http":                       {fault.Usage, `--inbound takes ports, not "http"`},
		"--inbound 65536":                      {fault.Usage, `--inbound takes ports, not "65536"`},
		"--template codex --write /workspace/": {fault.Usage, "an absolute path"},
		"--template codex --no-children":       {fault.Refused, "cannot be enforced on root"},
	} {
		a, out, _ := testApp(t)
		err := a.execute(t.Context(), append([]string{"sandbox", "create"}, strings.Fields(line)...))
		if fault.KindOf(err) != want.kind || !strings.Contains(err.Error(), want.text) || out.Len() > 0 {
			t.Errorf("create %s: %v (%v)", line, err, fault.KindOf(err))
		}
	}
}

func TestASandboxIsShownWithItsPermissions(t *testing.T) {
	show := func(p *aiboxv1.Permissions) string {
		var out bytes.Buffer
		if err := table(&out, "", permissionRows(p)); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(out.String()), " ")
	}
	if got := show(&aiboxv1.Permissions{}); got != "" {
		t.Errorf("without any: %s", got)
	}
	want := `write access /data, /tmp, volumes hidden files /x\x1b child processes refused of its user 5 processes inbound ports 80, 3000`
	if got := show(&aiboxv1.Permissions{
		Write: &aiboxv1.PatternList{Patterns: []string{"/data"}}, Hidden: &aiboxv1.PatternList{Patterns: []string{"/x\x1b"}},
		NoChildProcesses: true, MaxProcesses: 5, InboundPorts: &aiboxv1.PortList{Ports: []uint32{80, 3000}},
	}); got != want {
		t.Errorf("shown as %s", got)
	}
	if got := show(&aiboxv1.Permissions{Root: true, InboundPorts: &aiboxv1.PortList{}}); got != "root allowed inbound ports none" {
		t.Errorf("shown as %s", got)
	}
}

func TestASandboxIsShownWithItsLimitsAsUsersReadThem(t *testing.T) {
	for want, s := range map[string]*aiboxv1.Sandbox{
		"id 0dq4f | memory 5.9 GiB | processors 1.5 | processes 1":                         {SandboxId: "0dq4f", Limits: &aiboxv1.Limits{MemoryMib: proto.Int64(6026), Cpus: proto.Float64(1.5), Processes: proto.Int32(1)}},
		"id 0dq4f | name job | memory no limit | processors no limit | processes no limit": {SandboxId: "0dq4f", Name: "job"},
	} {
		a, out, _ := testApp(t)
		if err := printSandbox(a.console, s); err != nil {
			t.Fatal(err)
		}
		var lines []string
		for line := range strings.Lines(out.String()) {
			fields := strings.Fields(line)
			if slices.Contains([]string{"id", "name", "memory", "processors", "processes"}, fields[0]) {
				lines = append(lines, strings.Join(fields, " "))
			}
		}
		if got := strings.Join(lines, " | "); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}
