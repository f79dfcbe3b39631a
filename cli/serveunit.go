package cli

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"aibox/agents/spec"
	"aibox/internal/command"
	"aibox/internal/paths"
	"aibox/internal/shellquote"
)

// unit is the systemd unit. The server's sandboxes are processes of their own and outlive
// it, so that only the server itself is ended with the unit. With warm sandboxes, it fails until
// Docker has started; the pauses between its attempts are long enough for systemd's limit of starts. A
// wrong setting or a token that has expired (exit code 2) lasts until the user changes it. Go's runtime
// ends a program that crashes with 2, too, unless GOTRACEBACK makes it end with SIGABRT.
const unit = `[Unit]
Description=aibox: sandboxes for programs
After=docker.service

[Service]
ExecStart=%s
%sEnvironment=GOTRACEBACK=crash
LimitCORE=0
Restart=on-failure
RestartSec=5
RestartPreventExitStatus=2
KillMode=process
TimeoutStopSec=45

[Install]
WantedBy=default.target
`

// writeUnit writes the systemd unit.
func (o *serveOptions) writeUnit() error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	dirs, err := paths.Default()
	if err != nil {
		return err
	}
	words := []string{program, "serve"}
	if o.rootfulGiven {
		words = append(words, "--rootful="+strconv.FormatBool(o.rootful))
	}
	for _, address := range o.listen {
		words = append(words, "--listen", address)
	}
	for _, name := range o.hosts {
		words = append(words, "--host", name)
	}
	for _, domain := range o.domains {
		words = append(words, "--domain", domain)
	}
	for _, kind := range o.warm {
		words = append(words, "--warm", kind)
	}
	for _, repository := range o.repos {
		words = append(words, "--repo", repository)
	}
	if o.warmMemory != 0 {
		words = append(words, "--warm-memory", strconv.FormatInt(o.warmMemory, 10))
	}
	if o.cert != "" {
		cert, certErr := filepath.Abs(o.cert)
		key, keyErr := filepath.Abs(o.key)
		if err := errors.Join(certErr, keyErr); err != nil {
			return err
		}
		words = append(words, "--cert", cert, "--key", key)
	}
	for i, word := range words {
		words[i] = quoteUnit(word)
	}
	file := filepath.Join(filepath.Dir(dirs.Config), "systemd", "user", "aibox.service")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	environment, names, left, err := o.unitEnvironment()
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, fmt.Appendf(nil, unit, strings.Join(words, " "), environment), 0o644); err != nil {
		return err
	}
	fmt.Fprintln(o.out, file)
	if len(names) > 0 {
		fmt.Fprintf(o.err, "the unit keeps these variables of this shell: %s\n", strings.Join(names, ", "))
	}
	if len(left) > 0 {
		fmt.Fprintf(o.err, "%s the unit does not have these variables of this shell, which may be secret: %s\n", o.errTerm.warn("!"), strings.Join(left, ", "))
	}
	name := "aibox"
	if dirs.Config != filepath.Join(dirs.Home, ".config", "aibox") {
		name = shellquote.Quote(file) // systemd may not have the shell's XDG_CONFIG_HOME, and then does not look there
	}
	fmt.Fprintf(o.err, "%s `systemctl --user enable --now %s` starts the server\n", o.errTerm.faint("→"), name)
	return nil
}

// unitVariables are the variables that change what the server does, except for settings, and that systemd
// does not pass on from a shell. None of them holds a secret: other users can read the unit.
var unitVariables = []string{
	"DOCKER_HOST", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
	"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_EXPORTER_OTLP_METRICS_TIMEOUT",
	"OTEL_EXPORTER_OTLP_CERTIFICATE", "OTEL_EXPORTER_OTLP_METRICS_CERTIFICATE",
	"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "OTEL_EXPORTER_OTLP_METRICS_CLIENT_CERTIFICATE",
	"OTEL_EXPORTER_OTLP_CLIENT_KEY", "OTEL_EXPORTER_OTLP_METRICS_CLIENT_KEY", // names of files
	"OTEL_METRIC_EXPORT_INTERVAL", "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_METRICS_EXPORTER", "OTEL_SDK_DISABLED",
	"AZURE_OPENAI_API_VERSION", "OPENAI_API_VERSION", "GOOGLE_CLOUD_PROJECT", "ANTHROPIC_VERTEX_PROJECT_ID", "GOOGLE_CLOUD_LOCATION", "CLOUD_ML_REGION",
	"AWS_REGION", "AWS_DEFAULT_REGION",
	// Of commands that print keys of model servers.
	"GNUPGHOME", "PASSWORD_STORE_DIR", "CLOUDSDK_CONFIG", "CLOUDSDK_ACTIVE_CONFIG_NAME",
	"AWS_PROFILE", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AZURE_CONFIG_DIR",
}

// unitAddresses are further such variables, with addresses, which can hold a password.
var unitAddresses = append([]string{
	"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OLLAMA_HOST", "AZURE_OPENAI_ENDPOINT",
}, command.ProxyVariables...)

// secretVariables are variables of the server that often hold a secret. The keys of model servers are others.
var secretVariables = []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_METRICS_HEADERS"}

// unitEnvironment returns the lines of a unit that set the variables, with the settings among them, their names,
// and the names of those and of aibox's variables that are left out because their values may be secret.
func (o *serveOptions) unitEnvironment() (lines string, names, left []string, err error) {
	own, err := o.app.UserSettings() // refuses a variable that is no setting
	if err != nil {
		return "", nil, nil, err
	}
	kept := slices.Clone(unitVariables)
	for _, setting := range own.All() {
		if setting.Field.Type != spec.Secret {
			kept = append(kept, setting.Variable())
		}
	}
	secrets := slices.AppendSeq(slices.Clone(secretVariables), maps.Keys(o.app.ModelKeys()))
	for _, name := range unitAddresses {
		if strings.Contains(os.Getenv(name), "@") { // a user, and often a password
			secrets = append(secrets, name)
		} else {
			kept = append(kept, name)
		}
	}
	for _, name := range kept {
		value, set := os.LookupEnv(name)
		if value == "" && !(set && strings.HasPrefix(name, "AIBOX_")) { // an empty list is a setting, too
			continue
		}
		lines += "Environment=" + quoteUnitValue(name+"="+value) + "\n"
		names = append(names, name)
	}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		ours := strings.HasPrefix(name, "AIBOX_") && !strings.HasPrefix(name, "AIBOX_TEST_")
		if value != "" && (ours || slices.Contains(secrets, name)) && !slices.Contains(kept, name) {
			left = append(left, name)
		}
	}
	slices.Sort(left)
	return lines, names, left, nil
}

// quoteUnit quotes a word for ExecStart, in which systemd expands variables.
func quoteUnit(word string) string { return strings.ReplaceAll(quoteUnitValue(word), "$", "$$") }

// quoteUnitValue quotes a word for other settings of a unit (systemd.syntax(7)).
func quoteUnitValue(word string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "\n", `\n`).Replace(word) + `"`
}
