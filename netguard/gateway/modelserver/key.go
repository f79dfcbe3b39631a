package modelserver

import (
	"encoding/base64"
	"net/http"

	"aibox/internal/fault"
	"aibox/internal/redact"
	"aibox/internal/secret"
)

// Secrets returns the values that no answer may pass to the agent: the key, and the
// credentials for a proxy of the host's environment.
func (u Server) Secrets() *redact.Set {
	seen, _ := u.keys.secrets()
	values := append([]secret.Value{u.Key}, seen...)
	if r, err := http.NewRequest(http.MethodGet, u.Base().String(), nil); err == nil { //nolint:noctx // it is never sent
		if proxy, err := u.findProxy(r); err == nil && proxy != nil && proxy.User != nil {
			password, _ := proxy.User.Password()
			pair := proxy.User.Username() + ":" + password
			for _, text := range []string{password, pair, base64.StdEncoding.EncodeToString([]byte(pair))} {
				values = append(values, secret.New(text))
			}
		}
	}
	return redact.New(values...)
}

// KeyVersion changes when Secrets does.
func (u Server) KeyVersion() int {
	_, version := u.keys.secrets()
	return version
}

// HasKey reports whether the server gets a key.
func (u Server) HasKey() bool { return !u.Key.Empty() || u.keys != nil }

// keySource returns the source of the key, as a noun.
func (u Server) keySource() string {
	if u.keyPlace != "" {
		return u.keyPlace
	}
	return u.KeyName
}

// keyHint returns a hint on how to give the server another key.
func (u Server) keyHint() string {
	if u.keyPlace != "" && u.KeyName == "" {
		return "check where the key comes from: aibox config edit"
	}
	return "export " + u.KeyName + "=…   # a key that " + u.Name + " takes"
}

// CheckKey refuses a key that could not be recognized in an answer: one so short that it
// occurs in ordinary text, or with characters that encoders write in different ways.
func (u Server) CheckKey() error {
	key := u.Key.Reveal()
	if u.Key.Empty() {
		return nil
	}
	if len(key) < redact.Least || len(key) > redact.Most {
		return fault.New(fault.Environment, "the key in %s has %d characters; aibox keeps keys of %d to %d characters out of the sandbox", u.keySource(), len(key), redact.Least, redact.Most).
			Hint("set another key in the model server, or use none if it needs none")
	}
	for _, c := range []byte(key) {
		if c <= ' ' || c > '~' {
			return fault.New(fault.Environment, "the key in %s has a space or another character that keys do not have", u.keySource()).
				Hint("keep quotes and line breaks out of it")
		}
	}
	return nil
}
