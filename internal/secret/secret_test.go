package secret

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestNoFormattingPrintsTheSecret(t *testing.T) {
	const canary = "canary-1234"
	value := New(canary)
	holder := struct {
		Key  Value
		Keys []Value
	}{value, []Value{value}}
	var printed []string
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		printed = append(printed, fmt.Sprintf(verb, value), fmt.Sprintf(verb, &value), fmt.Sprintf(verb, holder), fmt.Sprintf(verb, &holder))
	}
	text, err := json.Marshal(holder)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "key", value, "holder", holder)
	for _, p := range append(printed, string(text), log.String()) {
		if strings.Contains(p, canary) || strings.Contains(p, fmt.Sprintf("%x", canary)) {
			t.Errorf("printed by %q", p)
		}
	}
	if value.Reveal() != canary || New("").String() != "" || !New("").Empty() {
		t.Error("the value itself is wrong")
	}
}
