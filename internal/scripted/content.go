package scripted

import (
	"encoding/json"
	"strings"
)

// textOf returns the text in a message's content, in any dialect's shape: a string, a
// list of parts, or an object with text, content or output. It returns "" for pictures,
// other parts without text, and invalid JSON.
func textOf(content json.RawMessage) string { return textWithin(content, 0) }

func textWithin(content json.RawMessage, depth int) string {
	if len(content) == 0 || depth > 8 {
		return ""
	}
	switch content[0] {
	case '"':
		var text string
		_ = json.Unmarshal(content, &text)
		return text
	case '[':
		var parts []json.RawMessage
		_ = json.Unmarshal(content, &parts)
		var texts []string
		for _, part := range parts {
			if text := textWithin(part, depth+1); text != "" {
				texts = append(texts, text)
			}
		}
		return strings.Join(texts, "\n")
	case '{':
		var object map[string]json.RawMessage
		_ = json.Unmarshal(content, &object)
		for _, key := range []string{"text", "content", "output", "error", "message"} {
			if text := textWithin(object[key], depth+1); text != "" {
				return text
			}
		}
	}
	return ""
}
