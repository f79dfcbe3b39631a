package supervisor

import (
	"strings"
	"testing"

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
	if config := string(proxyFiles(nil)[0].Data); !strings.Contains(config, "ProxyCommand /.aibox/init connect 10.200.200.1:3128 %h %p\n") {
		t.Errorf("ssh gets %q", config)
	}
}
