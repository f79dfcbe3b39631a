package termtext_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"aibox/internal/termtext"
)

// shownJSON returns data as a JSON writes it, in writes of the given size.
func shownJSON(t testing.TB, data []byte, size int) string {
	t.Helper()
	var out bytes.Buffer
	j := termtext.NewJSON(&out)
	for len(data) > 0 {
		n := min(size, len(data))
		if _, err := j.Write(data[:n]); err != nil {
			t.Fatal(err)
		}
		data = data[n:]
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// For every character, the output is either the visible character or an escape, and a
// program reads the same.
func TestJSONShowsEveryCharacterAndKeepsItsValue(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r >= 0xd800 && r <= 0xdfff {
			continue
		}
		value := "a" + string(r) + "b"
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		shown := shownJSON(t, data, len(data))
		for _, c := range shown {
			if c < 0x20 || c > 0x7e && termtext.Escape("a"+string(c)) != "a"+string(c) {
				t.Fatalf("%U is printed as %q", r, shown)
			}
		}
		var read string
		if err := json.Unmarshal([]byte(shown), &read); err != nil || read != value {
			t.Fatalf("%U is read as %q (%v)", r, read, err)
		}
	}
}

func TestJSONEscapesLikeEscape(t *testing.T) {
	for value, want := range map[string]string{
		"\u0085\u009b":            `"\u0085\u009b"`,
		"\x7f":                    `"\u007f"`,
		"a\u202eb\u2066":          `"a\u202eb\u2066"`,
		"\u200b\ufeff\u00ad":      `"\u200b\ufeff\u00ad"`,
		"\u2028\u2029":            `"\u2028\u2029"`,
		"\U000e0041\U000e007f":    `"\udb40\udc41\udb40\udc7f"`,
		"\U0010ffff\ufffe":        `"\udbff\udfff\ufffe"`,
		"größe 名 🙂 e\u0301":       `"größe 名 🙂 e` + "\u0301" + `"`,
		"\u0301":                  `"\u0301"`,
		"z" + marks(8):            `"z` + marks(6) + `\u0301\u0301"`,
		"<b>&\"\\ \n":             `"<b>&\"\\ \n"`,
		"\u3164\u115f\ufe0f":      `"\u3164\u115f\ufe0f"`,
		"\u00a0\u3000\u2003":      `"\u00a0\u3000\u2003"`,
		"\ue000\U000f0000\u0378 ": `"\ue000\udb80\udc00\u0378 "`,
	} {
		var data bytes.Buffer
		encoder := json.NewEncoder(&data)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(value); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(shownJSON(t, data.Bytes(), 3)); got != want {
			t.Errorf("%+q is printed as %s, want %s", value, got, want)
		}
	}
	if got := shownJSON(t, []byte("{\"a\": \"\xff\xc2\"}"), 100); got != `{"a": "\ufffd\ufffd"}` {
		t.Errorf("bytes that are not UTF-8 are printed as %s", got)
	}
}

func marks(n int) string { return strings.Repeat("\u0301", n) }

func TestJSONDoesNotDependOnTheSizesOfWrites(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		value := map[string]string{rapid.String().Draw(r, "key"): rapid.String().Draw(r, "value")}
		data, err := json.MarshalIndent(value, "", "  ")
		if err != nil {
			r.Fatal(err)
		}
		whole := shownJSON(t, data, len(data))
		if parts := shownJSON(t, data, rapid.IntRange(1, 7).Draw(r, "size")); parts != whole {
			r.Fatalf("in parts %q, at once %q", parts, whole)
		}
		var read map[string]string
		if err := json.Unmarshal([]byte(whole), &read); err != nil {
			r.Fatal(err)
		}
		for key, text := range value {
			if read[key] != text {
				r.Fatalf("%q is read as %q", value, read)
			}
		}
	})
}

// FuzzJSON takes any bytes as JSON. Valid JSON keeps its value.
func FuzzJSON(f *testing.F) {
	f.Add([]byte("{\"a\": \"\u009b\u202e\xff\"}"), 2)
	f.Add([]byte(`["\u0301",1]`), 1)
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		shown := shownJSON(t, data, max(1, size))
		if !utf8.ValidString(shown) {
			t.Errorf("%q is printed as %q", data, shown)
		}
		var before, after any
		if json.Unmarshal(data, &before) != nil {
			return
		}
		if err := json.Unmarshal([]byte(shown), &after); err != nil {
			t.Fatal(err)
		}
		one, _ := json.Marshal(before)
		two, _ := json.Marshal(after)
		if !bytes.Equal(one, two) {
			t.Errorf("%s is read as %s", one, two)
		}
	})
}
