package bakery

import (
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Mirror is where the host gets Debian's packages. Empty addresses mean
// mmdebstrap's own defaults.
type Mirror struct {
	Main     string // http or https address, without a password
	Security string
}

// readMirror takes the mirrors from the apt sources of a Debian host, so that a
// machine behind a company's mirror bootstraps from it. A host of another
// family (Ubuntu) has no Debian mirror. hasSecret refuses addresses, which images would show; nil
// refuses none.
func readMirror(root fs.FS, hasSecret func(url string) bool) Mirror {
	release := osRelease(root)
	code := release["VERSION_CODENAME"]
	if release["ID"] != "debian" || code == "" {
		return Mirror{}
	}
	var m Mirror
	for _, s := range aptSources(root) {
		switch {
		case !s.usable(), hasSecret != nil && hasSecret(s.uri):
		case m.Main == "" && s.suite == code:
			m.Main = s.uri
		case m.Security == "" && s.suite == code+"-security":
			m.Security = s.uri
		}
	}
	return m
}

func osRelease(root fs.FS) map[string]string {
	data, err := fs.ReadFile(root, "etc/os-release")
	if err != nil {
		return nil
	}
	values := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			values[key] = strings.Trim(value, `"'`)
		}
	}
	return values
}

// aptSource is one archive apt knows.
type aptSource struct {
	uri, suite string
	main       bool // it offers the component "main"
}

func (s aptSource) usable() bool {
	u, err := url.Parse(s.uri)
	return s.main && err == nil && (u.Scheme == "http" || u.Scheme == "https") &&
		u.Host != "" && u.User == nil && !loopback(u.Hostname()) && !strings.ContainsAny(s.uri, " []'\"\\$`;&|<>")
}

// aptSources reads both forms of apt's configuration: one-line *.list files and
// deb822 *.sources files.
func aptSources(root fs.FS) []aptSource {
	files := []string{"etc/apt/sources.list"}
	more, _ := fs.Glob(root, "etc/apt/sources.list.d/*")
	var found []aptSource
	for _, file := range append(files, more...) {
		data, err := fs.ReadFile(root, file)
		if err != nil {
			continue
		}
		if path.Ext(file) == ".sources" {
			found = append(found, deb822(string(data))...)
		} else if path.Ext(file) == ".list" {
			found = append(found, oneLine(string(data))...)
		}
	}
	return found
}

func oneLine(text string) []aptSource {
	var found []aptSource
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "deb ")
		if !ok {
			continue
		}
		rest = strings.TrimSpace(rest)
		if strings.HasPrefix(rest, "[") {
			_, rest, _ = strings.Cut(rest, "]")
		}
		if f := strings.Fields(rest); len(f) >= 3 {
			found = append(found, aptSource{uri: f[0], suite: f[1], main: slices.Contains(f[2:], "main")})
		}
	}
	return found
}

func deb822(text string) []aptSource {
	var found []aptSource
	for _, stanza := range strings.Split(text, "\n\n") {
		fields := map[string][]string{}
		last := ""
		for line := range strings.Lines(stanza) {
			switch key, value, ok := strings.Cut(line, ":"); {
			case strings.HasPrefix(line, "#"):
			case strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t"):
				fields[last] = append(fields[last], strings.Fields(line)...)
			case ok:
				last = strings.ToLower(key)
				fields[last] = strings.Fields(value)
			}
		}
		if !slices.Contains(fields["types"], "deb") || slices.Contains(fields["enabled"], "no") {
			continue
		}
		for _, uri := range fields["uris"] {
			for _, suite := range fields["suites"] {
				found = append(found, aptSource{uri: uri, suite: suite, main: slices.Contains(fields["components"], "main")})
			}
		}
	}
	return found
}
