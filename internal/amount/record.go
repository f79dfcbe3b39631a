package amount

import "time"

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
