package spec

import (
	"fmt"
	"strconv"

	"aibox/internal/amount"
)

// Type is the type of an option's value. The zero value is invalid.
type Type int

// The types.
const (
	String   Type = iota + 1 // one line
	Text                     // several lines
	Path                     // a file or folder
	Model                    // the name of a model
	Choice                   // one of Field.Choices
	Bool                     // on or off
	Int                      // a whole number
	Size                     // a number of mebibytes, such as 512MiB or 4GiB
	Duration                 // a length of time, such as 90s or 1h30m
	Money                    // US dollars, such as 5 or 2.50
	Decimal                  // a number with at most two digits after the point, such as 2 or 1.5
	List                     // several words
	Choices                  // several of Field.Choices, each once
	Secret                   // never printed, never in an argument list
)

var typeNames = map[Type]string{
	String: "string", Text: "text", Path: "path", Model: "model", Choice: "choice", Bool: "bool", Int: "int", Size: "size",
	Duration: "duration", Money: "money", Decimal: "decimal", List: "list", Choices: "choices", Secret: "secret",
}

// String returns the name for help and JSON.
func (t Type) String() string {
	if name, ok := typeNames[t]; ok {
		return name
	}
	return fmt.Sprintf("Type(%d)", int(t))
}

// MarshalText writes the name.
func (t Type) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText parses a name.
func (t *Type) UnmarshalText(text []byte) error {
	known := make([]string, 0, len(typeNames))
	for kind := String; kind <= Secret; kind++ {
		if kind.String() == string(text) {
			*t = kind
			return nil
		}
		known = append(known, kind.String())
	}
	return unknownWord("type", string(text), known)
}

// line reports whether values of the type are one line of text.
func (t Type) line() bool {
	return t == String || t == Path || t == Model || t == Choice || t == Secret
}

// words reports whether values of the type are several words.
func (t Type) words() bool { return t == List || t == Choices }

// number reports whether values of the type have limits and an order.
func (t Type) number() bool {
	return t == Int || t == Size || t == Duration || t == Money || t == Decimal
}

// parse reads a number of the type.
func (t Type) parse(text string) (int64, error) {
	switch t {
	case Int:
		return strconv.ParseInt(text, 10, strconv.IntSize)
	case Size:
		m, err := amount.ParseMiB(text)
		return int64(m), err
	case Duration:
		d, err := ParseDuration(text)
		return int64(d), err
	case Money:
		m, err := amount.ParseUSD(text)
		return int64(m), err
	case Decimal:
		d, err := amount.ParseDecimal(text)
		return int64(d), err
	default:
		return 0, fmt.Errorf("a %s is no number", t)
	}
}

// form describes the numbers of the type as users write them.
func (t Type) form() string {
	switch t {
	case Size:
		return "a size such as 512MiB or 4GiB"
	case Duration:
		return "a duration such as 90s or 1h30m"
	case Money:
		return "an amount in US dollars such as 5 or 2.50"
	case Decimal:
		return "a number with at most two decimals, such as 2 or 1.5"
	default:
		return "a whole number"
	}
}
