package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// A sandbox, a model server or a repository can choose a part of an event's data, and make it too
// large. Such data is shortened, and the event is never refused: a refused event would be lost, and
// with it the record of something that has already happened.
const (
	maxData  = MaxLine - 1<<10 // bytes of an event's data; the rest is for its other fields
	maxDepth = 8               // of values in values
)

// shortenings are tried in turn: each is the number of bytes of a text and of items of a list or an
// object that are kept.
var shortenings = []struct{ text, items int }{{4 << 10, 100}, {512, 20}, {64, 20}}

// leftOut is the key that describes the original of shortened data.
const leftOut = "left_out"

// shorten returns data in a form that fits into an event. Shortened data keeps the beginnings of
// its texts and lists, and holds under "left_out" the size and the SHA-256 of the whole.
func shorten(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) <= maxData {
		return raw, nil
	}
	sum := sha256.Sum256(raw)
	whole := map[string]any{"bytes": len(raw), "sha256": hex.EncodeToString(sum[:])}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return nil, err
	}
	for _, most := range shortenings {
		kept, ok := cut(value, most.text, most.items, 0).(map[string]any)
		if !ok {
			break
		}
		kept[leftOut] = whole
		if short, err := json.Marshal(kept); err != nil || len(short) <= maxData {
			return short, err
		}
	}
	return json.Marshal(map[string]any{leftOut: whole})
}

// cut returns value with its texts and lists shortened.
func cut(value any, text, items, depth int) any {
	switch v := value.(type) {
	case string:
		if len(v) > text {
			return strings.ToValidUTF8(v[:text], "") + "…"
		}
	case []any:
		if depth == maxDepth {
			return nil
		}
		kept := make([]any, 0, min(len(v), items))
		for _, item := range v[:min(len(v), items)] {
			kept = append(kept, cut(item, text, items, depth+1))
		}
		return kept
	case map[string]any:
		if depth == maxDepth {
			return nil
		}
		kept := make(map[string]any, min(len(v), items))
		for name, item := range v {
			if len(kept) == items {
				break
			}
			if len(name) <= text {
				kept[name] = cut(item, text, items, depth+1)
			}
		}
		return kept
	}
	return value
}
