// Package scripts embeds the setup script in aibox's binary, so that `aibox doctor --fix`
// needs no checkout. It runs nothing.
package scripts

import _ "embed"

// Setup is setup-rootless-gvisor.sh, a bash script.
//
//go:embed setup-rootless-gvisor.sh
var Setup []byte
