package modelserver

import (
	"net"
	"net/url"
	"slices"
	"strings"

	"aibox/internal/fault"
	"aibox/internal/secret"
	"aibox/internal/spelling"
	"aibox/netguard/gateway/schema"
)

// ownCloud is the agent's own cloud in place of a model server.
const ownCloud = "cloud"

// Names returns the values of --inference besides a URL.
func Names() []string {
	names := []string{"auto", "ollama"}
	for _, v := range vendors() {
		names = append(names, v.name)
	}
	names = append(names, clouds()...)
	return append(names, "scripted", "scripted:FILE", ownCloud)
}

// Parse reads the value of --inference: ollama, openai, anthropic, gemini,
// openrouter, azure, vertex, bedrock, scripted, scripted:FILE, the name of one of
// providers, or the URL of an OpenAI- or
// Anthropic-compatible server with or without /v1, or of one that speaks Gemini's
// dialect, which ends in /v1beta. env looks up environment
// variables (os.LookupEnv): OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY (or
// GOOGLE_API_KEY), OPENROUTER_API_KEY, OLLAMA_HOST, AIBOX_INFERENCE_KEY for a URL, and
// those of the clouds. Errors are faults. It does not touch the network and refuses "auto": see
// Detect.
func Parse(value string, env func(string) (string, bool), providers ...Provider) (Server, error) {
	if kind, file, named := strings.Cut(value, ":"); kind == "scripted" {
		if named && file == "" {
			return Server{}, fault.New(fault.Usage, "--inference scripted: names no file").Hint("aibox run --inference scripted …")
		}
		return Server{Kind: Scripted, Name: "scripted", Script: file, Dialects: []schema.Dialect{schema.OpenAI, schema.Anthropic, schema.Gemini, schema.Ollama}}, nil
	}
	if value == ownCloud {
		return Server{}, fault.New(fault.Usage, "--inference %s is no model server: the agent talks to its vendor's servers", ownCloud).
			Hint("aibox run codex --inference %s …", ownCloud)
	}
	if value == "ollama" {
		return ollama(env)
	}
	for _, v := range vendors() {
		if v.name == value {
			return v.upstream(env, providers...)
		}
	}
	if i := slices.IndexFunc(providers, func(p Provider) bool { return p.Name == value }); i >= 0 {
		return providers[i].server(env)
	}
	if slices.Contains(clouds(), value) {
		return Provider{Name: value}.server(env)
	}
	if strings.Contains(value, "://") {
		u, err := compatible(value, env)
		u.AnyOwner = true
		return u, err
	}
	names := Names()
	for _, p := range providers {
		names = append(names, printable(p.Name))
	}
	f := fault.New(fault.Usage, "unknown model server %q", printable(value))
	if near := spelling.Nearest(value, names); near != "" {
		f = f.Hint("did you mean %s?", near)
	}
	f = f.Hint("aibox run --inference %s …", strings.Join(names, "|")).
		Hint("or describe it in your settings under [providers.NAME]")
	if strings.ContainsAny(value, ":.") {
		f = f.Hint("aibox run --inference http://%s …", printable(value))
	}
	return Server{}, f
}

// Validate returns an error if a value of --inference does not name a model server. It
// needs no key and does not touch the network: a server that is down, or whose key is not
// set yet, is no error.
func Validate(value string, providers ...string) error {
	if value == "" || slices.Contains(Names(), value) || slices.Contains(providers, value) {
		return nil
	}
	_, err := Parse(value, func(string) (string, bool) { return "", false })
	return err
}

func (v vendor) upstream(env func(string) (string, bool), providers ...Provider) (Server, error) {
	if i := slices.IndexFunc(providers, func(p Provider) bool { return p.Name == v.name }); i >= 0 {
		return providers[i].server(env)
	}
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
		root.Host = net.JoinHostPort("127.0.0.1", root.Port()) // the address of a listening server, not one to dial
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

// geminiVersion is the first part of paths of Gemini's API. A server given by a URL that
// ends in it speaks Gemini's dialect: such servers list their models only there.
const geminiVersion = "/v1beta"

// parseRoot reads a server's URL and cuts off the version with which paths begin.
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
