package command

import (
	"os"
	"slices"
)

// UserVariables are variables for programs that act for the user outside of any sandbox,
// such as password managers and cloud command lines: they locate settings and agents. None
// holds a secret, but the URL of a proxy can.
var UserVariables = slices.Concat([]string{
	"PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME",
	"DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "SSH_AUTH_SOCK", "GNUPGHOME", "PASSWORD_STORE_DIR",
	"SSL_CERT_FILE", "SSL_CERT_DIR",
	"CLOUDSDK_CONFIG", "CLOUDSDK_ACTIVE_CONFIG_NAME", "AWS_PROFILE", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AZURE_CONFIG_DIR",
}, ProxyVariables)

// ProxyVariables tell programs which proxy to use. The URL of a proxy can have a password.
var ProxyVariables = []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"}

// User returns the UserVariables that are set in aibox's environment.
func User() []string {
	var env []string
	for _, name := range UserVariables {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
