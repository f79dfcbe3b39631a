package review

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"aibox/internal/termtext"
)

// Path is a path in the repository, chosen by the agent: slash-separated, relative, any
// bytes. Printing it with %s or %v gives a safe, escaped line.
type Path string

// Raw returns the unescaped bytes.
func (p Path) Raw() string { return string(p) }

// String returns the path, escaped for a terminal.
func (p Path) String() string { return termtext.Escape(string(p)) }

// MarshalJSON writes a string, or {"bytes": base64} when p is not UTF-8.
func (p Path) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(p)) {
		return json.Marshal(string(p))
	}
	return json.Marshal(struct {
		Bytes []byte `json:"bytes"`
	}{[]byte(p)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (p *Path) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		var raw struct {
			Bytes []byte `json:"bytes"`
		}
		err := json.Unmarshal(data, &raw)
		*p = Path(raw.Bytes)
		return err
	}
	var s string
	err := json.Unmarshal(data, &s)
	*p = Path(s)
	return err
}

// NamePaths names the first paths and counts the others, on one safe line.
func NamePaths(paths []Path) string {
	const most = 5
	var names []string
	for _, path := range paths[:min(len(paths), most)] {
		names = append(names, path.String())
	}
	text := strings.Join(names, ", ")
	if more := len(paths) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
