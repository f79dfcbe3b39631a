package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"aibox/internal/paths"
)

// unit is the systemd unit. The server's sandboxes are processes of their own and outlive
// it, so that only the server itself is ended with the unit.
const unit = `[Unit]
Description=aibox: sandboxes for programs

[Service]
ExecStart=%s
%sRestart=on-failure
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
	environment, names := unitEnvironment()
	if err := os.WriteFile(file, fmt.Appendf(nil, unit, strings.Join(words, " "), environment), 0o644); err != nil {
		return err
	}
	fmt.Fprintln(o.out, file)
	if len(names) > 0 {
		fmt.Fprintf(o.err, "the unit keeps these variables of this shell: %s\n", strings.Join(names, ", "))
	}
	fmt.Fprintf(o.err, "%s `systemctl --user enable --now aibox` starts the server\n", o.errTerm.faint("→"))
	return nil
}

// unitVariables are the variables that change what the server does, and that systemd does not
// pass on from a shell. None of them holds a secret: other users can read the unit.
var unitVariables = []string{
	"DOCKER_HOST", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
	"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_SERVICE_NAME", "OTEL_METRICS_EXPORTER", "OTEL_SDK_DISABLED",
}

// unitEnvironment returns the lines of a unit that set the variables, and their names.
func unitEnvironment() (lines string, names []string) {
	for _, name := range unitVariables {
		if value := os.Getenv(name); value != "" {
			lines += "Environment=" + quoteUnitValue(name+"="+value) + "\n"
			names = append(names, name)
		}
	}
	return lines, names
}

// quoteUnit quotes a word for ExecStart, in which systemd expands variables.
func quoteUnit(word string) string { return strings.ReplaceAll(quoteUnitValue(word), "$", "$$") }

// quoteUnitValue quotes a word for other settings of a unit (systemd.syntax(7)).
func quoteUnitValue(word string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "\n", `\n`).Replace(word) + `"`
}
