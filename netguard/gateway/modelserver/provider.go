package modelserver

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"aibox/internal/fault"
	"aibox/internal/lazyregexp"
	"aibox/internal/secret"
	"aibox/internal/secretsource"
	"aibox/netguard/gateway/schema"
)

// Provider is a model server that the user's settings describe under [providers.NAME]:
// their own server, or a vendor's with other credentials. Empty fields mean those of the
// kind's vendor, or nothing.
type Provider struct {
	Name       string // the value of --inference
	Kind       string // one of ProviderKinds; empty means the vendor called Name, else "compatible"
	URL        string
	Dialects   []string // "openai", "anthropic", "gemini"
	Region     string
	Project    string
	APIVersion string

	// At most one of the three is set.
	KeyEnv     string   // a variable of the environment
	KeyFile    string   // an absolute path
	KeyCommand []string // a program with its arguments
	// KeyLifetime is how long the output of KeyCommand is valid; 0 means until a server
	// refuses it.
	KeyLifetime time.Duration

	keys *keySource // shared by all servers of the provider; nil without KeyCommand
}

// ProviderKinds returns the kinds of providers.
func ProviderKinds() []string {
	kinds := []string{"compatible"}
	for _, v := range vendors() {
		kinds = append(kinds, v.name)
	}
	return append(kinds, clouds()...)
}

// clouds returns the providers that need more than a key. "auto" uses none of them: their
// variables are often set for other programs.
func clouds() []string { return []string{"azure", "vertex", "bedrock"} }

// Share makes all servers of the provider use the same key: a command runs once for all.
func (p Provider) Share() Provider {
	if len(p.KeyCommand) > 0 {
		p.keys = newKeySource(commandKey{p.KeyCommand, p.KeyLifetime}.load)
	}
	return p
}

var providerName = lazyregexp.New(`^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$`)

// Check returns an error if the provider's settings are invalid. It does no I/O.
func (p Provider) Check() error {
	wrong := func(format string, args ...any) *fault.Fault {
		return fault.New(fault.Usage, "[providers."+printable(p.Name)+"] "+format, args...)
	}
	isVendor := slices.Contains(ProviderKinds()[1:], p.Name)
	switch {
	case !providerName.MatchString(p.Name) || slices.Contains([]string{"auto", "ollama", "scripted", "compatible"}, p.Name):
		return fault.New(fault.Usage, "a provider cannot be called %q", printable(p.Name)).Hint("use lowercase letters, digits and dashes, such as [providers.work]")
	case isVendor && p.Kind != "" && p.Kind != p.Name:
		return wrong("is the provider %s, and its kind cannot be %s", p.Name, p.Kind).Hint("give it another name, such as [providers.my-%s]", p.Kind)
	case p.kind() == "compatible" && p.URL == "":
		return wrong("has no url").Hint(`url = "https://llm.example.org/v1"`)
	}
	sources := 0
	for _, set := range []bool{p.KeyEnv != "", p.KeyFile != "", len(p.KeyCommand) > 0} {
		if set {
			sources++
		}
	}
	if sources > 1 {
		return wrong("has several keys").Hint("keep one of key-env, key-file and key-command")
	}
	if p.URL != "" {
		_, _, err := parseAddress(p.URL)
		return err
	}
	return nil
}

func (p Provider) kind() string {
	switch {
	case p.Kind != "":
		return p.Kind
	case slices.Contains(ProviderKinds(), p.Name):
		return p.Name
	default:
		return "compatible"
	}
}

// server returns the provider's server.
func (p Provider) server(env func(string) (string, bool)) (Server, error) {
	if err := p.Check(); err != nil {
		return Server{}, err
	}
	u, keyNames, err := p.describe(env)
	if err != nil {
		return Server{}, err
	}
	u.Name, u.AnyOwner = p.Name, true
	if len(p.Dialects) > 0 {
		if u.Dialects, err = p.spoken(u.Dialects); err != nil {
			return Server{}, err
		}
	}
	return u, p.unlock(&u, keyNames, env)
}

// describe returns the server without its key, and the variables that usually hold the key.
func (p Provider) describe(env func(string) (string, bool)) (u Server, keyNames []string, err error) {
	switch kind := p.kind(); kind {
	case "azure":
		return p.azure(env)
	case "vertex":
		return p.vertex(env)
	case "bedrock":
		return p.bedrock(env)
	case "compatible":
		u, err = compatible(p.URL, func(string) (string, bool) { return "", false })
		return u, nil, err
	default:
		i := slices.IndexFunc(vendors(), func(v vendor) bool { return v.name == kind })
		if i < 0 {
			return Server{}, nil, fault.New(fault.Usage, "[providers.%s] has the unknown kind %q", p.Name, kind).Hint("kind is one of %s", strings.Join(ProviderKinds(), ", "))
		}
		v := vendors()[i]
		root, err := url.Parse(v.url)
		if p.URL != "" {
			root, err = parseRoot(p.URL)
		}
		return Server{Kind: Hosted, URL: root, Dialects: v.dialects, vendorName: v.name}, v.keyNames, err
	}
}

// spoken returns the dialects that the provider's settings name.
func (p Provider) spoken(known []schema.Dialect) ([]schema.Dialect, error) {
	var all []schema.Dialect
	for _, name := range p.Dialects {
		var dialect schema.Dialect
		if err := dialect.UnmarshalText([]byte(name)); err != nil {
			return nil, fault.New(fault.Usage, "[providers.%s] has the unknown dialect %q", p.Name, name).Hint("dialect is one of openai, anthropic and gemini")
		}
		all = append(all, dialect)
		if p.kind() != "compatible" && !slices.Contains(known, dialect) {
			return nil, fault.New(fault.Usage, "[providers.%s] is of kind %s, which does not speak %s", p.Name, p.kind(), name)
		}
	}
	return all, nil
}

// unlock gives u its key.
func (p Provider) unlock(u *Server, names []string, env func(string) (string, bool)) error {
	switch {
	case len(p.KeyCommand) > 0:
		if u.keys = p.keys; u.keys == nil {
			u.keys = p.Share().keys
		}
		u.keyPlace = "the output of " + printable(p.KeyCommand[0])
		return nil
	case p.KeyFile != "":
		key, err := secretsource.ReadFile(p.KeyFile, "key file")
		u.Key, u.keyPlace = key, "the file "+printable(p.KeyFile)
		if err != nil {
			return err
		}
		return u.CheckKey()
	case p.KeyEnv != "":
		names = []string{p.KeyEnv}
	case u.keys != nil, p.kind() == "compatible":
		return nil
	}
	for _, name := range names {
		if key, ok := env(name); ok && strings.TrimSpace(key) != "" {
			u.Key, u.KeyName, u.keys = secret.New(strings.TrimSpace(key)), name, nil
			return u.CheckKey()
		}
	}
	return fault.New(fault.Environment, "%s needs a key, and %s is not set", p.Name, names[0]).
		Hint("export %s=…   # the key stays on this side of the sandbox", names[0]).
		Hint("or name a file or a command with the key under [providers.%s]: key-file, key-command", p.Name)
}

// KeyNames returns the variables that the provider's key and address may come from.
func (p Provider) KeyNames() []string {
	if p.KeyEnv != "" {
		return []string{p.KeyEnv}
	}
	return nil
}

// firstOf returns text, or else the first of the variables that is set.
func firstOf(text string, env func(string) (string, bool), names ...string) string {
	for _, name := range names {
		if text != "" {
			break
		}
		value, _ := env(name)
		text = strings.TrimSpace(value)
	}
	return text
}

var placeName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9:._-]*$`)

// checkPlace refuses a region, project or version that would change other parts of a URL.
func (p Provider) checkPlace(what, value string, hints ...string) error {
	f := fault.New(fault.Usage, "%s has no %s", p.Name, what)
	if value != "" {
		f = fault.New(fault.Usage, "%q cannot be the %s of %s", printable(value), what, p.Name)
	}
	if placeName.MatchString(value) && !strings.Contains(value, "..") {
		return nil
	}
	for _, hint := range hints {
		f = f.Hint("%s", hint)
	}
	return f
}
