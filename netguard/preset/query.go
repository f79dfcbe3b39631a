package preset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"aibox/netguard"
)

// MaxOutput bounds the bytes that a query reads; a program that prints more names no host.
const MaxOutput = 256 << 10

// maxHosts bounds the hosts that one preset adds.
const maxHosts = 16

// Query is a program in the image that names the hosts of a registry.
type Query struct {
	Argv  []string
	parse func(output []byte) []string // URLs and hosts, unchecked
}

// pipScript prints the indexes that pip itself would use: pip's option parser reads the
// image's configuration and environment, and the built-in index names the host of its
// files.
const pipScript = `
from pip._internal.commands import create_command
from pip._internal.models.index import PyPI
options, _ = create_command("install").parse_args(["x"])
urls = [options.index_url] + options.extra_index_urls
for url in urls:
    print(url)
if PyPI.simple_url in urls:
    print("https://" + PyPI.file_storage_domain)
`

// cargoScript prints the registries of cargo's configuration and environment and, unless the
// configuration or the user's own registry (see CargoIndex) replaces it, the index that is
// compiled into cargo: strings in a program have no terminator, so only a host that is followed
// by a slash counts. A sparse index names the host of its crates, which curl can read once the
// first answer of this script is allowed.
const cargoScript = `
command -v cargo >/dev/null || exit 0
configuration=$(cat "${CARGO_HOME:-$HOME/.cargo}/config.toml" "${CARGO_HOME:-$HOME/.cargo}/config" 2>/dev/null)
{
	{ printf '%s\n' "$configuration" | grep -E '^ *(registry|index) *='; env | grep -E '^CARGO_REGISTRIES_[A-Z0-9_]+_INDEX='; } |
		grep -oE "(sparse\\+)?https://[^\"' ]+"
	if [ -z "$CARGO_REGISTRIES_AIBOX_INDEX" ] && ! printf '%s\n' "$configuration" | sed -n '/^ *\[source\.crates-io\]/,/^ *\[/p' | grep -qE '^ *replace-with *='; then
		cargo=$(rustup which cargo 2>/dev/null || readlink -f "$(command -v cargo)")
		grep -aoE 'sparse\+https://[a-z0-9-]+(\.[a-z0-9-]+)+/' "$cargo" | head -n 1
	fi
} | while read -r index; do
	echo "$index"
	case $index in sparse+*)
		index=${index#sparse+}
		curl -fsS -m 3 "${index%/}/config.json" 2>/dev/null | grep -oE '"dl": *"[^"]+"' | grep -oE 'https://[^"{]+'
	esac
done
exit 0
`

// queries are tried in order until one names a host.
var queries = map[string][]Query{
	"npm": {{[]string{"npm", "config", "list", "--json"}, parseNPM}, {[]string{"npm", "config", "get", "registry"}, words}},
	"pip": {
		{[]string{"python3", "-c", pipScript}, words},
		{[]string{"python3", "-m", "pip", "config", "get", "global.index-url"}, words},
	},
	"go":    {{[]string{"go", "env", "GOPROXY", "GOSUMDB"}, parseGo}},
	"cargo": {{[]string{"sh", "-c", cargoScript}, words}},
	"apt":   {{[]string{"apt-get", "indextargets", "--no-release-info", "--format", "$(SITE)"}, words}},
}

// Queries returns the programs to run in the image, in order, until Parse finds a host in
// the output of one. It is empty if the preset has its own hosts.
func (p Preset) Queries() []Query { return queries[p.Name] }

// AsksAgain reports whether a query itself uses the hosts that it names, and so names more
// once they are allowed.
func (p Preset) AsksAgain() bool { return p.Name == "cargo" }

// Asks reports whether the image names the preset's hosts.
func (p Preset) Asks() bool { return len(queries[p.Name]) > 0 }

// Resolution is the hosts of a preset in one session.
type Resolution struct {
	Preset  string
	Rules   []netguard.Rule
	Refused []string // a sentence for each host that the image named and that cannot be allowed
}

// String describes the resolution in one line: the hosts, or that there are none.
func (r Resolution) String() string {
	if len(r.Rules) == 0 {
		return r.Preset + ": no host"
	}
	hosts := make([]string, len(r.Rules))
	for i, rule := range r.Rules {
		hosts[i] = rule.Pattern.String()
	}
	return r.Preset + ": " + strings.Join(hosts, ", ")
}

// Source returns the source of the rules of the preset called name.
func Source(name string) string { return "preset " + name }

// Static returns the resolution of a preset that has its own hosts.
func (p Preset) Static() Resolution { return p.check(p.Hosts) }

// Parse reads the output of a query, which is hostile: the image printed it. Each host goes
// through netguard.ParseAllow, so that an image can name no wildcard, no address of a
// private network and no more than a few hosts.
func (p Preset) Parse(q Query, output []byte) Resolution {
	if len(output) > MaxOutput {
		return Resolution{Preset: p.Name, Refused: []string{fmt.Sprintf("%s printed more than %d KiB", q.Argv[0], MaxOutput>>10)}}
	}
	var hosts []string
	for _, word := range q.parse(output) {
		if host := hostOf(word); host != "" && !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return p.check(hosts)
}

func (p Preset) check(hosts []string) Resolution {
	r := Resolution{Preset: p.Name}
	for i, host := range hosts {
		if i == maxHosts {
			r.Refused = append(r.Refused, fmt.Sprintf("the image names more than %d hosts", maxHosts))
			break
		}
		pattern, err := netguard.ParseAllow(host)
		switch {
		case err != nil:
			r.Refused = append(r.Refused, err.Error())
		case strings.Contains(host, "*"):
			r.Refused = append(r.Refused, fmt.Sprintf("%q is not one host", cut(host)))
		case isSingleLabel(pattern):
			r.Refused = append(r.Refused, fmt.Sprintf("%q has no domain", cut(host)))
		default:
			r.Rules = append(r.Rules, netguard.Rule{Pattern: pattern, Source: Source(p.Name)})
		}
	}
	return r
}

// hostOf returns the host of a URL, with its port unless that is the usual one of its
// scheme; "" if word is not a URL. A bare name counts as a host.
func hostOf(word string) string {
	word = strings.TrimPrefix(strings.Trim(word, `"',`), "sparse+")
	if !strings.Contains(word, "://") {
		if strings.ContainsAny(word, "/\\") {
			return ""
		}
		return cut(word)
	}
	u, err := url.Parse(word)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" {
		return ""
	}
	if port := u.Port(); port == "" || u.Scheme == "https" && port == "443" || u.Scheme == "http" && port == "80" {
		return cut(u.Hostname())
	}
	return cut(u.Host)
}

// cut shortens a word of an image's output, so that it does not fill the screen.
func cut(word string) string { return strings.ToValidUTF8(word[:min(len(word), 300)], "?") }

func words(output []byte) []string { return strings.Fields(string(output)) }

// parseNPM reads the registry and those of scopes ("@acme:registry").
func parseNPM(output []byte) []string {
	var settings map[string]any
	if json.Unmarshal(output, &settings) != nil {
		return nil
	}
	var urls []string
	for key, value := range settings {
		if text, ok := value.(string); ok && (key == "registry" || strings.HasPrefix(key, "@") && strings.HasSuffix(key, ":registry")) {
			urls = append(urls, text)
		}
	}
	slices.Sort(urls)
	return urls
}

// parseGo reads GOPROXY, a list separated by commas and pipes, and GOSUMDB, which is a
// name, a name with a key, or both with a URL.
func parseGo(output []byte) []string {
	var found []string
	proxies, database, _ := bytes.Cut(output, []byte("\n"))
	for _, word := range strings.FieldsFunc(string(proxies), func(r rune) bool { return r == ',' || r == '|' || r == ' ' }) {
		if word != "direct" && word != "off" {
			found = append(found, word)
		}
	}
	fields := strings.Fields(string(database))
	switch {
	case len(fields) > 1:
		found = append(found, fields[1])
	case len(fields) == 1 && fields[0] != "off":
		name, _, _ := strings.Cut(fields[0], "+")
		found = append(found, name)
	}
	return found
}
