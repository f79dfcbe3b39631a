package spec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// keys is the closed set of tag keys.
var keys = []string{
	"label", "help", "flag", "env", "default", "choices", "min", "max", "group", "secret", "type", "mode", "scope", "when",
	"placeholder", "inherit", "auto", "zero",
}

// parseTag parses a whole struct tag by the convention of package reflect, but rejects what
// reflect would ignore: unknown keys, repeated keys, and text outside of pairs. It also
// rejects empty values, which would have no meaning.
func parseTag(tag string) (map[string]string, error) {
	tags := map[string]string{}
	for tag = strings.TrimLeft(tag, " "); tag != ""; tag = strings.TrimLeft(tag, " ") {
		key, rest, ok := strings.Cut(tag, ":")
		if !ok || key == "" {
			return nil, fmt.Errorf("malformed tag at %q", tag)
		}
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return nil, fmt.Errorf("tag key %q: its value is not quoted", key)
		}
		value, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, fmt.Errorf("tag key %q: %w", key, err)
		}
		tag = rest[len(quoted):]
		if key == "json" { // package json reads it
			continue
		}
		if err := checkTag(tags, key, value); err != nil {
			return nil, err
		}
		tags[key] = value
	}
	return tags, nil
}

func checkTag(tags map[string]string, key, value string) error {
	if !slices.Contains(keys, key) {
		return unknownWord("tag key", key, keys)
	}
	if _, twice := tags[key]; twice {
		return fmt.Errorf("tag key %q is repeated", key)
	}
	if strings.TrimSpace(value) == "" {
		return fmt.Errorf("tag key %q is empty", key)
	}
	if strings.ContainsAny(value, "\x00\r\n") && key != "default" {
		return fmt.Errorf("tag key %q holds several lines", key)
	}
	return nil
}
