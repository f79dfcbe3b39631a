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
Restart=on-failure
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
		words = append(words, "--warm-memory", strconv.Itoa(o.warmMemory))
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
	if err := os.WriteFile(file, fmt.Appendf(nil, unit, strings.Join(words, " ")), 0o644); err != nil {
		return err
	}
	fmt.Fprintln(o.out, file)
	fmt.Fprintf(o.err, "%s `systemctl --user enable --now aibox` starts the server\n", o.errTerm.faint("→"))
	return nil
}

// quoteUnit quotes a word for ExecStart.
func quoteUnit(word string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "$", "$$", "\n", `\n`).Replace(word) + `"`
}
