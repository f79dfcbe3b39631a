package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// provider is a hosted model server: it wants the real key and answers in OpenAI's
// chat dialect.
func provider(t *testing.T, key string) (url string, asked *atomic.Int64) {
	asked = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key {
			t.Errorf("the provider was sent %q", r.Header)
			http.Error(w, `{"error":{"message":"wrong key"}}`, http.StatusUnauthorized)
			return
		}
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/models") {
			fmt.Fprint(w, `{"object":"list","data":[{"id":"one","object":"model"}]}`)
			return
		}
		fmt.Fprint(w, `{"id":"1","object":"chat.completion","model":"one","choices":[{"index":0,"finish_reason":"stop",
			"message":{"role":"assistant","content":"the answer"}}],"usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9}}`)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1", asked
}

// inside asks the model, then looks for the key (whose halves the test brings, so
// that the search does not find itself) wherever a process in the sandbox can look,
// then waits to be looked at from outside.
const inside = `
KEY="canary-$1"
curl -sS -H "Authorization: Bearer $OPENAI_API_KEY" -H 'Content-Type: application/json' \
  -d '{"model":"one","messages":[{"role":"user","content":"?"}]}' "$OPENAI_BASE_URL/chat/completions"; echo
env | grep -c "$KEY"
cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline /proc/[0-9]*/mountinfo > /tmp/processes 2>/dev/null
grep -ac "$KEY" /tmp/processes
grep -rIlF --exclude-dir=proc --exclude-dir=sys --exclude-dir=dev --exclude-dir=usr "$KEY" / 2>/dev/null
grep -rlF "$KEY" /usr/local/etc /usr/local/bin /etc 2>/dev/null
echo "searched, and the agent has $SECRET"
until test -e go; do sleep 0.05; done
`

// A canary for a key is given to the gateway and another to the agent: the first
// is found nowhere but at the provider, the second nowhere but with the agent.
func TestKeysAreFoundNowhereTheyDoNotBelong(t *testing.T) {
	t.Parallel()
	const key = "canary-" + "0f1e2d3c4b5a"
	for name, give := range map[string]func(m *machine, url, file string) (inference string){
		"a variable": func(m *machine, url, _ string) string {
			m.env = append(m.env, "AIBOX_INFERENCE_KEY="+key)
			return url
		},
		"a file": func(m *machine, url, file string) string {
			m.write(filepath.Join(m.home, ".config/aibox/config.toml"), fmt.Sprintf("[providers.work]\nurl = %q\nkey-file = %q\n", url, file))
			return "work"
		},
		"a command": func(m *machine, url, file string) string {
			m.write(filepath.Join(m.home, ".config/aibox/config.toml"), fmt.Sprintf("[providers.work]\nurl = %q\nkey-command = \"cat '%s'\"\n", url, file))
			return "work"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			url, asked := provider(t, key)
			file := filepath.Join(t.TempDir(), "key") // outside of the home that is searched
			if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			searchForKeys(t, m, key, give(m, url, file), asked)
		})
	}
}

// searchForKeys runs an agent with the model server and searches for the server's key, and
// for one of the agent's own.
func searchForKeys(t *testing.T, m *machine, key, inference string, asked *atomic.Int64) {
	t.Helper()
	secret := "agents-own-9a8b7c6d"
	repo := m.repo("p", map[string]string{"inside.sh": inside})
	client := m.start("run", "shell", "--inference", inference, "--env", "SECRET="+secret, "--repo", repo, "--json",
		"--", "sh", "inside.sh", strings.TrimPrefix(key, "canary-"))
	client.stderr.await(t, "searched, and the agent has "+secret)
	if text := client.stderr.String(); !strings.Contains(text, "the answer\"") || !strings.Contains(text, "\n0\n0\nsearched") {
		t.Errorf("inside the sandbox:\n%s", text)
	}
	if asked.Load() < 1 {
		t.Errorf("the provider was asked %d times", asked.Load())
	}

	r := m.stored()[0]
	containers := m.containers()
	if len(containers) != 1 {
		t.Fatalf("containers: %q", containers)
	}
	places := map[string]string{
		"docker inspect":       m.exec("docker", "inspect", containers[0]).stdout,
		"docker image history": m.exec("docker", "history", "--no-trunc", imageOf(m, containers[0])).stdout + m.exec("docker", "image", "inspect", imageOf(m, containers[0])).stdout,
		"docker logs":          m.exec("docker", "logs", containers[0]).stdout,
		"networks":             m.exec("docker", "network", "inspect", r.State.Network.ID).stdout,
	}
	for _, file := range []string{"environ", "cmdline"} {
		// Files that cannot be read leak nothing, either.
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", r.State.Supervisor.PID, file))
		places["the supervisor's "+file] = string(data)
	}
	for _, name := range []string{"ls", "agents", "netguard log", "diff " + r.ID} {
		places["aibox "+name] = fmt.Sprint(m.exec(aibox, append(strings.Fields(name), "--json")...))
	}
	m.write(filepath.Join(r.State.Workspace.Path, "go"), "")
	client.ends(0)
	places["the JSON of run"] = client.stdout.String()
	for place, text := range places {
		if strings.Contains(text, key) {
			t.Errorf("the key is in %s", place)
		}
		if strings.Contains(text, secret) {
			t.Errorf("the agent's variable is in %s", place)
		}
	}
	if strings.Contains(client.stderr.String(), key) {
		t.Error("the key is in the output")
	}
	for _, file := range m.holding(key) {
		t.Errorf("the key is in %s", file)
	}
	for _, file := range m.holding(secret) {
		// The agent printed it itself, which aibox does not prevent.
		if filepath.Base(file) != "output.raw" {
			t.Errorf("the agent's variable is in %s", file)
		}
	}
	if strings.Contains(m.read(m.sessions(), r.ID, "spec.json"), secret) || !strings.Contains(m.read(m.sessions(), r.ID, "spec.json"), `"SECRET"`) {
		t.Error("the record does not hold the variable's name alone")
	}
}

func imageOf(m *machine, container string) string {
	return strings.TrimSpace(m.exec("docker", "inspect", "--format", "{{.Image}}", container).stdout)
}

// holding are the files of this home that contain text.
func (m *machine) holding(text string) []string {
	m.t.Helper()
	var found []string
	err := filepath.WalkDir(m.home, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(text)) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		m.t.Error(err)
	}
	return found
}

func TestARequestWithoutThePlaceholderKeyIsRefused(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	key := "canary-77aa55"
	url, asked := provider(t, key)
	m.env = append(m.env, "AIBOX_INFERENCE_KEY="+key)
	o := m.aibox(0, "run", "shell", "--inference", url, "--repo", m.repo("p", nil), "--", "sh", "-c", `
for key in "" wrong "$OPENAI_API_KEY"; do
  curl -s -o /dev/null -w '%{http_code}\n' -H "Authorization: Bearer $key" "$OPENAI_BASE_URL/models"
done`)
	if o.stdout != "401\n401\n200\n" {
		t.Errorf("the gateway answered %q", o.stdout)
	}
	if asked.Load() == 0 {
		t.Error("the provider was never asked")
	}
}

func TestADeadModelServerIsReportedBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	server := httptest.NewServer(nil)
	dead := server.URL
	server.Close()
	o := m.aibox(3, "run", "codex", "--inference", dead+"/v1", "--repo", m.repo("p", nil), "--prompt", "go")
	if !strings.Contains(o.stderr, strings.TrimPrefix(dead, "http://")) || !strings.Contains(o.stderr, "→") {
		t.Errorf("the output is\n%s", o)
	}
	if left := m.stored(); len(left) > 0 || len(m.containers()) > 0 {
		t.Errorf("something is left: %+v", left)
	}
}
