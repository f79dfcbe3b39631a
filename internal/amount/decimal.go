package amount

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// Decimal is a number with at most two digits after the point, in hundredths. JSON holds
// the number.
type Decimal int64

// maxDecimal bounds the numbers that are read.
const maxDecimal = 1_000_000_000

// ParseDecimal reads a number: "2" or "1.5". More than two digits after the point are an
// error.
func ParseDecimal(text string) (Decimal, error) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || strings.ContainsAny(text, "xXpPeEnN_") {
		return 0, errors.New("not a number")
	}
	return DecimalOf(n)
}

// DecimalOf converts a number. More than two digits after the point are an error.
func DecimalOf(n float64) (Decimal, error) {
	hundredths := math.Round(n * 100)
	if math.Abs(n) > maxDecimal || math.Abs(hundredths-n*100) > 1e-6 || hundredths == 0 && n != 0 { // 0 often means no limit
		return 0, errors.New("not a number with at most two digits after the point")
	}
	return Decimal(hundredths), nil
}

// Float returns the number.
func (d Decimal) Float() float64 { return float64(d) / 100 }

// String returns the number without needless digits: "2", "1.5", "0.25".
func (d Decimal) String() string { return strconv.FormatFloat(d.Float(), 'f', -1, 64) }

// MarshalJSON writes the number.
func (d Decimal) MarshalJSON() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalJSON reads a number.
func (d *Decimal) UnmarshalJSON(data []byte) error {
	parsed, err := ParseDecimal(string(data))
	*d = parsed
	return err
}
