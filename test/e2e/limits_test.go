package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// sizeOf is the size of one of a session's files in bytes.
func (m *machine) sizeOf(id, file string) int64 {
	m.t.Helper()
	info, err := os.Stat(filepath.Join(m.sessions(), id, file))
	if err != nil {
		m.t.Fatal(err)
	}
	return info.Size()
}

// An agent that prints byte by byte once made an index of 24 bytes for each of them,
// which no limit counted.
func TestOutputInTinyPiecesMakesASmallIndex(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	r := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", m.repo("p", nil), "--json", "--",
		"perl", "-e", `for (1..20000) { syswrite STDOUT, "x"; syswrite STDERR, "y" if $_ % 50 == 0 }`))
	raw, index := m.sizeOf(r.ID, "output.raw"), m.sizeOf(r.ID, "output.idx")
	if raw != 20_400 || index > raw/4 {
		t.Errorf("the record has %d bytes, its index %d", raw, index)
	}
}

// floods are programs that send endless output which is expensive for a terminal emulator.
var floods = map[string]string{
	"repeated characters": `$|=1; print "x\e[99999b" x 4000 while 1`,
	"lines at the top":    `$|=1; print "\e[H\e[Lflood" x 4000 while 1`,
	"an erased screen":    `$|=1; print "\e[?1049h\e[2J\e[Hflood\e[?1049l" x 4000 while 1`,
}

// The terminal emulator once took seconds for 39 KB of output, and `aibox stop` took as
// long, because the agent's exit was queued behind the output.
func TestAnAgentThatFloodsItsScreenIsSeenAndStopped(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for name, flood := range floods {
		id := m.detached("shell", "-i", "--network", "none", "--repo", m.repo(strings.ReplaceAll(name, " ", "-"), nil), "--", "perl", "-e", flood)
		s := m.onTerminal("attach", id)
		s.awaitShown(`xxxxxxxx|flood`)
		if o := m.aibox(0, "ls"); !strings.Contains(o.stdout, "running") {
			t.Errorf("%s: ls prints\n%s", name, o)
		}
		if o := m.aibox(0, "logs", "--screen", id); !strings.Contains(o.stdout, "xxxx") && !strings.Contains(o.stdout, "flood") && name != "an erased screen" {
			t.Errorf("%s: the screen is\n%s", name, o)
		}
		s.typed("\x10\x11")
		s.ends(0)
		m.aibox(0, "stop", id)
		// An agent that had to be killed, because its exit was not reported in time, has no
		// exit code.
		if end := m.record(id).State.Result; end.ExitCode == -1 {
			t.Errorf("%s: the end of the agent was not reported: %+v", name, end)
		}
	}
}

// fills writes up to 1.2 GiB to every writable mount of the sandbox, and prints the result
// for each. It does not fill the root, the workspace and /dev; see below.
const fills = `
open my $mounts, '<', '/proc/mounts' or die $!;
for (<$mounts>) {
  my (undef, $path, $type, $options) = split;
  next if $options =~ /^ro\b/ || $type =~ /^(proc|sysfs|cgroup|devpts)$/;
  if ($path =~ m{^(/|/workspace|/dev)$}) { print "$path $type only looked at\n"; next }
  my $file = -d $path ? "$path/fill" : $path;
  my ($block, $written, $end) = ('x' x (1 << 20), 0, 'no end');
  if (open my $out, '>>', $file) {
    while ($written < 1200 << 20) {
      my $n = syswrite $out, $block;
      if (!defined $n) { $end = "$!"; last }
      $written += $n;
    }
  } else { $end = "$!" }
  unlink $file;
  printf "%s %s %s after %d MiB\n", $path, $type, $end, $written >> 20;
}
print ` + "`df -k /`" + `;
`

// filled are the lines that fills prints, by mount.
func filled(out string) map[string]string {
	lines := map[string]string{}
	for line := range strings.Lines(out) {
		path, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		lines[path] = rest
	}
	return lines
}

// Docker's own /etc/hosts and /etc/hostname were files of the host that a sandbox could fill. A new
// mount that can be filled makes this fail. Not tested here: only the free space of the disk limits
// the workspace, and the sandbox's memory limits /dev, which gVisor keeps in memory.
func TestEveryMountOfASandboxHasALimit(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	o := m.aibox(0, "run", "shell", "--network", "none", "--repo", m.repo("p", nil), "--", "perl", "-e", fills)
	known := map[string]string{
		"/":          "overlay only looked at",
		"/dev":       "dev only looked at",
		"/workspace": "9p only looked at",
		"/tmp":       "tmpfs No space left on device after 1024 MiB",
		"/dev/shm":   "tmpfs No space left on device after 64 MiB",
	}
	var size, used int64
	for path, how := range filled(o.stdout) {
		if path == "none" {
			_, _ = fmt.Sscan(how, &size, &used)
			continue
		}
		if want, ok := known[path]; path != "Filesystem" && (!ok || how != want) {
			t.Errorf("%s: %s", path, how)
		}
	}
	if size == 0 || size > 10<<20 {
		t.Errorf("the root may grow to %d KiB:\n%s", size, o.stdout)
	}
}

// withVolumes makes an image from aibox's base that declares volumes.
func (m *machine) withVolumes(volumes ...string) string {
	m.t.Helper()
	base := strings.TrimSpace(m.aibox(0, "bake", "base").stdout)
	dir, err := os.MkdirTemp(m.home, "volumes-")
	if err != nil {
		m.t.Fatal(err)
	}
	file := "FROM " + base + "\nRUN mkdir -p /data && echo of the image > /data/file\n"
	for _, volume := range volumes {
		file += fmt.Sprintf("VOLUME [%q]\n", volume)
	}
	m.write(filepath.Join(dir, "Dockerfile"), file)
	ref := "aibox-e2e-" + strings.ToLower(filepath.Base(dir))
	if o := m.exec("docker", "build", "-q", "-t", ref, dir); o.code != 0 {
		m.t.Fatalf("the image with volumes: %s", o)
	}
	m.t.Cleanup(func() { m.exec("docker", "rmi", "-f", ref) })
	return ref
}

// Docker makes a folder of the host for each volume of an image, which nothing limited.
func TestTheVolumesOfAnImageHaveALimit(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", nil)
	ref := m.withVolumes("/data", "/var/cache/thing/", "/workspace")
	o := m.aibox(0, "run", "shell", "--network", "none", "--image", ref, "--repo", repo, "--", "perl", "-e",
		fills+`print "kept\n" if -e "/workspace/README"; mkdir "/data/d"; system("cp /bin/true /data/t && /data/t && echo runs")`)
	lines := filled(o.stdout)
	for _, volume := range []string{"/data", "/var/cache/thing"} {
		if lines[volume] != "tmpfs No space left on device after 512 MiB" {
			t.Errorf("%s: %q", volume, lines[volume])
		}
	}
	if !strings.Contains(o.stdout, "kept\n") || !strings.Contains(o.stdout, "runs\n") || !strings.Contains(o.stderr, "in memory, up to 512 MiB each: /data, /var/cache/thing") {
		t.Errorf("the output is\n%s", o)
	}
	id := m.detached("shell", "--network", "none", "--image", ref, "--repo", repo, "--", "sleep", "1000")
	if container := m.record(id).State.Container; strings.Contains(m.exec("docker", "inspect", "--format", "{{json .Mounts}}", container).stdout, `"volume"`) {
		t.Error("Docker has made a volume")
	}
	m.aibox(0, "stop", id)
}

func TestAnImageWhoseVolumeWouldLoseTheWorkIsRefused(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	ref := m.withVolumes("/workspace/node_modules")
	o := m.aibox(3, "run", "shell", "--network", "none", "--image", ref, "--repo", m.repo("p", nil), "--", "true")
	if !strings.Contains(o.stderr, `the volume "/workspace/node_modules"`) || !strings.Contains(o.stderr, "would be lost") || !strings.Contains(o.stderr, "→") {
		t.Errorf("the output is\n%s", o)
	}
	if left := glob(t, filepath.Join(m.home, "agent_workspace/p*")); len(left) > 0 || len(m.stored()) > 0 {
		t.Errorf("%q and %d sessions are left", left, len(m.stored()))
	}
}

// A state folder once grew by 300 MB without a warning.
func TestAStateFolderHasALimit(t *testing.T) {
	t.Parallel()
	for name, fill := range map[string]string{
		"large files":      `for i in $(seq 300); do head -c 1048576 /dev/zero > ~/.bot/$i; done; head -c 1000000000 /dev/zero > ~/.bot/more`,
		"hidden by rights": `mkdir ~/.bot/d; head -c 60000000 /dev/zero > ~/.bot/d/x; chmod 0 ~/.bot/d`,
		"of another user":  `mkdir ~/.bot/d; head -c 60000000 /dev/zero > ~/.bot/d/x; chown 1000 ~/.bot/d; chmod 700 ~/.bot/d`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.customAgent("bot", bot("~/.bot"))
			o := m.aibox(5, "run", "bot", "--network", "none", "--repo", m.repo("p", nil), "--state-size", "32", "--prompt",
				"echo work > work.txt; "+fill+"; sleep 1000")
			if !strings.Contains(o.stderr, "conversation folders") || !strings.Contains(o.stderr, "--state-size") {
				t.Errorf("the output is\n%s", o)
			}
			r := m.stored()[0]
			if o := m.aibox(0, "diff", r.ID); !strings.Contains(o.stdout, "+work") {
				t.Errorf("the work is lost:\n%s", o)
			}
			if text := m.read(m.sessions(), r.ID, "audit.jsonl"); !strings.Contains(text, "limit.reached") {
				t.Errorf("the log has\n%s", text)
			}
			m.aibox(0, "rm", "--force", r.ID) // also what another user of the sandbox owns
		})
	}
}

func TestAStateFolderThatFillsUpIsReportedBeforeItsLimit(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.customAgent("bot", bot("~/.bot"))
	b := m.start("run", "bot", "--network", "none", "--repo", m.repo("p", nil), "--state-size", "50", "--prompt",
		"head -c 45000000 /dev/zero > ~/.bot/x; until test -e go; do sleep 0.1; done; head -c 45000000 /dev/zero > ~/.bot/y; sleep 2; echo done")
	b.stderr.await(t, "conversation folders take 4")
	if o := m.aibox(0, "answer", "--json"); !strings.Contains(o.stdout, `"what": "state"`) {
		t.Errorf("the questions are\n%s", o)
	}
	m.aibox(0, "answer", m.stored()[0].ID, "yes")
	m.write(filepath.Join(m.stored()[0].State.Workspace.Path, "go"), "")
	if code := b.wait(); code != 0 {
		t.Errorf("it ends with %d:\n%s", code, b.stderr.String())
	}
}

// What a sandbox writes outside the workspace would fill the host's disk.
func TestARuntimeWithoutALimitOfTheRootIsRefusedUnlessTheUserAllowsIt(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	d := newDaemonWith(m, []string{"--ignore-cgroups"})
	image, repo := d.image(), m.repo("p", nil)
	args := []string{"run", "shell", "--network", "none", "--image", image, "--repo", repo}
	o := m.aibox(3, append(args, "--", "/worker")...)
	if !strings.Contains(o.stderr, "are not limited") || !strings.Contains(o.stderr, "aibox doctor --fix") || len(m.stored()) > 0 {
		t.Errorf("the output is\n%s", o)
	}
	if o := m.exec(aibox, "doctor"); o.code != 3 || !strings.Contains(o.stdout, "are not limited") {
		t.Errorf("doctor prints\n%s", o)
	}
	m.write(filepath.Join(repo, ".aibox.toml"), "allow-degraded = true\n")
	if o := m.aibox(2, append(args, "--", "/worker")...); !strings.Contains(o.stderr, "cannot set") {
		t.Errorf("a repository allows it:\n%s", o)
	}
	if err := os.Remove(filepath.Join(repo, ".aibox.toml")); err != nil {
		t.Fatal(err)
	}
	o = m.aibox(0, append(args, "--allow-degraded", "--", "/worker")...)
	if !strings.Contains(o.stderr, "! limits     not enforced: writes outside the workspace are not limited") {
		t.Errorf("the output is\n%s", o)
	}
	id := m.stored()[0].ID
	if text := m.read(m.sessions(), id, "state.json"); !strings.Contains(text, `"degraded": [`) {
		t.Errorf("the record does not show so:\n%s", text)
	}
	m.tidied()
}

// With --host-uds a sandbox connects to whatever socket of the host it sees, and no probe in
// the sandbox notices.
func TestARuntimeThatMayLetSandboxesEscapeIsAlwaysRefused(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	d := newDaemonWith(m, []string{"--ignore-cgroups", "--host-uds=all"})
	args := []string{"run", "shell", "--network", "none", "--image", d.image(), "--repo", m.repo("p", nil)}
	for _, allow := range [][]string{nil, {"--allow-degraded"}} {
		o := m.aibox(3, append(append(args, allow...), "--", "/worker")...)
		if !strings.Contains(o.stderr, "its argument --host-uds=all") || !strings.Contains(o.stderr, "aibox doctor --fix") || strings.Contains(o.stderr, "--allow-degraded") {
			t.Errorf("with %q the output is\n%s", allow, o)
		}
		if left := m.leftContainers(); len(left) > 0 || len(m.stored()) > 0 {
			t.Errorf("with %q containers %q and %d sessions are left", allow, left, len(m.stored()))
		}
	}
	if o := m.exec(aibox, "doctor"); o.code != 3 || !strings.Contains(o.stdout, "its argument --host-uds=all") {
		t.Errorf("doctor prints\n%s", o)
	}
	m.tidied()
}

// forger imitates aibox's own rows and tries to change those that are there.
const forger = `
printf '✓ probes     99 of 99 passed\n'
printf 'working…\r\033[2K✓ forged by return\n'
printf '\033[3A\033[2K\r✓ forged above\033[3B\n'
printf '%0117d✓ forged at the edge\n' 0
printf 'on standard error\r✓ forged there\n' >&2
printf '\033[30;40;8m'
`

// Followed output once could look like aibox's own rows in every cell.
func TestAnAgentThatIsFollowedCannotImitateAiboxOnATerminal(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", nil)
	s := m.onTerminal("run", "shell", "--network", "none", "--repo", repo, "--", "sh", "-c", forger)
	s.ends(0)
	id := m.stored()[0].ID
	follow := m.onTerminal("logs", "-f", id)
	follow.ends(0)
	for _, shown := range []string{s.shown(), follow.shown()} {
		forged := 0
		for row := range strings.Lines(allowed.ReplaceAllString(shown, "")) {
			if strings.Contains(row, "forged") || strings.Contains(row, "99 of 99") {
				forged++
				if !strings.HasPrefix(row, "│ ") {
					t.Errorf("a forged row has no mark: %q", row)
				}
			}
		}
		if forged != 5 {
			t.Errorf("%d forged rows:\n%s", forged, shown)
		}
	}
	for _, own := range []string{`(?m)^✓ probes +17 of 17`, `(?m)^nothing was changed`, `(?m)^` + id} {
		if !regexp.MustCompile(own).MatchString(allowed.ReplaceAllString(s.shown(), "")) {
			t.Errorf("%q is not shown:\n%s", own, s.shown())
		}
	}
	// What programs read is as the agent printed it.
	if o := m.aibox(0, "logs", id); !strings.HasPrefix(o.stdout, "✓ probes     99 of 99") || strings.Contains(o.stdout, "│") {
		t.Errorf("in a pipe it is\n%s", o)
	}
}
