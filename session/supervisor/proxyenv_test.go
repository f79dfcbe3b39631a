package supervisor

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"aibox/internal/lifeline"
	"aibox/netguard"
)

func TestProgramsFindTheProxyAndReachTheGatewayDirectly(t *testing.T) {
	env := map[string]string{}
	for _, entry := range proxyEnv() {
		name, value, _ := strings.Cut(entry, "=")
		if _, twice := env[name]; twice {
			t.Errorf("%s is set twice", name)
		}
		env[name] = value
	}
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "YARN_HTTPS_PROXY"} {
		if env[name] != "http://10.200.200.1:3128" {
			t.Errorf("%s is %q", name, env[name])
		}
	}
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		direct := strings.Split(env[name], ",")
		for _, host := range append(netguard.Names(), "10.200.200.1", "localhost", "127.0.0.1") {
			if !strings.Contains(","+env[name]+",", ","+host+",") {
				t.Errorf("%s is %q, without %s", name, direct, host)
			}
		}
	}
	if options := env["JAVA_TOOL_OPTIONS"]; !strings.Contains(options, "-Dhttps.proxyHost=10.200.200.1 -Dhttps.proxyPort=3128") || !strings.Contains(options, "|10.200.200.1|") {
		t.Errorf("Java gets %q", options)
	}
	for path, want := range map[string]string{
		"/etc/ssh/ssh_config.d/aibox.conf": "ProxyCommand /.aibox/init connect 10.200.200.1:3128 %h %p\n",
		"/etc/apt/apt.conf.d/99aibox":      "Acquire::https::Proxy \"http://10.200.200.1:3128\";\n",
		"/etc/gitconfig":                   "[http]\n\tproxy = http://10.200.200.1:3128\n",
		"/etc/profile.d/aibox.sh":          "[ -n \"${https_proxy+x}\" ] || export https_proxy='http://10.200.200.1:3128'\n",
	} {
		file := fileAt(t, path)
		if !strings.Contains(string(file.Data), want) || file.Mode != 0o644 {
			t.Errorf("%s is %q, with mode %o", path, file.Data, file.Mode)
		}
		if file.Keep != (path == "/etc/gitconfig") {
			t.Errorf("%s replaces what the image has: %v", path, !file.Keep)
		}
	}
}

func fileAt(t *testing.T, path string) lifeline.File {
	t.Helper()
	for _, file := range proxyFiles(nil, nil) {
		if file.Path == path {
			return file
		}
	}
	t.Fatalf("there is no %s", path)
	return lifeline.File{}
}

// A login shell gets the same variables as the agent, and keeps those that are already set.
func TestALoginShellFindsTheProxy(t *testing.T) {
	script := string(fileAt(t, "/etc/profile.d/aibox.sh").Data)
	command := exec.Command("sh", "-ec", script+"env")
	command.Env = []string{"http_proxy=mine", "HTTPS_PROXY="}
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	have := strings.Split(string(out), "\n")
	for _, entry := range proxyEnv() {
		switch name, _, _ := strings.Cut(entry, "="); name {
		case "http_proxy":
			entry = "http_proxy=mine"
		case "HTTPS_PROXY":
			entry = "HTTPS_PROXY="
		}
		if !slices.Contains(have, entry) {
			t.Errorf("no %s in\n%s", entry, out)
		}
	}
}
