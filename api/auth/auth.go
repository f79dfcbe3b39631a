// Package auth defines who calls the API: the tenant, and the rights that the caller has.
// It knows no protocol and stores nothing.
package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"aibox/internal/fault"
	"aibox/session"

	aiboxv1 "aibox/api/aibox/v1"
)

// Caller is an authenticated caller.
type Caller struct {
	Tenant  session.Tenant
	Rights  []aiboxv1.Right
	Token   string    // the id of its token; empty for a caller on the Unix socket
	Expires time.Time // of the token; zero means never
}

// Local is the user of this machine, on the Unix socket or the command line. It has all
// rights.
func Local() Caller { return Caller{Tenant: session.LocalTenant, Rights: Rights()} }

// Has reports whether the caller has a right. No caller has the unspecified one.
func (c *Caller) Has(right aiboxv1.Right) bool {
	return right != aiboxv1.Right_RIGHT_UNSPECIFIED && slices.Contains(c.Rights, right)
}

// Check returns a Refused fault unless the caller has a right.
func (c *Caller) Check(right aiboxv1.Right) error {
	if c.Has(right) {
		return nil
	}
	return fault.New(fault.Refused, "the token does not have the right %s", RightName(right)).
		Hint("`aibox token create --right %s` creates one that has it", RightName(right))
}

// Rights returns all rights.
func Rights() []aiboxv1.Right {
	var all []aiboxv1.Right
	for number := range aiboxv1.Right_name {
		if number != 0 {
			all = append(all, aiboxv1.Right(number))
		}
	}
	slices.Sort(all)
	return all
}

// RightName returns the name of a right as users write it, such as "sandboxes".
func RightName(right aiboxv1.Right) string {
	return strings.ToLower(strings.TrimPrefix(right.String(), "RIGHT_"))
}

// ParseRight parses the name of a right.
func ParseRight(name string) (aiboxv1.Right, error) {
	var names []string
	for _, right := range Rights() {
		if RightName(right) == name {
			return right, nil
		}
		names = append(names, RightName(right))
	}
	return 0, fault.New(fault.Usage, "%q is not a right", name).Hint("the rights are %s", strings.Join(names, ", "))
}

type key struct{}

// With returns a context that carries the caller.
func With(ctx context.Context, caller Caller) context.Context {
	return context.WithValue(ctx, key{}, caller)
}

// From returns the caller that a context carries. Without one it is a caller without
// rights and without a tenant.
func From(ctx context.Context) Caller {
	caller, _ := ctx.Value(key{}).(Caller)
	return caller
}

// tokenPrefix makes tokens recognizable, for users and for searches for leaked secrets.
const tokenPrefix = "aibox_"

// NewToken returns a token of 256 random bits.
func NewToken() string {
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(random[:])
}

// Hash returns the form of a token in which it is stored. A token has 256 random bits, so
// it cannot be guessed from a plain digest. ok is false for a text that cannot be a token.
func Hash(token string) (hash string, ok bool) {
	random, found := strings.CutPrefix(token, tokenPrefix)
	if !found || len(random) != base64.RawURLEncoding.EncodedLen(32) {
		return "", false
	}
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:]), true
}
