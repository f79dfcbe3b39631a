// Package scripts carries the set-up script inside aibox's binary, so that `aibox
// doctor --fix` needs no checkout. It runs nothing.
package scripts

import _ "embed"

// Setup is setup-rootless-gvisor.sh, to be run by bash.
//
//go:embed setup-rootless-gvisor.sh
var Setup []byte
