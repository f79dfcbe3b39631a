// Package modelserver describes the model server that a session uses: it reads the
// value of --inference, detects servers on this machine, lists their models, and checks
// which user runs a server before any prompt is sent. It holds the real key and never
// passes it to the agent.
package modelserver

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"aibox/internal/fault"
	"aibox/internal/secret"
	"aibox/netguard/gateway/schema"
)

// Kind is what sort of inference server an Upstream is. The zero value is none.
type Kind uint8

// The kinds.
const (
	Scripted   Kind = iota + 1 // in process; the caller sets Handler
	OllamaHost                 // an Ollama: its own API, OpenAI's and Anthropic's
	Compatible                 // any server with OpenAI's, Anthropic's or Gemini's API
	Hosted                     // a vendor's cloud, with a key
)

// Server is a model server: the upstream of the gateway.
type Server struct {
	Kind     Kind
	Name     string           // as the user named it: "ollama", "openai", "http://127.0.0.1:1234/v1"
	URL      *url.URL         // the server's root without /v1; nil when Scripted
	Dialects []schema.Dialect // what it speaks
	Key      secret.Value     // the real credential; empty for none
	KeyName  string           // the environment variable that the key comes from; empty for none
	Script   string           // file of scripted:FILE; empty means the built-in script
	Handler  http.Handler     // answers in process when Scripted
	// AnyOwner lets a server on this machine run as any user: the user named it by its
	// address.
	AnyOwner bool
	// Admits decides about a server on this machine that another user runs, from any
	// goroutine. Nil admits none. The user's own, root's and Ollama's own account are
	// not asked about.
	Admits func(Owner) bool
	// Fallback reports that the user named no server and none was found on this machine:
	// prompts and code leave it.
	Fallback bool
	// Skipped are the owners of servers that were found first and not admitted.
	Skipped []Owner

	// Proxy chooses the proxy of a request; nil means by the environment.
	Proxy func(*http.Request) (*url.URL, error)
}

// vendor is a server with a name of its own.
type vendor struct {
	name     string
	url      string
	dialects []schema.Dialect
	keyNames []string // the first one that is set
}

func vendors() []vendor {
	return []vendor{
		{"anthropic", "https://api.anthropic.com", []schema.Dialect{schema.Anthropic}, []string{"ANTHROPIC_API_KEY"}},
		{"openai", "https://api.openai.com", []schema.Dialect{schema.OpenAI}, []string{"OPENAI_API_KEY"}},
		{"gemini", "https://generativelanguage.googleapis.com", []schema.Dialect{schema.Gemini}, []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}},
		{"openrouter", "https://openrouter.ai/api", []schema.Dialect{schema.OpenAI, schema.Anthropic}, []string{"OPENROUTER_API_KEY"}},
	}
}

// keyOfURL is the environment variable with the key of a server given by URL.
const keyOfURL = "AIBOX_INFERENCE_KEY"

const ollamaRoot = "http://127.0.0.1:11434"

// KeyNames returns the environment variables that ParseUpstream looks up.
func KeyNames() []string {
	names := []string{keyOfURL, "OLLAMA_HOST"}
	for _, v := range vendors() {
		names = append(names, v.keyNames...)
	}
	return names
}

// Address returns the server's host and port; empty when it runs in process.
func (u Server) Address() string {
	if u.URL == nil {
		return ""
	}
	return u.URL.Host
}

// Names returns the values of --inference besides a URL.
func Names() []string {
	names := []string{"auto", "ollama"}
	for _, v := range vendors() {
		names = append(names, v.name)
	}
	return append(names, "scripted", "scripted:FILE")
}

// Parse reads the value of --inference: ollama, openai, anthropic, gemini,
// openrouter, scripted, scripted:FILE, or the URL of an OpenAI- or
// Anthropic-compatible server with or without /v1, or of one that speaks Gemini's
// dialect, which ends in /v1beta. env looks up environment
// variables (os.LookupEnv): OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY (or
// GOOGLE_API_KEY), OPENROUTER_API_KEY, OLLAMA_HOST, and AIBOX_INFERENCE_KEY for a
// URL. Errors are faults. It does not touch the network and refuses "auto": see
// Detect.
func Parse(value string, env func(string) (string, bool)) (Server, error) {
	if kind, file, named := strings.Cut(value, ":"); kind == "scripted" {
		if named && file == "" {
			return Server{}, fault.New(fault.Usage, "--inference scripted: names no file").Hint("aibox run --inference scripted …")
		}
		return Server{Kind: Scripted, Name: "scripted", Script: file, Dialects: []schema.Dialect{schema.OpenAI, schema.Anthropic, schema.Gemini, schema.Ollama}}, nil
	}
	if value == "ollama" {
		return ollama(env)
	}
	for _, v := range vendors() {
		if v.name == value {
			return v.upstream(env)
		}
	}
	if strings.Contains(value, "://") {
		u, err := compatible(value, env)
		u.AnyOwner = true
		return u, err
	}
	f := fault.New(fault.Usage, "unknown model server %q", printable(value)).
		Hint("aibox run --inference %s …", strings.Join(Names(), "|"))
	if strings.ContainsAny(value, ":.") {
		f = f.Hint("aibox run --inference http://%s …", printable(value))
	}
	return Server{}, f
}

func (v vendor) upstream(env func(string) (string, bool)) (Server, error) {
	root, err := url.Parse(v.url)
	if err != nil {
		return Server{}, err
	}
	for _, name := range v.keyNames {
		if key, ok := env(name); ok && strings.TrimSpace(key) != "" {
			u := Server{Kind: Hosted, Name: v.name, URL: root, Dialects: v.dialects, Key: secret.New(strings.TrimSpace(key)), KeyName: name}
			return u, u.CheckKey()
		}
	}
	return Server{}, fault.New(fault.Environment, "%s needs a key, and %s is not set", v.name, v.keyNames[0]).
		Hint("export %s=…   # the key stays on this side of the sandbox", v.keyNames[0])
}

// ollama follows OLLAMA_HOST as Ollama's own client does, without its paths.
func ollama(env func(string) (string, bool)) (Server, error) {
	address := ollamaRoot
	if host, ok := env("OLLAMA_HOST"); ok && strings.TrimSpace(host) != "" {
		address = strings.TrimSpace(host)
		if !strings.Contains(address, "://") {
			address = "http://" + address
		}
	}
	root, err := parseRoot(address)
	if err != nil {
		return Server{}, err
	}
	if root.Port() == "" && root.Scheme == "http" {
		root.Host += ":11434"
	}
	if host := root.Hostname(); host == "0.0.0.0" || host == "::" || host == "" {
		root.Host = net.JoinHostPort("127.0.0.1", root.Port()) // where a server listens, not where one calls
	}
	return Server{Kind: OllamaHost, Name: "ollama", URL: root, Dialects: []schema.Dialect{schema.OpenAI, schema.Anthropic, schema.Ollama}}, nil
}

func compatible(value string, env func(string) (string, bool)) (Server, error) {
	root, version, err := parseAddress(value)
	if err != nil {
		return Server{}, err
	}
	u := Server{Kind: Compatible, Name: root.String(), URL: root, Dialects: []schema.Dialect{schema.OpenAI, schema.Anthropic}}
	switch {
	case version == geminiVersion:
		u.Name, u.Dialects = u.Name+version, []schema.Dialect{schema.Gemini}
	case root.Port() == "11434":
		u.Kind, u.Dialects = OllamaHost, append(u.Dialects, schema.Ollama)
	}
	for _, v := range vendors() {
		if strings.TrimPrefix(v.url, "https://") == root.Host {
			u.Kind, u.Dialects = Hosted, v.dialects
		}
	}
	if key, ok := env(keyOfURL); ok && strings.TrimSpace(key) != "" {
		u.Key, u.KeyName = secret.New(strings.TrimSpace(key)), keyOfURL
	}
	return u, u.CheckKey()
}

// geminiVersion is where paths of Gemini's API begin. A server given by a URL that ends
// in it speaks Gemini's dialect: such servers list their models there and nowhere else.
const geminiVersion = "/v1beta"

// parseRoot reads a server's URL and cuts off the version that paths begin with.
func parseRoot(value string) (*url.URL, error) {
	root, _, err := parseAddress(value)
	return root, err
}

// parseAddress returns parseRoot, and the version that was cut off.
func parseAddress(value string) (address *url.URL, version string, err error) {
	root, err := url.Parse(value)
	switch {
	case err != nil:
		return nil, "", fault.New(fault.Usage, "that is not the URL of a model server").Hint("aibox run --inference http://127.0.0.1:8000/v1 …")
	case root.User != nil:
		return nil, "", fault.New(fault.Usage, "the URL of a model server must not hold a name or key").Hint("export %s=…", keyOfURL)
	case root.Scheme != "http" && root.Scheme != "https", root.Host == "", root.Hostname() == "" && root.Port() == "", root.RawQuery != "", root.Fragment != "":
		return nil, "", fault.New(fault.Usage, "%q is not the URL of a model server: want http:// or https://, a host and perhaps a path", printable(root.Redacted())).
			Hint("aibox run --inference http://127.0.0.1:8000/v1 …")
	}
	path := strings.TrimSuffix(root.Path, "/")
	for _, known := range []string{"/v1", geminiVersion} {
		if before, ok := strings.CutSuffix(path, known); ok {
			path, version = before, known
			break
		}
	}
	return &url.URL{Scheme: root.Scheme, Host: root.Host, Path: strings.TrimSuffix(path, "/")}, version, nil
}

// KeyVariable returns the environment variable that a key for this server comes from, or would
// come from; empty when it takes none.
func (u Server) KeyVariable() string {
	if u.KeyName == "" && u.Kind == Compatible {
		return keyOfURL
	}
	return u.KeyName
}

func (u Server) Speaks(dialect schema.Dialect) bool { return slices.Contains(u.Dialects, dialect) }

// DialectNames lists the dialects for a sentence.
func (u Server) DialectNames() string {
	var names []string
	for _, dialect := range u.Dialects {
		names = append(names, dialect.String())
	}
	return strings.Join(names, " or ")
}

func (u Server) Base() *url.URL {
	if u.URL == nil {
		return &url.URL{Scheme: "http", Host: "scripted.aibox.internal"}
	}
	return u.URL
}

// Transport reaches the server. The user's own proxy settings count, since this
// is the user's side.
func (u Server) Transport() (http.RoundTripper, error) {
	if u.Kind == Scripted {
		if u.Handler == nil {
			return nil, errors.New("gateway: the scripted upstream has no handler")
		}
		return inProcess{u.Handler}, nil
	}
	if u.URL == nil {
		return nil, errors.New("gateway: the upstream has no URL")
	}
	return &http.Transport{
		Proxy:                  u.findProxy,
		DialContext:            u.dial,
		TLSHandshakeTimeout:    10 * time.Second,
		ExpectContinueTimeout:  time.Second,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConnsPerHost:    32,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 256 << 10,
	}, nil
}

// findProxy returns the proxy that a request goes through; nil for none.
func (u Server) findProxy(r *http.Request) (*url.URL, error) {
	if u.Proxy != nil {
		return u.Proxy(r)
	}
	return http.ProxyFromEnvironment(r)
}

// Authorize adds the real key the way the dialect, or the vendor, wants it.
func (u Server) Authorize(header http.Header, dialect schema.Dialect) {
	if dialect == schema.Anthropic && header.Get("Anthropic-Version") == "" {
		header.Set("Anthropic-Version", "2023-06-01")
	}
	if u.Key.Empty() {
		return
	}
	key := u.Key.Reveal()
	switch {
	case dialect == schema.Gemini:
		header.Set("X-Goog-Api-Key", key)
	case dialect == schema.Anthropic && u.Base().Host == "api.anthropic.com":
		header.Set("X-Api-Key", key)
	case dialect == schema.Anthropic: // compatible servers differ in which one they look at
		header.Set("X-Api-Key", key)
		header.Set("Authorization", "Bearer "+key)
	default:
		header.Set("Authorization", "Bearer "+key)
	}
}

// Explain turns a failed request into a fault that says what to do. It never
// quotes err, which could hold a URL with a key in it.
func (u Server) Explain(err error) *fault.Fault {
	where := u.Base().Host
	var dns *net.DNSError
	var timeout net.Error
	var foreign foreignError
	switch {
	case errors.As(err, &foreign):
		return foreign.fault()
	case u.Kind == Scripted:
		return fault.New(fault.Internal, "the built-in server failed")
	case errors.Is(err, syscall.ECONNREFUSED) && u.Kind == OllamaHost:
		return fault.New(fault.Environment, "Ollama is not running on %s", where).Hint("ollama serve")
	case errors.Is(err, syscall.ECONNREFUSED):
		return fault.New(fault.Environment, "nothing answers on %s", where).Hint("start the model server, or choose another with aibox run --inference")
	case errors.As(err, &dns):
		return fault.New(fault.Environment, "the host %s is not known", u.Base().Hostname()).Hint("aibox run --inference …   # check the name and this machine's network")
	case errors.As(err, &timeout) && timeout.Timeout():
		return fault.New(fault.Environment, "%s does not answer in time", where).Hint("check this machine's network, or choose another with aibox run --inference")
	default:
		return fault.New(fault.Environment, "%s cannot be reached (%s)", where, reason(err)).Hint("check this machine's network, or choose another with aibox run --inference")
	}
}

// reason names the innermost reason of err without any of its values.
func reason(err error) string {
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		return errno.Error()
	case strings.Contains(err.Error(), "certificate"):
		return "its certificate is not trusted"
	case strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		return "it speaks http, not https"
	case strings.Contains(err.Error(), "EOF"):
		return "it hung up"
	default:
		return fmt.Sprintf("%T", errors.Unwrap(err))
	}
}

// printable escapes everything that is not plain ASCII.
func printable(text string) string {
	quoted := strconv.QuoteToASCII(text)
	return quoted[1 : len(quoted)-1]
}
