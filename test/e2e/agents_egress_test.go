package e2e

import (
	"strings"
	"testing"
)

// fetches is a script for an agent's tool. Its programs find the proxy by the variables that the
// agent passes to its tools. It requests a host on the list, one that is not on it and one that is
// denied.
const fetches = `{
curl -sS --cacert ca.pem https://$1/hello
NODE_EXTRA_CA_CERTS=ca.pem node -e "fetch('https://$1/hello').then(r => r.text()).then(t => console.log('node: ' + t))"
python3 -c "import urllib.request as u; print('python: ' + u.urlopen('http://$1/hello').read().decode())"
curl -sSv --cacert ca.pem https://$2/hello 2>&1 | grep '^< HTTP/1.1 403'
curl -sS http://denied.example/
curl -sS http://$2/hello
} > fetched.txt 2>&1`

// Some agents change the environment of their tools, also the variables for proxies.
func TestToolsOfAnAgentFromNpmReachListedHostsAndExplainRefusals(t *testing.T) {
	t.Parallel()
	for _, agent := range fromNpm {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			agentFetches(t, agent)
		})
	}
}

func agentFetches(t *testing.T, agent string) {
	t.Helper()
	m := newMachine(t)
	host, other := newOutside(t, nil), newOutside(t, nil)
	repo := m.repo("p", map[string]string{"ca.pem": host.CA + other.CA, "fetch.sh": fetches})
	o := m.aibox(0, "run", agent, "--json", "--allow", host.Name, "--deny", "denied.example", "--repo", repo, "--prompt", "fetch it", "--inference", m.script(`
[[step]]
run = "sh fetch.sh `+host.Name+` `+other.Name+`"
`))
	r := m.ended(o)
	number, _, _ := strings.Cut(r.ID, "-")
	command := "aibox allow " + number + " " + other.Name
	contains(t, "what its tools printed", m.read(m.record(r.ID).State.Workspace.Path, "fetched.txt"),
		"\nhello from "+host.Name, "node: hello from "+host.Name, "python: hello from "+host.Name,
		"HTTP/1.1 403 aibox refused "+other.Name+":443", "it with: "+command, "aibox refused "+other.Name+":80", "denied.example (--deny)")
	if strings.Count(host.asked(), "GET /hello") != 3 || other.asked() != "" {
		t.Errorf("the listed host was asked for %q, the other one for %q", host.asked(), other.asked())
	}
	contains(t, "the log of the network", m.aibox(0, "netguard", "log", r.ID).stdout,
		other.Name+":80", other.Name+":443", "aibox run --allow "+other.Name, "denied.example:80", "denied.example (--deny)")
}

func contains(t *testing.T, what, text string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains("\n"+text, want) {
			t.Errorf("%s lacks %q:\n%s", what, want, text)
		}
	}
}
