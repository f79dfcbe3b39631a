package setup

import (
	"strings"
	"testing"
)

// program is a runsc that others installed.
const program = "#!/bin/sh\necho runsc version release-20260323.0\n"

// registered returns a machine where runtimes.runsc is the JSON object, with OURS and THEIRS
// replaced by the paths of the programs.
func registered(t *testing.T, object string) machine {
	t.Helper()
	m := newMachine(t, map[string]string{runsc: "", "opt/runsc": program})
	m.write(daemonJSON, `{"runtimes": {"runsc": `+strings.NewReplacer("OURS", m.root+"/"+runsc, "THEIRS", m.root+"/opt/runsc").Replace(object)+`}}`)
	return m
}

// ofUser makes the user own the files of the machine, like files in a home.
const ofUser = "uid=$EUID\n"

const rightArgs = `"--ignore-cgroups", "--overlay2=root:self,size=5g"`

func TestACorrectRuntimeOfOthersIsKept(t *testing.T) {
	for _, args := range []string{rightArgs, rightArgs + `, "--platform=kvm", "--network=sandbox"`, `"-ignore-cgroups=true", "-overlay2=root:memory,size=1g", "--systemd-cgroup=false"`} {
		m := registered(t, `{"path": "THEIRS", "runtimeArgs": [`+args+`]}`)
		before := m.read(daemonJSON)
		if got := m.must(ofUser + "need_registration"); got != "" || m.read(daemonJSON) != before {
			t.Errorf("%s: needs %q", args, got)
		}
		if got := m.run(ofUser + "note_foreign_runsc"); !strings.Contains(got.err, "already registered ("+m.root+"/opt/runsc)") {
			t.Errorf("printed %q", got.err)
		}
	}
}

func TestARuntimeThatLetsSandboxesEscapeIsRefusedAndNotChanged(t *testing.T) {
	theirs := func(args string) string { return `{"path": "THEIRS", "runtimeArgs": [` + args + `]}` }
	for name, test := range map[string]struct{ object, lines, want string }{
		"the host's network":                {theirs(rightArgs + `, "--network=host"`), "", "argument --network=host"},
		"sockets of the host":               {theirs(rightArgs + `, "--host-uds=all"`), "", "argument --host-uds=all"},
		"sockets, the older way":            {theirs(rightArgs + `, "--fsgofer-host-uds"`), "", "argument --fsgofer-host-uds"},
		"no gofer":                          {theirs(rightArgs + `, "--directfs"`), "", "argument --directfs"},
		"a log elsewhere":                   {theirs(rightArgs + `, "--debug-log=/tmp/x/"`), "", "argument --debug-log=/tmp/x/"},
		"no sandbox":                        {theirs(rightArgs + `, "--TESTONLY-unsafe-nonroot=true"`), "", "TESTONLY"},
		"another platform":                  {theirs(rightArgs + `, "--platform=mine"`), "", "argument --platform=mine"},
		"a value as an argument of its own": {theirs(rightArgs + `, "--network", "host"`), "", "argument host"},
		"writes to the root":                {theirs(`"--ignore-cgroups", "--overlay2=none"`), "", "argument --overlay2=none"},
		"writes outside the sandbox's view": {theirs(`"--ignore-cgroups", "--overlay2=all:self,size=1g"`), "", "argument --overlay2=all"},
		"no cap":                            {theirs(`"--ignore-cgroups", "--overlay2=root:self"`), "", "argument --overlay2=root:self"},
		"nothing at all":                    {`{"path": "THEIRS"}`, "", "missing: the argument --overlay2=root:self,size=10g"},
		"ours, with the host's network":     {`{"path": "OURS", "runtimeArgs": [` + rightArgs + `, "--network=host"]}`, "", "argument --network=host"},
		"another kind":                      {`{"path": "THEIRS", "runtimeArgs": [` + rightArgs + `], "runtimeType": "mine"}`, "", "unknown setting runtimeType"},
		"no program":                        {`{"path": "/nowhere/runsc", "runtimeArgs": [` + rightArgs + `]}`, "", "/nowhere/runsc) cannot be executed"},
		"found by PATH":                     {`{"path": "runsc", "runtimeArgs": [` + rightArgs + `]}`, "", "(runsc) cannot be executed"},
		"owned by another user":             {theirs(rightArgs), "uid=4242\n", "belongs to another user"},
		"writable by others":                {theirs(rightArgs), "chmod 0777 $root/opt/runsc\n", "others can write to"},
		"in a writable folder":              {theirs(rightArgs), "chmod 0777 $root/opt\n", "others can write to"},
		"an old one":                        {theirs(rightArgs), "sed -i s/20260323/20250101/ $root/opt/runsc\n", "release-20250101.0"},
		"one without a version":             {theirs(rightArgs), "echo '#!/bin/true' >$root/opt/runsc\n", "it reports none"},
	} {
		t.Run(name, func(t *testing.T) {
			m := registered(t, test.object)
			before := m.read(daemonJSON)
			if got := m.must(ofUser + test.lines + "need_registration"); !strings.HasPrefix(got, "by hand: correct runtimes.runsc in ") || !strings.Contains(got, test.want) {
				t.Errorf("needs %q", got)
			}
			got := m.run(ofUser + test.lines + "make_registration")
			if got.code != 3 || !strings.Contains(got.err, test.want) || !strings.Contains(got.err, "--replace-runtime") || m.read(daemonJSON) != before {
				t.Errorf("exit code %d, %q, settings %s", got.code, got.err, m.read(daemonJSON))
			}
		})
	}
}

func TestARuntimeIsReplacedWithConsentAndRestored(t *testing.T) {
	const theirs = `{"path": "THEIRS", "runtimeArgs": ["--network=host"], "runtimeType": "mine"}`
	m := registered(t, theirs)
	before := m.read(daemonJSON)
	m.must(ofUser + "replace_runtime=yes; make_registration")
	ours := `{"runtimes": {"runsc": {"path": "` + m.root + `/` + runsc + `", "runtimeArgs": ["--ignore-cgroups", "--overlay2=root:self,size=10g"]}}}`
	if got := m.read(daemonJSON); !sameJSON(t, got, ours) {
		t.Errorf("replaced: %s", got)
	}
	for _, again := range []string{"", "replace_runtime=yes; "} {
		if got := m.must(ofUser + again + "need_registration"); got != "" {
			t.Errorf("then needs %q", got)
		}
	}
	m.must(ofUser + "undo_registration")
	if got := m.read(daemonJSON); !sameJSON(t, got, before) {
		t.Errorf("rolled back: %s, before: %s", got, before)
	}
	if got := m.must(ofUser + "left_registration"); got != "" {
		t.Errorf("left is %q", got)
	}
}

func TestOurRuntimeIsRepairedWithConsentAndNotRestoredWrong(t *testing.T) {
	m := registered(t, `{"path": "OURS", "runtimeArgs": ["--network=host"]}`)
	m.must(ofUser + "replace_runtime=yes; make_registration")
	if got := m.read(daemonJSON); strings.Contains(got, "host") {
		t.Errorf("replaced: %s", got)
	}
	m.must(ofUser + "undo_registration")
	if got := m.read(daemonJSON); !sameJSON(t, got, `{}`) {
		t.Errorf("rolled back: %s", got)
	}
}
