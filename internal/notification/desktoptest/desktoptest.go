// Package desktoptest is a desktop for tests: a real message bus with a notification server
// that records what it receives.
package desktoptest

import (
	"bufio"
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godbus/dbus/v5"
)

const (
	serverName = "org.freedesktop.Notifications"
	serverPath = "/org/freedesktop/Notifications"
)

// Note is a notification as the desktop received it.
type Note struct{ App, Title, Text string }

// Desktop is a desktop of one test.
type Desktop struct {
	Address string // of its bus, for DBUS_SESSION_BUS_ADDRESS
	Notes   chan Note

	abilities []string
}

// Start starts a desktop, which ends with the test. abilities are the capabilities of its
// notification server.
func Start(t testing.TB, abilities ...string) *Desktop {
	t.Helper()
	d := &Desktop{Notes: make(chan Note, 100), abilities: abilities}
	daemon := exec.CommandContext(context.WithoutCancel(t.Context()), "dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address=1", "--address=unix:path="+filepath.Join(t.TempDir(), "bus"))
	out, err := daemon.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := daemon.Start(); err != nil {
		t.Fatalf("%v (the tests of notifications need Debian's package dbus)", err)
	}
	t.Cleanup(func() { _ = daemon.Process.Kill(); _ = daemon.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	d.Address = strings.TrimSpace(line)
	bus, err := dbus.Connect(d.Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bus.Close() })
	if err := bus.Export(server{d}, serverPath, serverName); err != nil {
		t.Fatal(err)
	}
	if reply, err := bus.RequestName(serverName, dbus.NameFlagDoNotQueue); err != nil || reply != dbus.RequestNameReplyPrimaryOwner {
		t.Fatalf("the name is not ours: %v, %v", reply, err)
	}
	return d
}

// server has the methods that the bus calls.
type server struct{ desktop *Desktop }

// GetCapabilities implements the specification's method.
func (s server) GetCapabilities() ([]string, *dbus.Error) { return s.desktop.abilities, nil }

// Notify implements the specification's method.
func (s server) Notify(app string, _ uint32, _, title, text string, _ []string, _ map[string]dbus.Variant, _ int32) (uint32, *dbus.Error) {
	s.desktop.Notes <- Note{app, title, text}
	return 1, nil
}
