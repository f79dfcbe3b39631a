package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aibox/internal/shellquote"
	"aibox/runtime"
	"aibox/session"
)

// driver is a program for Node that calls the server of the agent's own sandboxes. Each line of
// its input is a call; each line of its output is the answer. It is what an agent's client of
// the protocol does, with no library.
const driver = `
const url = process.env.AIBOX_MCP_URL || 'http://10.200.200.1:11436/mcp'
let session, id = 0
async function send(message) {
  const headers = {'content-type': 'application/json', accept: 'application/json, text/event-stream'}
  if (session) headers['mcp-session-id'] = session
  const answer = await fetch(url, {method: 'POST', headers, body: JSON.stringify({jsonrpc: '2.0', ...message})})
  session = answer.headers.get('mcp-session-id') || session
  const text = await answer.text()
  const line = text.split('\n').find(l => l.startsWith('data: '))
  return line ? JSON.parse(line.slice(6)) : text ? JSON.parse(text) : {}
}
async function call(name, args) {
  const {result, error} = await send({id: ++id, method: 'tools/call', params: {name, arguments: args}})
  if (error) return {error: error.message}
  const text = result.content.map(c => c.text).join('\n')
  if (result.isError) return {error: text}
  return {...JSON.parse(text.split('\n')[0]), text}
}
async function main(run) {
  const begun = await send({id: ++id, method: 'initialize', params: {protocolVersion: '2025-06-18', capabilities: {}, clientInfo: {name: 'test', version: '1'}}})
  await send({method: 'notifications/initialized'})
  const tools = (await send({id: ++id, method: 'tools/list'})).result.tools.map(t => t.name)
  const say = (what, value) => console.log('SAYS ' + JSON.stringify({what, ...(typeof value == 'object' ? value : {text: value})}))
  await run({call, say, tools, begun})
}
`

// said are the lines of a driver, by what they are about.
func said(t *testing.T, out string) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{}
	for line := range strings.Lines(out) {
		_, text, ok := strings.Cut(line, "SAYS ")
		if !ok {
			continue
		}
		var value map[string]any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all[value["what"].(string)] = value
	}
	return all
}

// spec reads the spec of a session from its file.
func (m *machine) spec(id string) (spec session.Spec) {
	m.t.Helper()
	data, err := os.ReadFile(filepath.Join(m.sessions(), id, "spec.json"))
	if err == nil {
		err = json.Unmarshal(data, &spec)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	return spec
}

// ownOf are the records of the sandboxes that the agent of a session created.
func (m *machine) ownOf(parent string) (own []record) {
	for _, r := range m.stored() {
		if strings.HasSuffix(r.ID, "-sandbox") {
			if spec := m.spec(r.ID); string(spec.ParentOf()) == parent {
				own = append(own, r)
			}
		}
	}
	return own
}

// allEnded waits until the sandboxes and their supervisors are gone from the host.
func (m *machine) allEnded(own []record) {
	m.t.Helper()
	for _, r := range own {
		for what, p := range map[string]runtime.Process{"supervisor": r.State.Supervisor, "sandbox": r.State.Sandbox} {
			if err := p.AwaitEnd(hung); err != nil {
				m.t.Errorf("the %s of %s still runs: %v", what, r.ID, err)
			}
		}
	}
}

// drive returns the arguments after "--" that run a script with the driver.
func drive(script string) []string {
	return []string{"--", "sh", "-c", "node -e " + shellquote.Quote(driver+"main(async ({call, say, tools, begun}) => {"+script+"})")}
}

// The agent creates sandboxes of its own, up to as many as its session permits and within what
// that has. They are gone when the session has ended.
func TestAnAgentCreatesSandboxesOfItsOwnWithinItsSession(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("app", map[string]string{"a.txt": "a\n"})
	args := append([]string{
		"run", "shell", "--repo", repo, "--json", "--sandboxes", "2", "--memory", "3000", "--pids", "300", "--timeout", "10m", "--disk", "3000",
		"--network", "allowlist", "--allow", "allowed.example.org,*.wild.example.org", "--deny", "no.wild.example.org",
	}, drive(`
	say('tools', {tools, instructions: begun.result.instructions})
	const one = await call('create_sandbox', {name: 'one'})
	say('one', one)
	say('code', await call('run_code', {sandbox: one.sandbox, language: 'python', code: 'print(6*7)'}))
	say('written', await call('write_file', {sandbox: one.sandbox, path: '/tmp/x', content: 'hello'}))
	say('read', await call('read_file', {sandbox: one.sandbox, path: '/tmp/x'}))
	say('nested', await call('run_command', {sandbox: one.sandbox, command: 'env; curl -sS -m 5 http://10.200.200.1:11436/mcp; curl -sS -m 5 http://10.200.200.1:11434/; curl -sS -m 5 http://10.200.200.1:3128/; ls /workspace; bash -c "ulimit -u"'}))
	for (const [what, args] of Object.entries({
		wider: {allow: ['other.example.org']}, preset: {allow: ['npm']}, public: {network: 'public'}, model: {network: 'local'},
		memory: {memory_mib: 2990}, path: {allow: ['https://allowed.example.org/x']}, ssh: {allow: ['allowed.example.org:22']},
		template: {template: 'no-such'}, agent: {template: '../x'},
	})) say(what, await call('create_sandbox', args))
	const two = await call('create_sandbox', {allow: ['allowed.example.org', 'a.wild.example.org'], timeout: '20h'})
	say('two', two)
	say('third', await call('create_sandbox', {}))
	say('listed', await call('list_sandboxes', {}))
	say('foreign', await call('destroy_sandbox', {sandbox: process.env.FOREIGN || '00000-sandbox'}))
	say('port', await call('open_port', {sandbox: one.sandbox, port: 80}))
	say('destroyed', await call('destroy_sandbox', {sandbox: one.sandbox}))
	say('again', await call('create_sandbox', {}))
`)...)
	o := m.aibox(0, args...)
	r := m.ended(o)
	own := m.ownOf(r.ID)
	out := m.exec(aibox, "logs", r.ID).stdout
	says := said(t, out)
	text := func(what string) string { s, _ := json.Marshal(says[what]); return string(s) }
	for what, wants := range map[string][]string{
		"tools": {"create_sandbox", "list_sandboxes", "run_code", "run_command", "read_file", "write_file", "list_files", "destroy_sandbox", "sandboxes of your own"},
		"one":   {`"network":"none"`, `"sandbox":"`}, "code": {"42"}, "read": {"hello"},
		"wider": {"error", "other.example.org"}, "preset": {"error", "npm"}, "public": {"error", "wider policy"}, "model": {"error", "no model"},
		"memory": {"error", "of memory"}, "path": {"error"}, "ssh": {"error", "allowed.example.org:22"}, "template": {"error"}, "agent": {"error"},
		"two": {`"network":"allowlist"`, "a.wild.example.org"}, "third": {"error", "2 sandboxes"}, "listed": {`"name":"one"`},
		"foreign": {"error", "there is no sandbox"}, "port": {"error", "open_port"}, "destroyed": {`"destroyed":true`}, "again": {`"sandbox":"`},
	} {
		for _, want := range wants {
			if !strings.Contains(text(what), want) {
				t.Errorf("%s has no %q: %s", what, want, text(what))
			}
		}
	}
	if tools := text("tools"); strings.Contains(tools, "open_port") || strings.Contains(tools, "run_agent") {
		t.Errorf("the agent has the tools %s", tools)
	}
	if nested := text("nested"); strings.Count(nested, "Connection refused")+strings.Count(nested, "Failed to connect") < 3 || strings.Contains(nested, "AIBOX_MCP_URL") || strings.Contains(nested, "a.txt") || !strings.Contains(nested, "100") {
		t.Errorf("in a sandbox of its own: %s", nested)
	}
	if len(own) != 3 {
		t.Fatalf("there are %d sandboxes on record, not 3:\n%s", len(own), out)
	}
	m.allEnded(own)
	for _, child := range own {
		spec := m.spec(child.ID)
		parent := m.spec(r.ID)
		if spec.Memory > 1000 || spec.Pids != 100 || spec.Disk > 1000 || spec.Timeout == 0 || spec.Timeout > parent.Timeout || spec.Sandboxes != 0 ||
			spec.Sandbox.Tenant != session.OwnTenant(session.ID(r.ID)) || !slices.Contains(spec.Deny, "no.wild.example.org") || child.State.Phase != "ended" {
			t.Errorf("%s: %s %+v", child.ID, child.State.Phase, spec)
		}
	}
	audit := m.aibox(0, "audit", r.ID, "--json").stdout
	for kind, want := range map[string]int{"sandbox.created": 3, "sandbox.ended": 3, "sandbox.refused": 8} {
		if n := strings.Count(audit, `"`+kind+`"`); n < want {
			t.Errorf("the log has %d events %s, not %d", n, kind, want)
		}
	}
	if list := m.aibox(0, "ls").stdout; !strings.Contains(list, own[0].ID) {
		t.Errorf("the list has no %s:\n%s", own[0].ID, list)
	}
}

// waiting is a session whose agent has created a sandbox and waits.
func (m *machine) waiting(args ...string) (parent string, own record) {
	m.t.Helper()
	repo := m.repo("app", map[string]string{"a.txt": "a\n"})
	id := m.detached(append(append([]string{"shell", "--repo", repo, "--sandboxes", "1"}, args...), drive(`
	say('one', await call('create_sandbox', {allow: process.env.ALLOW ? [process.env.ALLOW] : undefined}))
	await new Promise(() => setInterval(() => {}, 1000))
`)...)...)
	m.t.Cleanup(func() { m.exec(aibox, "stop", id) })
	eventually(m.t, limit, "the agent has a sandbox", func() bool { return strings.Contains(m.exec(aibox, "logs", id).stdout, "SAYS") })
	all := m.ownOf(id)
	if len(all) != 1 || all[0].State.Phase != "running" {
		m.t.Fatalf("the agent has the sandboxes %+v:\n%s", all, m.exec(aibox, "logs", id))
	}
	return id, all[0]
}

func TestTheSandboxesOfAnAgentEndWithItsSupervisor(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	id, own := m.waiting()
	if err := runtime.KillProcess(m.record(id).State.Supervisor); err != nil {
		t.Fatal(err)
	}
	m.allEnded([]record{own, m.record(id)})
	m.aibox(0, "ls")
	for _, r := range []string{id, own.ID} {
		if phase := m.record(r).State.Phase; phase != "ended" {
			t.Errorf("%s is %s", r, phase)
		}
	}
}

func TestTheSandboxesOfAnAgentEndWhenItIsStopped(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	id, own := m.waiting()
	m.aibox(0, "stop", id)
	if phase := m.record(own.ID).State.Phase; phase != "ended" {
		t.Errorf("%s is %s when its session has ended", own.ID, phase)
	}
	m.allEnded([]record{own})
}

// Only its session uses a sandbox that an agent created. The user whose session it is sees and
// ends it; the agent of another session and other tenants of the API do not see it.
func TestOnlyItsSessionUsesTheSandboxOfAnAgent(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	id, own := m.waiting()
	other := m.repo("other", map[string]string{"a.txt": "a\n"})
	o := m.aibox(0, append([]string{"run", "shell", "--repo", other, "--json", "--sandboxes", "1"}, drive(`
	const foreign = '`+own.ID+`'
	say('listed', await call('list_sandboxes', {}))
	for (const [name, args] of Object.entries({run_command: {command: 'id'}, read_file: {path: '/etc/passwd'}, destroy_sandbox: {}}))
		say(name, await call(name, {sandbox: foreign, ...args}))
`)...)...)
	says := said(t, m.exec(aibox, "logs", m.ended(o).ID).stdout)
	if list, _ := json.Marshal(says["listed"]); !strings.Contains(string(list), `"sandboxes":[]`) {
		t.Errorf("another session's agent lists %s", list)
	}
	for _, tool := range []string{"run_command", "read_file", "destroy_sandbox"} {
		if text, _ := says[tool]["error"].(string); !strings.Contains(text, "there is no sandbox") {
			t.Errorf("another session's agent uses %s: %v", tool, says[tool])
		}
	}
	s := m.serve("ci")
	if body, status := s.curl(s.url + "/v1/sandboxes/" + own.ID); status != "404" {
		t.Errorf("a tenant of the API sees it: %s %s", status, body)
	}
	if body, _ := s.curl(s.url + "/v1/sandboxes"); strings.Contains(body, own.ID) {
		t.Errorf("a tenant of the API lists it: %s", body)
	}
	for _, args := range [][]string{{"exec", own.ID, "--", "id"}, {"cp", own.ID + ":/etc/passwd", m.home}, {"open", own.ID, "80"}, {"pause", own.ID}, {"extend", own.ID, "1h"}} {
		if o := m.exec(aibox, append([]string{"sandbox"}, args...)...); o.code != 4 || !strings.Contains(o.stderr, "only the agent of the session") {
			t.Errorf("the user uses it: %s", o)
		}
	}
	if phase := m.record(own.ID).State.Phase; phase != "running" {
		t.Errorf("it is %s", phase)
	}
	if list := m.aibox(0, "sandbox", "ls", "--parent", id).stdout; !strings.Contains(list, own.ID) {
		t.Errorf("the user does not see it: %s", list)
	}
	m.aibox(0, "sandbox", "rm", own.ID)
	if phase := m.record(own.ID).State.Phase; phase != "ended" {
		t.Errorf("it is %s", phase)
	}
}

// What the user denies a session while it runs is denied to its sandboxes, too.
func TestAPolicyChangeOfASessionReachesItsSandboxes(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.env = append(m.env, "ALLOW=allowed.example.org")
	id, own := m.waiting("--env", "ALLOW", "--network", "allowlist", "--allow", "allowed.example.org")
	m.aibox(0, "allow", id, "more.example.org")
	m.aibox(0, "deny", id, "allowed.example.org")
	data := m.read(filepath.Join(m.sessions(), own.ID, "state.json"))
	var state session.State
	if err := json.Unmarshal([]byte(data), &state); err != nil {
		t.Fatal(err)
	}
	denied := slices.ContainsFunc(state.Lists.Deny, func(e session.ListEntry) bool { return e.Pattern == "allowed.example.org" })
	wider := slices.ContainsFunc(state.Lists.Allow, func(e session.ListEntry) bool { return e.Pattern == "more.example.org" })
	if !denied || wider {
		t.Errorf("the sandbox has the lists %+v", state.Lists)
	}
}

// A real agent calls the tools by its own client of the protocol.
func TestARealAgentUsesSandboxesOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{"codex", "claude", "opencode", "gemini", "qwen", "copilot"} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			repo := m.repo("app", map[string]string{"a.txt": "a\n"})
			o := m.aibox(0, "run", agent, "--repo", repo, "--json", "--sandboxes", "1", "--prompt", "Create a sandbox.", "--inference", m.script(`
done = "That was all."
[[step]]
use = { tool = "create_sandbox", args = { name = "of-{agent}" } }
[[step]]
use = { tool = "list_sandboxes" }
`))
			id := m.ended(o).ID
			own := m.ownOf(id)
			if len(own) != 1 {
				t.Fatalf("%s has created %d sandboxes:\n%s\n%s", agent, len(own), o, m.exec(aibox, "logs", id))
			}
			m.allEnded(own)
		})
	}
}

func TestWithoutTheSettingNothingServesSandboxesToAnAgent(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("app", map[string]string{"a.txt": "a\n"})
	m.write(filepath.Join(repo, ".aibox.toml"), "sandboxes = 3\n")
	if o := m.exec(aibox, "run", "shell", "--repo", repo, "--", "true"); o.code == 0 || !strings.Contains(o.stderr, "sandboxes") {
		t.Errorf("a repository gives its agent sandboxes: %s", o)
	}
	if err := os.Remove(filepath.Join(repo, ".aibox.toml")); err != nil {
		t.Fatal(err)
	}
	o := m.aibox(0, "run", "shell", "--repo", repo, "--", "sh", "-c", "env; curl -sS -m 5 http://10.200.200.1:11436/mcp; echo code $?")
	if !strings.Contains(o.stdout, "code 7") || strings.Contains(o.stdout, "AIBOX_MCP_URL") {
		t.Errorf("the port is open, or the environment names it:\n%s", o)
	}
}

// A sandbox that fills its part of the disk is ended, and the agent continues.
func TestASandboxOfAnAgentCannotFillTheDisk(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("app", map[string]string{"a.txt": "a\n"})
	o := m.aibox(0, append([]string{"run", "shell", "--repo", repo, "--json", "--sandboxes", "1", "--disk", "120"}, drive(`
	const one = await call('create_sandbox', {})
	say('small', await call('run_command', {sandbox: one.sandbox, command: 'dd if=/dev/urandom of=$HOME/x bs=1M count=20 && sync; echo fits'}))
	say('large', await call('run_command', {sandbox: one.sandbox, command: 'dd if=/dev/urandom of=$HOME/y bs=1M count=2000; sync; echo fits'}))
	let then
	for (let tries = 0; tries < 100; tries++) { // until the first one is gone
		then = await call('create_sandbox', {})
		if (then.sandbox) break
		await new Promise(r => setTimeout(r, 200))
	}
	say('then', then)
`)...)...)
	id := m.ended(o).ID
	says := said(t, m.exec(aibox, "logs", id).stdout)
	small, _ := json.Marshal(says["small"])
	large, _ := json.Marshal(says["large"])
	if !strings.Contains(string(small), "fits") || strings.Contains(string(large), "fits") {
		t.Errorf("small: %s\nlarge: %s", small, large)
	}
	if says["then"]["sandbox"] == nil {
		t.Errorf("then: %v", says["then"])
	}
	own := m.ownOf(id)
	if len(own) != 2 || !slices.ContainsFunc(own, func(r record) bool { return r.State.Result.Fault != nil && r.State.Result.Fault.Kind == "limit" }) {
		t.Errorf("%+v", own)
	}
}
