package e2e

import (
	"archive/tar"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"aibox/app/cleanup"
)

func TestDiscardedWorkIsShownRestoredAndContinued(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", map[string]string{"a.txt": "a\n"})
	id := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--json", "--", "sh", "-c", "echo one > one.txt; rm a.txt")).ID
	m.aibox(0, "discard", id)
	if o := m.aibox(2, "discard", id); !strings.Contains(o.stderr, "already discarded") {
		t.Errorf("a second discard prints\n%s", o)
	}
	if o := m.aibox(0, "recover", id[:5]); !strings.Contains(o.stdout, id) || !strings.Contains(o.stdout, "2 files +1 -1") || !strings.Contains(o.stdout, "discarded") {
		t.Errorf("the list is\n%s", o)
	}
	patch := m.aibox(0, "recover", id, "--ref", "1", "--diff").stdout
	m.write(filepath.Join(m.home, "work.patch"), patch)
	m.git(repo, "apply", "--check", filepath.Join(m.home, "work.patch"))
	mine := filepath.Join(m.home, "agent_workspace/p/mine.txt") // the folder's name is taken
	m.write(mine, "mine")
	path := strings.TrimSpace(m.aibox(0, "recover", id, "--to-workspace").stdout)
	if m.read(path, "one.txt") != "one\n" || m.read(mine) != "mine" || filepath.Dir(mine) == path {
		t.Errorf("the work is back in %s", path)
	}
	if o := m.aibox(2, "recover", id, "--to-workspace"); !strings.Contains(o.stderr, "does not overwrite") {
		t.Errorf("a second time prints\n%s", o)
	}
	next := m.ended(m.aibox(0, "run", "--resume", id, "--json", "--", "sh", "-c", "git status --short > two.txt; cat one.txt >> two.txt"))
	if got := m.read(path, "two.txt"); got != " D a.txt\n?? one.txt\n?? two.txt\none\n" {
		t.Errorf("the next agent sees %q", got)
	}
	// The states of the first are those of the second, too.
	if o := m.aibox(0, "recover", next.ID); !strings.Contains(o.stdout, "continued") || !strings.Contains(o.stdout, "discarded") {
		t.Errorf("the list of the second is\n%s", o)
	}
	branch := strings.TrimSpace(m.aibox(0, "recover", next.ID, "--ref", "1", "--branch", "back").stdout)
	if files := m.git(repo, "diff", "--name-only", "HEAD", branch); files != "a.txt\none.txt\n" {
		t.Errorf("the branch changes %q", files)
	}
	m.aibox(0, "rm", "--force", next.ID)
	if o := m.aibox(2, "recover", next.ID, "--to-workspace"); !strings.Contains(o.stderr, "its record is gone") && !strings.Contains(o.stderr, "the record of "+next.ID+" is gone") {
		t.Errorf("without a record the output is\n%s", o)
	}
	for want, args := range map[string][]string{
		"nothing of " + id: {"recover", id, "--ref", "99"},
		"no session":       {"recover", "zzzzz"},
		"used together":    {"recover", id, "--diff", "--to-workspace"},
		"--branch needs":   {"recover", id, "--branch", "x"},
	} {
		if o := m.aibox(2, args...); !strings.Contains(o.stderr, want) || !strings.Contains(o.stderr, "→") {
			t.Errorf("%q prints\n%s", args, o)
		}
	}
}

var (
	regexpEnded = regexp.MustCompile(`"ended": "[^"]*"`)
	regexpImage = regexp.MustCompile(`"image": "[^"]*"`)
)

// collect runs a clean-up and returns its report.
func (m *machine) collect(args ...string) cleanup.Report {
	m.t.Helper()
	o := m.aibox(0, append([]string{"gc", "--json"}, args...)...)
	var r cleanup.Report
	if err := json.Unmarshal([]byte(o.stdout), &r); err != nil {
		m.t.Fatalf("%v\n%s", err, o)
	}
	return r
}

// of is what went of a kind.
func of(r cleanup.Report, kind cleanup.Kind) []string {
	for _, f := range r.Freed {
		if f.Kind == kind {
			return f.Names
		}
	}
	return nil
}

// aged makes it look as if a session had ended that long ago.
func (m *machine) aged(id string, age time.Duration) {
	m.t.Helper()
	m.tidied()
	file, then := filepath.Join(m.sessions(), id, "state.json"), time.Now().Add(-age)
	state := regexpEnded.ReplaceAllString(m.read(file), `"ended": "`+then.UTC().Format(time.RFC3339)+`"`)
	if err := os.WriteFile(file, []byte(state), 0o600); err != nil {
		m.t.Fatal(err)
	}
	if err := os.Chtimes(file, then, then); err != nil {
		m.t.Fatal(err)
	}
}

// Not in parallel, because other tests hold what this one expects to be removed.
func TestACleanUpRemovesOnlyWhatIsReviewedAndOld(t *testing.T) {
	m := newMachine(t)
	repo := m.repo("p", nil)
	run := func(command string) string {
		return m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--json", "--", "sh", "-c", command)).ID
	}
	// The agent leaves files of another user and a folder that cannot be read.
	reviewed := run("echo one > one.txt; mkdir -p x/y; echo z > x/y/z; chown -R 1234:1234 x; chmod 0 x/y")
	young, unreviewed := run("echo two > two.txt"), run("echo three > three.txt")
	m.aibox(0, "accept", reviewed)
	m.aibox(0, "accept", young)
	running := m.detached("shell", "--network", "none", "--repo", repo, "--", "sh", "-c", worker)
	defer m.aibox(0, "stop", running)
	const old = 40 * 24 * time.Hour
	m.aged(reviewed, old)
	m.aged(unreviewed, old)
	dry := m.collect("--dry-run")
	if got := of(dry, cleanup.KindSessions); !slices.Equal(got, []string{reviewed}) {
		t.Fatalf("the dry run takes %q: %+v", got, dry)
	}
	bridge := m.networkOf(running)
	real := m.collect()
	if got := of(real, cleanup.KindSessions); !slices.Equal(got, []string{reviewed}) {
		t.Errorf("it takes %q", got)
	}
	if len(real.Kept) != 1 || real.Kept[0].What != "session "+unreviewed {
		t.Errorf("kept is %+v", real.Kept)
	}
	if slices.Contains(of(real, cleanup.KindNetworks), bridge) || !m.network(bridge) {
		t.Error("the network of the running session is gone")
	}
	for _, name := range of(real, cleanup.KindNetworks) {
		if m.network(name) {
			t.Errorf("the network %s is still there", name)
		}
	}
	for _, folder := range []string{filepath.Join(m.sessions(), reviewed), filepath.Join(m.home, "agent_workspace/p")} {
		if _, err := os.Lstat(folder); !os.IsNotExist(err) {
			t.Errorf("%s is still there", folder)
		}
	}
	if o := m.aibox(0, "recover", reviewed); !strings.Contains(o.stdout, "collected") {
		t.Errorf("what was removed cannot be brought back:\n%s", o)
	}
	for id, want := range map[string]string{unreviewed: "three.txt", young: "two.txt"} {
		if o := m.aibox(0, "diff", id); !strings.Contains(o.stdout, want) {
			t.Errorf("the work of %s is gone:\n%s", id, o)
		}
	}
	if o := m.aibox(0, "gc"); !strings.Contains(o.stderr, "kept: session "+unreviewed+": not all of its work has been reviewed") {
		t.Errorf("the output is\n%s", o)
	}
	m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--", "true")
	if o := m.aibox(2, "gc", "--older-than", "soon"); !strings.Contains(o.stderr, "must be a duration") {
		t.Errorf("an age that is none prints\n%s", o)
	}
	m.aibox(2, "gc", "x")
}

// networkOf is the bridge that a running session holds.
func (m *machine) networkOf(id string) string {
	m.t.Helper()
	return m.record(id).State.Network.Bridge
}

func (m *machine) network(name string) bool {
	return m.exec("docker", "network", "inspect", name).code == 0
}

// After a cleanup was killed or interrupted, the next one can continue.
func TestACleanUpThatIsKilledLosesNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", nil)
	const old = 40 * 24 * time.Hour
	var reviewed []string
	for n := range 2 {
		id := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--json", "--", "sh", "-c",
			fmt.Sprintf("for d in $(seq 20); do mkdir -p d$d; for f in $(seq 25); do echo %d > d$d/$f; done; done", n))).ID
		m.aibox(0, "accept", id)
		m.aged(id, old)
		reviewed = append(reviewed, id)
	}
	unreviewed := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--json", "--", "sh", "-c", "echo mine > mine.txt")).ID
	m.aged(unreviewed, old)
	for try := range 4 {
		b := m.start("gc", "--older-than", "30d")
		pause := time.NewTimer(time.Duration(try*40+20) * time.Millisecond)
		select {
		case <-pause.C:
		case <-b.done:
		}
		_ = b.Process.Signal([]os.Signal{syscall.SIGKILL, syscall.SIGTERM}[try%2])
		<-b.done
		if o := m.aibox(0, "diff", unreviewed); !strings.Contains(o.stdout, "mine.txt") {
			t.Fatalf("after try %d the work is gone:\n%s", try, o)
		}
		if o := m.aibox(0, "ls"); strings.Contains(o.stderr, "damaged") {
			t.Errorf("after try %d: %s", try, o)
		}
	}
	m.collect()
	if o := m.aibox(0, "ls"); strings.Count(o.stdout, "\n") != 2 || !strings.Contains(o.stdout, unreviewed) {
		t.Errorf("the list is\n%s", o)
	}
	for _, id := range reviewed {
		if o := m.aibox(0, "recover", id); !strings.Contains(o.stdout, "collected") || !strings.Contains(o.stdout, "500 files") {
			t.Errorf("what was removed of %s cannot be brought back:\n%s", id, o)
		}
	}
}

// These images are used by this test alone: their agent is unique, and they look older than
// all others.
func TestACleanUpRemovesOutdatedImagesAndKeepsNeededOnes(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.cleansImages = true
	cleaning.Lock()
	defer cleaning.Unlock()
	agent := "gctest" + strings.ToLower(rand.Text()[:8])
	m.customAgent(agent, example(t))
	var refs []string
	for year := 2001; year <= 2005; year++ {
		refs = append(refs, m.loadImage(agent, year))
	}
	// The first two can go; the third has a container, a session names the fourth, and
	// the fifth is the newest.
	container := strings.TrimSpace(m.exec("docker", "create", "--runtime", "runc", refs[2], "/nothing").stdout)
	defer m.exec("docker", "rm", container)
	id := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", m.repo("p", nil), "--json", "--", "true")).ID
	m.tidied()
	spec := filepath.Join(m.sessions(), id, "spec.json")
	m.write(spec, regexpImage.ReplaceAllString(m.read(spec), `"image": "`+refs[3]+`"`))
	const before2010 = "--older-than=140000h"
	mine := func(names []string) []string {
		return slices.DeleteFunc(names, func(name string) bool { return !strings.Contains(name, agent) })
	}
	if got := of(m.collect("--dry-run", before2010), cleanup.KindImages); len(mine(got)) != len(got) || !slices.Contains(got, refs[0]) {
		t.Fatalf("a dry run takes %q", got) // whatever is not ours must not go here
	}
	r := m.collect(before2010)
	got := of(r, cleanup.KindImages)
	slices.Sort(got)
	if !slices.Equal(got, refs[:2]) {
		t.Errorf("it takes %q, not %q", got, refs[:2])
	}
	for i, ref := range refs {
		if there := m.exec("docker", "image", "inspect", ref).code == 0; there != (i > 1) {
			t.Errorf("%s is there: %v", ref, there)
		}
	}
	if err := os.Remove(filepath.Join(m.home, ".config/aibox/agents", agent+".toml")); err != nil {
		t.Fatal(err)
	}
	if got := of(m.collect(before2010), cleanup.KindImages); !slices.Equal(got, refs[4:]) {
		t.Errorf("without the agent, it takes %q, not %q", got, refs[4:])
	}
	if !slices.ContainsFunc(r.Kept, func(k cleanup.Kept) bool { return k.What == "image "+refs[2] }) {
		t.Errorf("kept is %+v", r.Kept)
	}
}

// loadImage makes an image that looks as if it had been baked in a year.
func (m *machine) loadImage(agent string, year int) string {
	m.t.Helper()
	ref := fmt.Sprintf("aibox/%s:%d", agent, year)
	layer := archive(m.t, map[string][]byte{"year": fmt.Appendf(nil, "%s %d", agent, year)})
	sum := sha256.Sum256(layer)
	config, err := json.Marshal(map[string]any{
		"architecture": "amd64", "os": "linux", "created": fmt.Sprintf("%d-01-01T00:00:00Z", year),
		"config": map[string]any{"Labels": map[string]string{"aibox.recipe": strings.Repeat("0", 60) + fmt.Sprint(year), "aibox.agent": agent}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + hex.EncodeToString(sum[:])}},
	})
	if err != nil {
		m.t.Fatal(err)
	}
	manifest, err := json.Marshal([]map[string]any{{"Config": "config.json", "RepoTags": []string{ref}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		m.t.Fatal(err)
	}
	file := filepath.Join(m.home, "image.tar")
	m.write(file, string(archive(m.t, map[string][]byte{"config.json": config, "layer.tar": layer, "manifest.json": manifest})))
	if o := m.exec("docker", "load", "-q", "-i", file); o.code != 0 {
		m.t.Fatal(o)
	}
	m.t.Cleanup(func() { m.exec("docker", "rmi", ref) })
	return ref
}

// archive is a tar of files.
func archive(t testing.TB, files map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for name, content := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write(content)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
