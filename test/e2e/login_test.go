package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// cursorScript is a Cursor CLI that shows its key to its vendor and to nobody else, and then
// waits to be looked at from outside.
const cursorScript = `#!/bin/sh
for word; do case $word in --endpoint=*) vendor=${word#--endpoint=} ;; esac; done
curl -sS -H "Authorization: Bearer $CURSOR_API_KEY" "$vendor/account"
echo done > work.txt
test -n "$AWAITED" || exit 0
echo "the vendor has answered"
until test -e go; do sleep 0.05; done
`

// withKey is a vendor that wants a key.
func withKey(key string) (handler http.Handler, asked *atomic.Int64) {
	asked = new(atomic.Int64)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key {
			http.Error(w, "wrong key", http.StatusUnauthorized)
			return
		}
		asked.Add(1)
		fmt.Fprintln(w, "welcome")
	}), asked
}

// logIn stores a key as `aibox login` does from standard input.
func (m *machine) logIn(agent, key string, args ...string) outcome {
	m.t.Helper()
	cmd := m.cmd(aibox, append([]string{"login", agent}, args...)...)
	cmd.Stdin = strings.NewReader(key + "\n")
	return m.finish(cmd)
}

// The key of a login is found in its file and with the agent's vendor, and nowhere else.
func TestTheKeyOfALoginReachesTheVendorAndNothingElse(t *testing.T) {
	t.Parallel()
	const key = "canary-" + "77c0a91e5d2b"
	m := newMachine(t)
	handler, asked := withKey(key)
	vendor := newOutside(t, handler)
	image := m.image("vendor-login", "FROM "+strings.TrimSpace(m.aibox(0, "bake", "base").stdout)+"\nCOPY cursor-agent /usr/local/bin/cursor-agent\nRUN chmod 755 /usr/local/bin/cursor-agent\n", map[string]string{"cursor-agent": cursorScript})
	repo := m.repo("p", map[string]string{"ca.pem": vendor.CA})
	run := append([]string{"run", "cursor", "--image", image, "--repo", repo, "--prompt", "p", "--json", "--set", "endpoint=https://" + vendor.Vendor}, trustIn("/workspace/ca.pem")...)

	if o := m.logIn("cursor", key, "--yes"); o.code != 0 || strings.Contains(o.stdout+o.stderr, key) {
		t.Fatalf("the login: %s", o)
	}
	client := m.start(append(run, "--env", "AWAITED=1", "--verify", "! env | grep CURSOR_API_KEY")...)
	client.stderr.await(t, "the vendor has answered")
	if asked.Load() != 1 {
		t.Errorf("the vendor was asked %d times with the key:\n%s", asked.Load(), client.stderr.String())
	}
	r := m.stored()[0]
	containers := m.containers()
	if len(containers) != 1 {
		t.Fatalf("containers: %q", containers)
	}
	places := map[string]string{
		"docker inspect": m.exec("docker", "inspect", containers[0]).stdout,
		"docker logs":    m.exec("docker", "logs", containers[0]).stdout,
	}
	for _, file := range []string{"environ", "cmdline"} {
		// Files that cannot be read leak nothing, either.
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", r.State.Supervisor.PID, file))
		places["the supervisor's "+file] = string(data)
	}
	for _, name := range []string{"ls", "agents", "agents show cursor", "config show", "netguard log", "audit", "diff " + r.ID} {
		places["aibox "+name] = fmt.Sprint(m.exec(aibox, append(strings.Fields(name), "--json")...))
	}
	m.write(filepath.Join(r.State.Workspace.Path, "go"), "")
	client.ends(0)
	places["the run"] = client.stdout.String() + client.stderr.String()
	if !strings.Contains(client.stdout.String(), `"verification": {`) { // a failed one ends the run with another code
		t.Errorf("the work was not verified:\n%s", places["the run"])
	}
	for place, text := range places {
		if strings.Contains(text, key) {
			t.Errorf("the key is in %s", place)
		}
	}
	own := filepath.Join(m.home, ".config/aibox/keys/cursor")
	if files := m.holding(key); len(files) != 1 || files[0] != own {
		t.Errorf("the key is in %q, not only in %s", files, own)
	}

	// The variable of a run overrides the login, and after the logout nothing has the key.
	if o := m.aibox(0, append(run, "--env", "CURSOR_API_KEY=another-key")...); !strings.Contains(o.stderr, "wrong key") {
		t.Errorf("the login overrides the run's own variable:\n%s", o)
	}
	m.aibox(0, "logout", "cursor")
	if files := m.holding(key); len(files) > 0 {
		t.Errorf("after the logout the key is in %q", files)
	}
	if o := m.aibox(4, run...); !strings.Contains(o.stderr, "aibox login cursor") {
		t.Errorf("after the logout the run does not name the login:\n%s", o)
	}
}
