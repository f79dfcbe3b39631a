package e2b

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"hash"
	"strconv"
	"strings"
	"sync"
	"time"
)

// purpose is the purpose of a sealed token.
type purpose string

const (
	forInside purpose = "inside" // processes and files
	forPorts  purpose = "ports"
)

// maxIssued is the number of tokens that can have signed URLs at once.
const maxIssued = 10_000

// maxToken is the maximum length of a token in bytes.
const maxToken = 1 << 10

// errToken is the answer to every token that is not valid, whether its sandbox exists or not.
var errToken = errors.New("the access token is not valid for this sandbox")

// tokens makes and opens tokens for one sandbox. Such a token is the caller's own token,
// sealed for a sandbox and a purpose. So it gives no right that the caller's token does not
// give, and ends with it. It is safe for concurrent use.
type tokens struct {
	seal, nonce []byte

	mu     sync.RWMutex        // verify, which everyone can call, only reads
	issued map[string]string   // ids of sandboxes by their tokens for the inside
	of     map[string][]string // these tokens by their callers, oldest first
}

func newTokens(key []byte) *tokens {
	return &tokens{seal: derive(key, "seal"), nonce: derive(key, "nonce"), issued: map[string]string{}, of: map[string][]string{}}
}

func derive(key []byte, label string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("aibox e2b " + label))
	return mac.Sum(nil)
}

// cipher returns AES-256-GCM.
func (t *tokens) cipher() cipher.AEAD {
	block, err := aes.NewCipher(t.seal)
	if err != nil {
		panic(err) // the size of the key is fixed
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return aead
}

// bound returns the data that a token is bound to. No sandbox id and no purpose has a NUL.
func bound(p purpose, sandbox string) []byte { return []byte(string(p) + "\x00" + sandbox) }

// issue returns the token of a caller for a sandbox. It is always the same, so the nonce is
// computed from the sealed data.
func (t *tokens) issue(p purpose, sandbox, caller string) string {
	aead := t.cipher()
	mac := hmac.New(sha256.New, t.nonce)
	mac.Write(bound(p, sandbox))
	mac.Write([]byte("\x00" + caller))
	nonce := mac.Sum(nil)[:aead.NonceSize()]
	token := base64.RawURLEncoding.EncodeToString(aead.Seal(nonce, nonce, []byte(caller), bound(p, sandbox)))
	if p == forInside {
		t.remember(token, sandbox, caller)
	}
	return token
}

// remember keeps a caller's token to check URLs that are signed with it, since their signature is
// a hash of it. If there are too many, it forgets the oldest one of the caller with the most: a
// caller that creates many sandboxes ends no URLs of others.
func (t *tokens) remember(token, sandbox, caller string) {
	t.mu.RLock()
	_, ok := t.issued[token]
	t.mu.RUnlock()
	if ok {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.issued[token]; ok {
		return
	}
	if len(t.issued) == maxIssued {
		t.forgetOne(caller)
	}
	t.issued[token] = sandbox
	t.of[caller] = append(t.of[caller], token)
}

// forgetOne forgets the oldest token of the caller with the most, which is the given one if others
// have as many. t.mu is held.
func (t *tokens) forgetOne(most string) {
	for caller, own := range t.of {
		if len(own) > len(t.of[most]) {
			most = caller
		}
	}
	own := t.of[most]
	delete(t.issued, own[0])
	if t.of[most] = own[1:]; len(own) == 1 {
		delete(t.of, most)
	}
}

// open returns the caller's token that is sealed in a token.
func (t *tokens) open(p purpose, sandbox, token string) (caller string, err error) {
	if len(token) > maxToken {
		return "", errToken
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(token)
	aead := t.cipher()
	if err != nil || len(sealed) < aead.NonceSize() {
		return "", errToken
	}
	plain, err := aead.Open(nil, sealed[:aead.NonceSize()], sealed[aead.NonceSize():], bound(p, sandbox))
	if err != nil {
		return "", errToken
	}
	if p == forInside {
		t.remember(token, sandbox, string(plain))
	}
	return string(plain), nil
}

// signed is the data that the signature of a URL covers.
type signed struct {
	path, operation, user string
	signature, expires    string // as in the URL; expires may be empty
}

const signaturePrefix = "v1_"

// verify finds the token that a URL was signed with, and returns its sandbox. If sandbox is
// not empty, only tokens of that one are tried.
func (t *tokens) verify(s signed, sandbox string, now time.Time) (id, token string, err error) {
	encoded, ok := strings.CutPrefix(s.signature, signaturePrefix)
	if !ok || len(encoded) > 64 {
		return "", "", errToken
	}
	given, err := base64.RawStdEncoding.DecodeString(encoded)
	if err != nil || len(given) != sha256.Size {
		return "", "", errToken
	}
	suffix := ""
	if s.expires != "" {
		at, err := strconv.ParseInt(s.expires, 10, 64)
		if err != nil || at < now.Unix() {
			return "", "", errToken
		}
		suffix = ":" + s.expires
	}
	// Hashed once: everyone can send a long path, and there can be many tokens.
	prefix := sha256.New()
	prefix.Write([]byte(s.path + ":" + s.operation + ":" + s.user + ":"))
	t.mu.RLock()
	defer t.mu.RUnlock()
	for candidate, of := range t.issued {
		if sandbox != "" && sandbox != of {
			continue
		}
		if subtle.ConstantTimeCompare(continued(prefix, candidate+suffix), given) == 1 {
			return of, candidate, nil
		}
	}
	return "", "", errToken
}

// continued returns the hash of what prefix has hashed, and of text after it.
func continued(prefix hash.Hash, text string) []byte {
	cloner, ok := prefix.(hash.Cloner)
	if !ok {
		return nil // cannot be: the hashes of the standard library are Cloners
	}
	whole, err := cloner.Clone()
	if err != nil {
		return nil // as above; it equals no signature
	}
	whole.Write([]byte(text))
	return whole.Sum(nil)
}
