// Package secret holds values that must never be printed, logged or stored.
package secret

import (
	"encoding/json"
	"fmt"
	"log/slog"
)

// dots replaces every secret, so that not even its length is visible.
const dots = "••••••••"

// Value is a secret string. All ways of formatting print dots; only Reveal returns the text.
// The zero value means no secret.
type Value struct{ text string }

// New wraps text.
func New(text string) Value { return Value{text} }

// Reveal returns the text. Call it only where the secret has to be sent.
func (v Value) Reveal() string { return v.text }

// Empty reports whether there is no secret.
func (v Value) Empty() bool { return v.text == "" }

// String prints dots, or nothing when v is empty.
func (v Value) String() string {
	if v.text == "" {
		return ""
	}
	return dots
}

// GoString keeps %#v from printing the text.
func (v Value) GoString() string { return "secret.Value(" + v.String() + ")" }

// Format keeps every verb from printing the text.
func (v Value) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(v.String())) }

// MarshalJSON writes the dots.
func (v Value) MarshalJSON() ([]byte, error) { return json.Marshal(v.String()) }

// MarshalText writes the dots.
func (v Value) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// LogValue writes the dots.
func (v Value) LogValue() slog.Value { return slog.StringValue(v.String()) }
