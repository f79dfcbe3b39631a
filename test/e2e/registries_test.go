package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/netguard"
	"aibox/netguard/preset"
)

// registry is a package registry that a tool of this machine is set up for.
type registry struct {
	preset string
	fetch  string   // a script that installs a small package in a sandbox
	want   string   // the last line that it prints
	hosts  []string // URLs that the tool uses; the first is that of its packages
	probe  []string // URLs that exist in every such registry
}

// name returns the host of URL n.
func (r registry) name(t testing.TB, n int) string {
	t.Helper()
	u, err := url.Parse(r.hosts[n])
	if err != nil || u.Hostname() == "" {
		t.Fatalf("the registry of %s is %q", r.preset, r.hosts[n])
	}
	return u.Host
}

// below returns the URL of a path of the first host.
func (r registry) below(path string) string {
	return strings.TrimSuffix(r.hosts[0], "/") + "/" + path
}

// words returns the words that a program prints, none if it fails.
func words(t testing.TB, name string, args ...string) []string {
	t.Helper()
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		t.Logf("%s %.40q: %v", name, args, err)
		return nil
	}
	return strings.Fields(string(out))
}

// registryOfNPM asks npm for its registry: this machine's, or that of the image with this machine's
// configuration.
func registryOfNPM(t testing.TB, image string) []string {
	t.Helper()
	ask := []string{"npm", "config", "get", "registry"}
	if _, err := exec.LookPath(ask[0]); err != nil {
		run := []string{"docker", "run", "--rm", "--network", "none", "--env", "npm_config_registry"}
		home, _ := os.UserHomeDir()
		if npmrc := filepath.Join(home, ".npmrc"); exists(npmrc) {
			run = append(run, "--volume", npmrc+":/root/.npmrc:ro")
		}
		ask = slices.Concat(run, []string{image}, ask)
	}
	return words(t, ask[0], ask[1:]...)
}

// ownRegistries reads the registries from the configurations of this machine's npm, pip and
// go, and apt's from that of an image: packages of another distribution do not fit there.
func ownRegistries(t testing.TB, image string) []registry {
	t.Helper()
	asked, _ := preset.Find("pip")
	query := asked.Queries()[0].Argv
	all := []registry{
		{
			preset: "npm", hosts: registryOfNPM(t, image),
			fetch: `mkdir -p /tmp/npm && cd /tmp/npm && npm install --no-audit --no-fund is-odd && node -p 'require("is-odd")(3)'`, want: "true",
		},
		{
			preset: "pip", hosts: words(t, query[0], query[1:]...),
			fetch: `pip install --disable-pip-version-check --root-user-action ignore --no-deps --target /tmp/pip six && PYTHONPATH=/tmp/pip python3 -c 'import six; print(six.__name__)'`, want: "six",
		},
		{
			preset: "go", hosts: regexp.MustCompile(`^https?://[^,|]+`).FindAllString(strings.Join(words(t, "go", "env", "GOPROXY"), ""), 1),
			fetch: `mkdir -p /tmp/go && cd /tmp/go && go mod init x && go mod download golang.org/x/sync@v0.7.0 && ls "$(go env GOMODCACHE)/golang.org/x/sync@v0.7.0/errgroup" | head -n 1`, want: "errgroup.go",
		},
	}
	for i, path := range []string{"is-odd", "six/", "golang.org/x/sync/@v/v0.7.0.info"} {
		if len(all[i].hosts) > 0 {
			all[i].probe = []string{all[i].below(path)}
		}
	}
	apt := registry{preset: "apt", fetch: `apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y hello >/dev/null && hello`, want: "Hello, world!"}
	sources := words(t, "docker", "run", "--rm", "--network", "none", image, "apt-get", "indextargets", "--no-release-info", "--format", "$(REPO_URI) $(RELEASE)", "Created-By: Packages")
	for source := range slices.Chunk(sources, 2) {
		apt.hosts = append(apt.hosts, source[0])
		apt.probe = append(apt.probe, source[0]+"dists/"+source[1]+"/InRelease")
	}
	return append(all, apt)
}

// answers reports whether this machine reaches the registry.
func (r registry) answers(t testing.TB) bool {
	t.Helper()
	if len(r.hosts) == 0 {
		t.Logf("%s: this machine has no such tool with a registry", r.preset)
		return false
	}
	for _, address := range r.probe {
		if why := probe(address); why != nil {
			t.Logf("%s: the registry does not answer: %v", r.preset, why)
			return false
		}
	}
	return true
}

func probe(address string) error {
	client := http.Client{Timeout: 10 * time.Second}
	response, err := client.Get(address)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", address, response.Status)
	}
	return nil
}

// public reports whether the name has an address that the proxy dials. A machine behind a
// transparent proxy resolves names to that proxy's addresses.
func public(t testing.TB, host string) bool {
	t.Helper()
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	found, err := net.DefaultResolver.LookupNetIP(context.Background(), "ip", name)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(found, func(addr netip.Addr) bool { return netguard.CheckAddress(addr.Unmap()) == 0 })
}

// setUp returns the steps of a Dockerfile that set the tools up for the registries, through
// the mirror if there is one.
func setUp(t testing.TB, registries []registry, mirror *mirror) string {
	t.Helper()
	steps := ""
	for _, r := range registries {
		through := func(n int) string { return mirror.address(r.hosts[n]) }
		switch r.preset {
		case "npm":
			steps += fmt.Sprintf("RUN npm config set --location=global registry=%s\n", through(0))
		case "pip":
			steps += fmt.Sprintf("RUN pip config --global set global.index-url %s\n", through(0))
		case "apt":
			steps += "RUN find /etc/apt -name '*.list' -o -name '*.sources' | xargs sed -i"
			for n, address := range r.hosts {
				steps += fmt.Sprintf(" -e 's,%s,%s,'", strings.TrimSuffix(address, "/"), strings.TrimSuffix(through(n), "/"))
			}
			steps += "\n"
		case "go":
			sums := "off" // the database itself, which the preset allows too, may not answer
			if name := strings.Join(words(t, "go", "env", "GOSUMDB"), " "); probe(r.below("sumdb/"+name+"/supported")) == nil {
				sums = name
			}
			steps += fmt.Sprintf("ENV GOPROXY=%s GOSUMDB=%q GOTOOLCHAIN=local\n", through(0), sums)
		}
	}
	return steps
}

// The tools of a sandbox install packages from the registries of this machine, which their
// presets allow; without the preset each says soon why it cannot. Only registries that
// answer this machine are used. If their names lead to addresses that no sandbox reaches,
// such as those of a transparent proxy, a host of these tests passes the requests on.
func TestTheRegistriesOfThisMachineServeSandboxesThatMayUseThem(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	base := strings.TrimSpace(m.aibox(0, "bake", "base").stdout)
	registries := slices.DeleteFunc(ownRegistries(t, base), func(r registry) bool { return !r.answers(t) })
	if len(registries) == 0 {
		t.Fatal("no registry answers this machine, so nothing is tested")
	}
	mirror := newMirror(t, registries)
	image := m.image("registries", "FROM "+base+"\nCOPY go /usr/local/go/bin/go\nRUN chmod 755 /usr/local/go/bin/go\nENV GOROOT=/usr/local/go PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"+
		"COPY *.crt /usr/local/share/ca-certificates/\nRUN update-ca-certificates\n"+setUp(t, registries, mirror),
		map[string]string{"go": m.read(goProgram(t)), "mirror.crt": mirror.authority()})
	script, presets := "", []string{}
	for _, r := range registries {
		presets = append(presets, r.preset)
		script += fmt.Sprintf("s=$(date +%%s)\n(%s) >/tmp/out 2>&1 </dev/null; echo \"exit $?\" >>/tmp/out; sed 's/^/%s: /' /tmp/out; echo \"%s took $(( $(date +%%s) - s ))\"\n", r.fetch, r.preset, r.preset)
	}
	repo := m.repo("p", map[string]string{"fetch.sh": script})
	run := []string{"run", "shell", "--image", image, "--network", "allowlist", "--inference", m.script("[[step]]\nsay = \"hello\"\n"), "--repo", repo}

	o := m.aibox(0, slices.Concat(run, []string{"--allow", strings.Join(presets, ","), "--", "sh", "fetch.sh"})...)
	for _, r := range registries {
		if want := fmt.Sprintf("%[1]s: %[2]s\n%[1]s: exit 0\n", r.preset, r.want); !strings.Contains(o.stdout, want) {
			t.Errorf("%s has no package: %s", r.preset, o)
		}
		if !strings.Contains(o.stderr, r.preset+": "+mirror.host(r.name(t, 0))) {
			t.Errorf("the preset %s does not name the registry's host: %s", r.preset, o)
		}
	}
	o = m.aibox(0, slices.Concat(run, []string{"--", "sh", "fetch.sh"})...)
	for _, r := range registries {
		host := mirror.host(r.name(t, 0))
		refused := regexp.MustCompile(r.preset + ":.*aibox refused " + regexp.QuoteMeta(host) + `.*; allow it with: aibox allow \S+ ` + regexp.QuoteMeta(host))
		if !refused.MatchString(o.stdout) || strings.Contains(o.stdout, r.preset+": exit 0\n") {
			t.Errorf("%s does not say why it has no package: %s", r.preset, o)
		}
		// pip tries five times, with pauses of almost 8 seconds in all.
		if !regexp.MustCompile(`(?m)^` + r.preset + ` took [1-5]?\d$`).MatchString(o.stdout) {
			t.Errorf("%s did not fail soon: %s", r.preset, o)
		}
	}
}
