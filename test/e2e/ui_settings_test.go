package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSettingsAreChangedOnTheirScreenAndFoundByThePalette(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.onTerminal()
	s.awaitShown(`No sessions yet`)
	s.typed(":")
	s.awaitShown(`earch commands`)
	s.typed("settings")
	s.awaitShown(`▸ settings`)
	s.typed("\r")
	s.awaitShown(`Settings\S* +0 of \d+ changed`)
	s.typed("/verify-time\r")
	s.awaitShown(`▸ verify-timeout +10m`)
	s.typed("\r\x7f\x7f\x7f5x")
	s.awaitShown(`✗ setting "verify-timeout" must be a duration`)
	s.typed("\r") // it is not saved
	s.typed("\x7fm")
	s.awaitShown(`✓ valid`)
	s.typed("\r")
	s.awaitShown(`(?s)▸ verify-timeout +5m.*saved verify-timeout in your file`)
	file := filepath.Join(m.home, ".config/aibox/config.toml")
	if text, err := os.ReadFile(file); err != nil || strings.TrimSpace(string(text)) != `verify-timeout = "5m"` {
		t.Errorf("the file is %q (%v)", text, err)
	}
	s.typed("u")
	s.awaitShown(`it was 5m`)
	if text, err := os.ReadFile(file); err != nil || strings.TrimSpace(string(text)) != "" {
		t.Errorf("the file is %q (%v)", text, err)
	}
	s.typed("?")
	s.awaitShown(`remove from your file|edit`)
	s.typed("\x03")
	if code := s.wait(); code != 0 {
		t.Errorf("exit %d:\n%s", code, s.shown())
	}
	s.givenBack()
}
