package bakery

import (
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"os"
	"runtime"
	"strings"

	"aibox/internal/lazyregexp"
	"aibox/internal/toolconfig"
)

// Host holds the machine's settings for reaching package registries. It never holds
// files or secrets of the machine. The zero value means no settings.
type Host struct {
	Arch     string // GOARCH
	Certs    []Cert
	Registry string            // npm's registry if the user set one; empty means npm's default
	Pip      map[string]string // PIP_INDEX_URL and similar variables that the user set
	Mirror   Mirror            // Debian's packages
	Proxies  map[string]string // HTTP_PROXY and similar variables, if a container can reach the proxy and there is no password
	Notes    []string          // settings that were left out, and why
}

// ReadHost reads the machine's settings.
func ReadHost() Host { return new(HostReader).Read() }

// HostReader reads the machine's settings any number of times, and certificates, which take
// the most time, only if they have changed. The zero value is ready for use, and safe for
// concurrent use.
type HostReader struct {
	// HasSecret reports whether a URL holds a secret, such as a token in its path; nil means that
	// none is recognized.
	HasSecret func(url string) bool

	certs certReader
}

// Read reads the machine's settings. The certificates in them are shared and must not be
// changed.
func (r *HostReader) Read() Host {
	home, _ := os.UserHomeDir()
	return r.read(os.DirFS("/"), os.Getenv, home)
}

func (r *HostReader) read(root fs.FS, env func(string) string, home string) Host {
	h := Host{Arch: runtime.GOARCH, Mirror: readMirror(root, r.HasSecret)}
	tools := toolconfig.Source{Root: root, Env: env, Home: home}
	var left int
	if h.Certs, left = r.certs.read(root, []string{env("SSL_CERT_FILE"), env("NODE_EXTRA_CA_CERTS")}); left > 0 {
		h.Notes = append(h.Notes, fmt.Sprintf("this machine has %d certificates of its own authorities: images get %d of them, and %d are left out", len(h.Certs)+left, len(h.Certs), left))
	}
	a := addresses{host: &h, hasSecret: r.HasSecret}
	h.Registry = a.check(tools.NPM(), "npm's registry setting")
	h.Pip = a.pip(tools.Pip())
	h.proxies(env)
	return h
}

// addressForm excludes every character that is special to a shell.
var addressForm = lazyregexp.New(`^[A-Za-z0-9:/._~%-]+$`)

// addresses checks the addresses of package registries.
type addresses struct {
	host      *Host // gets the notes
	hasSecret func(url string) bool
}

// check returns the address of a package registry. It returns "" and adds a note about the
// setting if the address holds a password or a token, or points to this machine, which a build
// cannot reach.
func (a addresses) check(text, setting string) string {
	if text == "" {
		return ""
	}
	why := ""
	u, err := url.Parse(text)
	switch {
	case err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || !addressForm.MatchString(text):
		why = " is not a plain http address"
	case loopback(u.Hostname()):
		why = " points to this machine, which a build cannot reach"
	case a.hasSecret != nil && a.hasSecret(text):
		why = " holds a secret, which images would show"
	default:
		return text
	}
	a.host.Notes = append(a.host.Notes, setting+why+": images are built without it")
	return ""
}

// settings returns the build arguments that a Dockerfile may declare.
func (h *Host) settings() map[string]string {
	all := maps.Clone(h.Pip)
	if all == nil {
		all = map[string]string{}
	}
	if h.Registry != "" {
		all["NPM_REGISTRY"] = h.Registry
	}
	return all
}

func (h *Host) proxies(env func(string) string) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"} {
		value := env(name)
		if value == "" {
			value = env(strings.ToLower(name))
		}
		if value == "" {
			continue
		}
		if name != "NO_PROXY" {
			if !strings.Contains(value, "://") { // as many tools take it
				value = "http://" + value
			}
			if why := unusable(value); why != "" {
				h.Notes = append(h.Notes, name+" "+why+": images are built without it")
				continue
			}
		}
		if h.Proxies == nil {
			h.Proxies = map[string]string{}
		}
		h.Proxies[name] = value
	}
}

// unusable returns why builds cannot use the proxy at an address, as a predicate; "" if they can.
func unusable(proxy string) string {
	u, err := url.Parse(proxy)
	switch {
	case err != nil || u.Hostname() == "":
		return "is not the address of a proxy"
	case u.User != nil:
		return "holds a password, which images would show"
	case loopback(u.Hostname()):
		return "points to this machine, which a build cannot reach"
	default:
		return ""
	}
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
}
