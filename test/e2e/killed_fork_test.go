package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// The snapshot of a fork is deleted by the command. If the command or the server is killed, it
// expires.
func TestTheSnapshotOfAForkThatIsKilledExpires(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.serve("local")
	id := s.create(`{"timeout":"900s"}`)
	t.Cleanup(func() { m.aibox(0, "sandbox", "rm", id) })
	manifests := func() []string {
		return glob(t, filepath.Join(m.home, ".local/share/aibox/snapshots/local/snap-*/manifest.json"))
	}
	for _, victim := range []string{"the client", "the server"} {
		fork := m.start("sandbox", "fork", id)
		eventually(t, hung, "the snapshot is there", func() bool { return len(manifests()) == 1 })
		if victim == "the client" {
			fork.kill()
		} else {
			_ = s.Process.Kill()
			s.ends(-1)
			fork.wait()
			s.start()
		}
		eventually(t, 2*hung, "the sandbox of the fork is gone", func() bool { return slices.Equal(m.alive(), []string{id}) })
		left := manifests()
		if len(left) != 1 {
			t.Fatalf("%s was killed too late: %q", victim, left)
		}
		var manifest map[string]json.RawMessage
		decode(t, m.read(left[0]), &manifest)
		var expires time.Time
		if err := json.Unmarshal(manifest["expires"], &expires); err != nil || time.Until(expires) > time.Hour {
			t.Fatalf("the snapshot of a fork without %s expires at %v, %v", victim, expires, err)
		}
		manifest["expires"] = json.RawMessage(`"2020-01-01T00:00:00Z"`) // time passes
		data, err := json.Marshal(manifest)
		if err == nil {
			err = os.WriteFile(left[0], data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		m.aibox(0, "ls", "--json")
		if left := glob(t, filepath.Join(m.home, ".local/share/aibox/snapshots/local/*")); len(left) != 0 {
			t.Errorf("without %s, the snapshot is left: %q", victim, left)
		}
	}
}
