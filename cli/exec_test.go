package cli

import (
	"os"
	"testing"
)

// A reader that is not nil costs another connection to the session for each command.
func TestACommandHasNoInputWithoutTheFlag(t *testing.T) {
	o := &execOptions{cli: newCLI(newConsole(os.Stdin, os.Stdout, os.Stderr))}
	if in := o.input(); in != nil {
		t.Errorf("its input is %v", in)
	}
	o.stdin = true
	if o.input() != os.Stdin {
		t.Error("-i passes nothing on")
	}
}
