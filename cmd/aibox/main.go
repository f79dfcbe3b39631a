// Command aibox runs coding agents on your repositories without trusting them.
package main

import (
	"os"

	"aibox/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
