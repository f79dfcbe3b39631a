package conversation

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// decodeJSON decodes into a struct as far as the types fit: a field of another type than
// expected stays zero, so that it does not hide the others. It reports whether data is
// JSON.
func decodeJSON(data []byte, into any) bool {
	err := json.Unmarshal(data, into)
	var mismatch *json.UnmarshalTypeError
	return err == nil || errors.As(err, &mismatch)
}

// object returns the fields of an object; nil for another value.
func object(data json.RawMessage) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil {
		return nil
	}
	return fields
}

// list returns the elements of an array; nil for another value.
func list(data json.RawMessage) []json.RawMessage {
	var elements []json.RawMessage
	if json.Unmarshal(data, &elements) != nil {
		return nil
	}
	return elements
}

// str returns a string; "" for another value.
func str(data json.RawMessage) string {
	var text string
	if json.Unmarshal(data, &text) != nil {
		return ""
	}
	return text
}

// firstString returns the first of the fields that is a string and not empty.
func firstString(fields map[string]json.RawMessage, names ...string) string {
	for _, name := range names {
		if text := str(fields[name]); text != "" {
			return text
		}
	}
	return ""
}

// firstOf returns the first of the fields that exists.
func firstOf(fields map[string]json.RawMessage, names ...string) (json.RawMessage, bool) {
	for _, name := range names {
		if value, ok := fields[name]; ok && !isNull(value) {
			return value, true
		}
	}
	return nil, false
}

// exitCodeOf returns the field exitCode of an object; nil for none.
func exitCodeOf(data json.RawMessage) *int {
	var code *int
	if json.Unmarshal(object(data)["exitCode"], &code) != nil {
		return nil
	}
	return code
}

func isNull(data json.RawMessage) bool { return len(data) == 0 || bytes.Equal(data, []byte("null")) }

// textOf returns the text of a value: a string, the texts of a list one below the other,
// or the field of an object that holds its text. Other values are returned as JSON.
func textOf(data json.RawMessage) string { return textWithin(data, 0) }

func textWithin(data json.RawMessage, depth int) string {
	data = bytes.TrimSpace(data)
	switch {
	case isNull(data) || depth > 4:
		return ""
	case data[0] == '"':
		return str(data)
	case data[0] == '[':
		var parts []string
		for _, element := range list(data) {
			if text := textWithin(element, depth+1); text != "" {
				parts = append(parts, text)
			}
		}
		return strings.Join(parts, "\n")
	case data[0] == '{':
		fields := object(data)
		for _, name := range []string{"text", "content", "output", "message", "stdout"} {
			if value, ok := fields[name]; ok {
				if text := textWithin(value, depth+1); text != "" {
					return text
				}
			}
		}
	}
	return string(data)
}
