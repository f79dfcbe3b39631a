package amount

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// USD is an amount of money in cents. JSON holds dollars.
type USD int64

// maxUSD bounds the amounts that are read, in dollars.
const maxUSD = 1_000_000_000

// ParseUSD reads dollars: "5", "2.50" or "$2.50". A fraction of a cent is an error.
func ParseUSD(text string) (USD, error) {
	dollars, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(text), "$"), 64)
	if err != nil || strings.ContainsAny(text, "xXpPeEnN_") {
		return 0, errors.New("not an amount of money")
	}
	return USDOf(dollars)
}

// USDOf returns an amount in dollars. A fraction of a cent is an error.
func USDOf(dollars float64) (USD, error) {
	cents := math.Round(dollars * 100)
	if math.Abs(dollars) > maxUSD || math.Abs(cents-dollars*100) > 1e-6 || cents == 0 && dollars != 0 { // 0 often means no limit
		return 0, errors.New("not an amount of money in whole cents")
	}
	return USD(cents), nil
}

// Dollars returns the amount in dollars.
func (u USD) Dollars() float64 { return float64(u) / 100 }

// String returns the dollars, with cents if there are any: "5", "2.50".
func (u USD) String() string {
	if u%100 == 0 {
		return strconv.FormatInt(int64(u/100), 10)
	}
	return strconv.FormatFloat(u.Dollars(), 'f', 2, 64)
}

// MarshalJSON writes the dollars.
func (u USD) MarshalJSON() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalJSON reads dollars.
func (u *USD) UnmarshalJSON(data []byte) error {
	parsed, err := ParseUSD(string(data))
	*u = parsed
	return err
}

// Cost formats dollars for display: "$1.23", and more digits below a cent.
func Cost(dollars float64) string {
	switch {
	case dollars > 0 && dollars < 0.0001:
		return "less than $0.0001"
	case dollars > 0 && dollars < 0.01:
		return fmt.Sprintf("$%.4f", dollars)
	default:
		return fmt.Sprintf("$%.2f", dollars)
	}
}
