// Package browser opens a page in the user's web browser. It does not wait for the browser.
package browser

import (
	"context"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"time"

	"aibox/internal/command"
	"aibox/internal/fault"
)

// timeout is how long the opener may take. Some wait until the browser has a window.
const timeout = 10 * time.Second

// From desktopVariables xdg-open knows the user's desktop and browser.
var desktopVariables = []string{
	"BROWSER", "XDG_CURRENT_DESKTOP", "XDG_SESSION_TYPE", "XDG_SESSION_DESKTOP", "XDG_DATA_DIRS", "XDG_CONFIG_DIRS",
	"DESKTOP_SESSION", "KDE_FULL_SESSION", "KDE_SESSION_VERSION", "GNOME_DESKTOP_SESSION_ID",
}

// Open opens an http or https address with the desktop's default browser.
func Open(ctx context.Context, address string) error {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return fault.New(fault.Internal, "%q is not the address of a page", address)
	}
	env := command.User()
	for _, name := range desktopVariables {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err = command.Cmd{Name: "xdg-open", Args: []string{parsed.String()}, Env: env}.Run(ctx)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return fault.New(fault.Environment, "no program opens a browser here: xdg-open is missing").Hint("open %s yourself", address)
	case err != nil && ctx.Err() == nil:
		return fault.New(fault.Environment, "the browser could not be opened: %w", err).Hint("open %s yourself", address)
	}
	return nil
}
