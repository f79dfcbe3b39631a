package notification

import (
	"context"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"slices"
	"time"

	"aibox/internal/paths"

	"github.com/godbus/dbus/v5"
)

// The notification server of a desktop, by the Desktop Notifications Specification 1.2.
const (
	serverName = "org.freedesktop.Notifications"
	serverPath = "/org/freedesktop/Notifications"
)

// timeout is how long the desktop may take.
const timeout = 5 * time.Second

// OnDesktop shows a notification on the desktop. It does nothing without a session bus, and
// returns once the desktop has accepted the notification.
func OnDesktop(ctx context.Context, title, text string) error {
	address := sessionBus()
	if address == "" {
		return nil // there is no desktop to notify
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// Not dbus.SessionBus, which starts a bus if there is none.
	bus, err := dbus.Connect(address, dbus.WithContext(ctx))
	if err != nil {
		return fmt.Errorf("connecting to the session bus: %w", err)
	}
	defer bus.Close()
	server := bus.Object(serverName, serverPath)
	var abilities []string
	if err := server.CallWithContext(ctx, serverName+".GetCapabilities", 0).Store(&abilities); err != nil {
		return fmt.Errorf("asking the desktop's notification server: %w", err)
	}
	title, text = clean(title), clean(text)
	if slices.Contains(abilities, "body-markup") {
		text = html.EscapeString(text)
	}
	return server.CallWithContext(ctx, serverName+".Notify", 0,
		"aibox", uint32(0), "", title, text, []string{}, map[string]dbus.Variant{}, int32(-1)).Err
}

// sessionBus returns the address of the user's session bus; "" if there is none.
func sessionBus() string {
	if address := os.Getenv("DBUS_SESSION_BUS_ADDRESS"); address != "" {
		return address
	}
	socket := filepath.Join(paths.RuntimeDir(), "bus")
	if _, err := os.Stat(socket); err != nil {
		return ""
	}
	return "unix:path=" + dbus.EscapeBusAddressValue(socket)
}
