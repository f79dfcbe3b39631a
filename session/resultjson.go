package session

import (
	"bytes"
	"encoding/json"
)

// In JSON an unknown number is null: a script must not read it as 0.

// MarshalJSON writes null for unknown changes.
func (c Changes) MarshalJSON() ([]byte, error) {
	type plain Changes
	if c.Unknown == "" {
		return json.Marshal(plain(c))
	}
	return json.Marshal(struct {
		Files   *int `json:"files"`
		Added   *int `json:"added"`
		Deleted *int `json:"deleted"`
		plain
	}{plain: plain(c)})
}

// MarshalJSON writes null if it is unknown whether anything was changed.
func (r Result) MarshalJSON() ([]byte, error) {
	type plain Result
	if !r.LacksChanges() {
		return json.Marshal(plain(r))
	}
	return json.Marshal(struct {
		Changed *bool `json:"changed"`
		plain
	}{plain: plain(r)})
}

// MarshalJSON writes null when the numbers were lost.
func (t Tokens) MarshalJSON() ([]byte, error) {
	type plain Tokens
	if t.Lost {
		return []byte("null"), nil
	}
	return json.Marshal(plain(t))
}

// UnmarshalJSON reads the output of MarshalJSON.
func (t *Tokens) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte("null")) {
		*t = Tokens{Lost: true}
		return nil
	}
	type plain Tokens
	return json.Unmarshal(data, (*plain)(t))
}
