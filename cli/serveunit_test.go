package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/internal/shellquote"
	"aibox/netguard/gateway/modelserver"
)

func TestTheUnitOfTheServerHasItsFlagsAndTheVariablesOfTheShell(t *testing.T) {
	home := t.TempDir()
	for _, name := range slices.Concat(unitVariables, unitAddresses, secretVariables, modelserver.KeyNames()) {
		t.Setenv(name, "")
	}
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("DOCKER_HOST", "unix:///run/my docker.sock")
	t.Setenv("OTEL_SERVICE_NAME", `50% of "us" $HOME \ `)
	t.Setenv("AIBOX_INFERENCE_KEY", "sk-a-secret-of-mine")
	t.Setenv("AIBOX_DENY", "evil.example.org")
	t.Setenv("AIBOX_ALLOW", "")
	t.Setenv("HTTPS_PROXY", "http://proxy.example.com:3128")
	t.Setenv("no_proxy", "localhost,.example.org")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "https://ann:a-secret-of-hers@collector.example.com")
	t.Setenv("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "authorization=a-secret-of-mine")
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "5000")
	t.Setenv("OPENAI_API_KEY", "sk-a-secret-of-mine")
	t.Setenv("OLLAMA_HOST", "192.0.2.7:11434")
	t.Setenv("AWS_REGION", "eu-west-1")
	t.Setenv("WORK_KEY", "sk-a-secret-of-mine")
	t.Setenv("http_proxy", "http://ann:a-secret-of-hers@proxy.example.com:3128")
	a, out, errOut := testApp(t)
	if err := os.MkdirAll(filepath.Join(home, "aibox"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "aibox", "config.toml"), []byte("[providers.work]\nurl = \"https://llm.example.org/v1\"\nkey-env = \"WORK_KEY\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a.rootful, a.rootfulGiven = true, true
	o := serveOptions{cli: a, listen: []string{"127.0.0.1:7000"}, hosts: []string{"a b"}, warm: []string{"$HOME%h=2"}, repos: []string{"/src/my shop"}}
	if err := o.writeUnit(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(home, "systemd/user/aibox.service")
	if strings.TrimSpace(out.String()) != file || !strings.Contains(errOut.String(), "DOCKER_HOST, XDG_CONFIG_HOME, OTEL_METRIC_EXPORT_INTERVAL, OTEL_SERVICE_NAME, AWS_REGION, AIBOX_ALLOW, AIBOX_DENY, OLLAMA_HOST, HTTPS_PROXY, no_proxy\n") {
		t.Errorf("it prints %q and %q", out, errOut)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"[Unit]\nDescription=aibox: sandboxes for programs\nAfter=docker.service\n",
		"\nEnvironment=GOTRACEBACK=crash\nLimitCORE=0\nRestart=on-failure\nRestartSec=5\nRestartPreventExitStatus=2\n",
		` "serve" "--rootful=true" "--listen" "127.0.0.1:7000" "--host" "a b" "--warm" "$$HOME%%h=2" "--repo" "/src/my shop"` + "\n",
		`Environment="DOCKER_HOST=unix:///run/my docker.sock"` + "\n",
		`Environment="XDG_CONFIG_HOME=` + home + `"` + "\n",
		`Environment="OTEL_METRIC_EXPORT_INTERVAL=5000"` + "\n",
		`Environment="AWS_REGION=eu-west-1"` + "\n",
		`Environment="OLLAMA_HOST=192.0.2.7:11434"` + "\n",
		`Environment="AIBOX_ALLOW="` + "\n",
		`Environment="HTTPS_PROXY=http://proxy.example.com:3128"` + "\n",
		`Environment="no_proxy=localhost,.example.org"` + "\n",
		`Environment="AIBOX_DENY=evil.example.org"` + "\n",
		`Environment="OTEL_SERVICE_NAME=50%% of \"us\" $HOME \\ "` + "\n",
	} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%q is missing in\n%s", want, data)
		}
	}
	if want := "may be secret: AIBOX_INFERENCE_KEY, OPENAI_API_KEY, OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_METRICS_HEADERS, WORK_KEY, http_proxy\n"; !strings.Contains(errOut.String(), want) {
		t.Errorf("%q is missing in %q", want, errOut)
	}
	if want := "enable --now " + shellquote.Quote(file) + "`"; !strings.Contains(errOut.String(), want) { // systemd need not have this XDG_CONFIG_HOME
		t.Errorf("%q is missing in %q", want, errOut)
	}
	if strings.Contains(string(data), "a-secret-of") {
		t.Errorf("the unit has a secret:\n%s", data)
	}
}

func TestACertificateNeedsItsKey(t *testing.T) {
	for want, o := range map[string]serveOptions{
		"add `--key FILE`":  {cert: "server.pem"},
		"add `--cert FILE`": {key: "server.key"},
	} {
		_, _, err := o.certificate()
		if hints := fault.Hints(err); fault.KindOf(err) != fault.Usage || !strings.Contains(strings.Join(hints, " "), want) {
			t.Errorf("%v with the hints %q", err, hints)
		}
	}
}
