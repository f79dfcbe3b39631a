package amount

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
)

// MiB is a size in mebibytes that JSON holds in bytes.
type MiB int

// maxMiB bounds the sizes that are read: an exbibyte.
const maxMiB = 1 << 40

// ParseMiB reads a size: "512MiB", "4GiB", "1.5g", or a number of mebibytes. Units are not
// case-sensitive, and are powers of 1024 in every spelling, as for Docker. A size that is
// not a whole number of mebibytes is rounded up.
func ParseMiB(text string) (MiB, error) {
	text = strings.TrimSpace(text)
	number := strings.TrimRight(text, "bBgGiImMtT")
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || strings.ContainsAny(number, "xXpPeEnN_") {
		return 0, errors.New("not a size")
	}
	switch strings.ToLower(text[len(number):]) {
	case "", "m", "mb", "mib":
	case "g", "gb", "gib":
		n *= 1 << 10
	case "t", "tb", "tib":
		n *= 1 << 20
	default:
		return 0, errors.New("not a unit of a size")
	}
	if n = math.Ceil(n); math.Abs(n) > maxMiB {
		return 0, errors.New("the size is too large")
	}
	return MiB(n), nil
}

// Bytes returns the size in bytes.
func (m MiB) Bytes() int64 { return int64(m) << 20 }

// String returns the exact size in its largest unit, as ParseMiB reads it: "512MiB",
// "4GiB"; "0" has no unit.
func (m MiB) String() string {
	if m == 0 {
		return "0"
	}
	n, unit := int64(m), 0
	units := []string{"MiB", "GiB", "TiB"}
	for unit+1 < len(units) && n%1024 == 0 {
		n /= 1024
		unit++
	}
	return strconv.FormatInt(n, 10) + units[unit]
}

// MarshalJSON writes the number of bytes.
func (m MiB) MarshalJSON() ([]byte, error) { return json.Marshal(m.Bytes()) }

// UnmarshalJSON reads a number of bytes and rounds it up.
func (m *MiB) UnmarshalJSON(data []byte) error {
	var bytes int64
	err := json.Unmarshal(data, &bytes)
	*m = MiB((bytes + 1<<20 - 1) >> 20)
	return err
}
