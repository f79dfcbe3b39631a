package amount

import (
	"encoding/json"
	"time"
)

// Duration is a time.Duration that JSON holds as text in Go's notation, "1h0m0s".
type Duration time.Duration

// String returns the duration as Span writes it.
func (d Duration) String() string { return Span(time.Duration(d)) }

// MarshalText writes the duration in Go's notation.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads Go's notation.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}

// MiB is a size in mebibytes that JSON holds in bytes.
type MiB int

// Bytes returns the size in bytes.
func (m MiB) Bytes() int64 { return int64(m) << 20 }

// MarshalJSON writes the number of bytes.
func (m MiB) MarshalJSON() ([]byte, error) { return json.Marshal(m.Bytes()) }

// UnmarshalJSON reads a number of bytes and rounds it up.
func (m *MiB) UnmarshalJSON(data []byte) error {
	var bytes int64
	err := json.Unmarshal(data, &bytes)
	*m = MiB((bytes + 1<<20 - 1) >> 20)
	return err
}
