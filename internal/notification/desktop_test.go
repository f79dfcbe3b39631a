package notification

import (
	"strings"
	"testing"

	"aibox/internal/notification/desktoptest"
)

func TestTheDesktopReceivesATextWithoutControlCharacters(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	for name, c := range map[string]struct {
		abilities []string
		want      string
	}{
		"with markup":    {[]string{"body", "body-markup"}, `&lt;a href=x&gt;evil&lt;/a&gt;\x1b]0;x\x07`},
		"without markup": {[]string{"body"}, `<a href=x>evil</a>\x1b]0;x\x07`},
	} {
		t.Run(name, func(t *testing.T) {
			desktop := desktoptest.Start(t, c.abilities...)
			t.Setenv("DBUS_SESSION_BUS_ADDRESS", desktop.Address)
			if err := OnDesktop(t.Context(), "--help\x1b", "<a href=x>evil</a>\x1b]0;x\x07\n"+strings.Repeat("x", 1000)); err != nil {
				t.Fatal(err)
			}
			got := <-desktop.Notes
			if got.App != "aibox" || got.Title != `--help\x1b` || !strings.HasPrefix(got.Text, c.want) || len(got.Text) > 300 {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestNothingIsShownWithoutASessionBus(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	if err := OnDesktop(t.Context(), "aibox", "x"); err != nil {
		t.Error(err)
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
	if err := OnDesktop(t.Context(), "aibox", "x"); err == nil {
		t.Error("a bus that does not exist took a notification")
	}
}
