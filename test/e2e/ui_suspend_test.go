package e2e

import "testing"

// As in a terminal that runs aibox in place of a shell, where nothing could continue it.
func TestCtrlZWithoutAShellLeavesTheUIOpen(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p := m.opensTerminal(usualSize, aibox)
	p.sees(`No sessions yet`)
	p.does("ctrl+z")
	p.sees(`no shell to return to`)
	p.does("q")
	p.leaves(0)
}
