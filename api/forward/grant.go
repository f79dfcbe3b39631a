package forward

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"aibox/session"
)

// Key signs grants. It is secret; everyone who has it can reach every port.
type Key [32]byte

// String hides the key.
func (Key) String() string { return "••••" }

// GoString hides the key.
func (Key) GoString() string { return "forward.Key{••••}" }

// Limits of grants.
const (
	// MaxURL is the maximum validity of a signed URL.
	MaxURL = 24 * time.Hour
	// cookieLifetime is how long the cookie that a signed URL sets is valid.
	cookieLifetime = 12 * time.Hour
)

// use is the purpose of a grant, so that one kind is never accepted as another.
type use string

const (
	inURL    use = "url"
	inCookie use = "cookie"
)

// grant allows access to one port of one sandbox. It is in a signed URL or a cookie.
type grant struct {
	Use     use            `json:"u"`
	Sandbox string         `json:"s"`
	Port    uint16         `json:"p"`
	Tenant  session.Tenant `json:"t"`
	Token   string         `json:"k,omitempty"` // the id of the token that it was made with
	Expires int64          `json:"e"`           // seconds since 1970
}

// signGrant encodes a grant: its JSON and the HMAC of that, in base64.
func (k Key) signGrant(g grant) string {
	data, err := json.Marshal(g)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	text := base64.RawURLEncoding.EncodeToString(data)
	return text + "." + base64.RawURLEncoding.EncodeToString(k.sum(text))
}

// maxGrant bounds the length of an encoded grant.
const maxGrant = 1 << 10

// readGrant decodes a grant that is valid for a use at a time.
func (k Key) readGrant(encoded string, want use, now time.Time) (g grant, ok bool) {
	text, signature, found := strings.Cut(encoded, ".")
	if !found || len(encoded) > maxGrant {
		return grant{}, false
	}
	sum, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil || !hmac.Equal(sum, k.sum(text)) {
		return grant{}, false
	}
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(data, &g) != nil {
		return grant{}, false
	}
	return g, g.Use == want && now.Unix() < g.Expires
}

// sum returns the HMAC of a text.
func (k Key) sum(text string) []byte {
	mac := hmac.New(sha256.New, k[:])
	mac.Write([]byte("aibox port grant 1\n" + text))
	return mac.Sum(nil)
}

// SignedURL is a URL that allows access to one port of one sandbox.
type SignedURL struct {
	Host    string // PORT-ID.DOMAIN, without the server's port
	Query   string // with the grant
	Expires time.Time
}

// Sign returns a URL with which a browser can reach a port of the caller's sandbox. It is
// valid for ttl, at most MaxURL, and ends when the caller's token does. The caller has
// checked that the sandbox is the tenant's.
func (f *Forwarder) Sign(caller Caller, sandbox string, port uint16, ttl time.Duration) SignedURL {
	expires := f.now().Add(min(ttl, MaxURL)).Truncate(time.Second)
	text := f.options.Key.signGrant(grant{
		Use: inURL, Sandbox: sandbox, Port: port, Tenant: caller.Tenant, Token: caller.Token, Expires: expires.Unix(),
	})
	return SignedURL{Host: Host(f.options.Domains[0], sandbox, port), Query: grantParameter + "=" + text, Expires: expires}
}
