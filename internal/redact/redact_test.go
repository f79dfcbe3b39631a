package redact_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"aibox/internal/redact"
	"aibox/internal/secret"
)

const key = "sk-live/Canary+0123456789_abcdef=="

// escapeAll writes every byte of text by format.
func escapeAll(text, format string) string {
	var b strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&b, format, text[i])
	}
	return b.String()
}

// spellings returns the ways in which servers may write a key.
func spellings() map[string]string {
	escaped := escapeAll(key, `\u%04x`)
	return map[string]string{
		"raw":                       key,
		"twice":                     key + key,
		"solidus escaped":           strings.ReplaceAll(key, "/", `\/`),
		"JSON escapes":              escaped,
		"JSON escapes in capitals":  escapeAll(key, `\u%04X`),
		"JSON in JSON":              strings.ReplaceAll(escaped, `\`, `\\`),
		"JSON in JSON in JSON":      strings.ReplaceAll(escaped, `\`, `\\\\`),
		"JSON escapes of escapes":   escapeAll(escaped, `\u%04x`),
		"query":                     url.QueryEscape(key),
		"query in small letters":    strings.ToLower(escapeAll(key, "%%%02x")),
		"query of a query":          url.QueryEscape(escapeAll(key, "%%%02X")),
		"query in JSON":             escapeAll(url.QueryEscape(key), `\u%04x`),
		"JSON in a query":           url.QueryEscape(escaped),
		"a mix":                     `sk\u002dlive%2fCanary%2B\u00301234567\u00389_abcdef\u003D%3D`,
		"Base64":                    base64.StdEncoding.EncodeToString([]byte(key)),
		"Base64 of user:key":        base64.StdEncoding.EncodeToString([]byte("user:" + key)),
		"Base64 of Bearer key":      base64.StdEncoding.EncodeToString([]byte("Bearer " + key)),
		"Base64 of u:key:more":      base64.StdEncoding.EncodeToString([]byte("u:" + key + ":more")),
		"Base64 for URLs":           base64.URLEncoding.EncodeToString([]byte("aa" + key + "z")),
		"Base64 in JSON":            strings.ReplaceAll(base64.StdEncoding.EncodeToString([]byte(key)), "/", `\/`),
		"Base64 in a query":         url.QueryEscape(base64.StdEncoding.EncodeToString([]byte("x" + key))),
		"hexadecimal":               hex.EncodeToString([]byte(key)),
		"hexadecimal in capitals":   strings.ToUpper(hex.EncodeToString([]byte("x" + key))),
		"cut off at its end":        key[:len(key)-1] + `…`,
		"cut off in its middle":     key[:len(key)/2] + `…`,
		"cut off at its beginning":  key[1:],
		"escaped and cut off":       escapeAll(key[:len(key)-2], `\u%04x`),
		"after an escaped newline":  `\n` + key,
		"after escaped backslashes": `\\\\` + key,
	}
}

// leaks checks that text, raw or decoded, contains no eight consecutive bytes of the key.
func leaks(text string) bool {
	forms := []string{text}
	for range 3 {
		for _, form := range forms {
			forms = append(forms, unescapeJSON(form))
			if decoded, err := url.QueryUnescape(form); err == nil {
				forms = append(forms, decoded)
			}
		}
	}
	for _, form := range forms {
		for _, word := range strings.FieldsFunc(form, func(r rune) bool {
			return !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=", r)
		}) {
			word = strings.TrimRight(word, "=")
			for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
				if decoded, err := encoding.DecodeString(word); err == nil {
					forms = append(forms, string(decoded))
				}
			}
			if decoded, err := hex.DecodeString(word); err == nil {
				forms = append(forms, string(decoded))
			}
		}
	}
	for _, form := range forms {
		for i := 0; i+redact.Least <= len(key); i++ {
			if strings.Contains(form, key[i:i+redact.Least]) {
				return true
			}
		}
	}
	return false
}

func unescapeJSON(text string) string {
	var decoded string
	if json.Unmarshal([]byte(`"`+text+`"`), &decoded) != nil {
		return text
	}
	return decoded
}

// pass reads text through a redactor, in pieces of at most size bytes.
func pass(t testing.TB, set *redact.Set, text string, size int) string {
	t.Helper()
	return read(t, set, &pieces{text: text, size: func() int { return size }}, func() int { return 64 << 10 })
}

// read reads source through a redactor into buffers of the sizes that size gives.
func read(t testing.TB, set *redact.Set, source io.Reader, size func() int) string {
	t.Helper()
	through := set.Reader(io.NopCloser(source))
	var out []byte
	buffer := make([]byte, 64<<10)
	for {
		n, err := through.Read(buffer[:size()])
		out = append(out, buffer[:n]...)
		if errors.Is(err, io.EOF) {
			return string(out)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// pieces is a reader that returns text in pieces.
type pieces struct {
	text string
	size func() int
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.text == "" {
		return 0, io.EOF
	}
	n := copy(b, p.text[:min(len(p.text), max(1, p.size()))])
	p.text = p.text[n:]
	return n, nil
}

func TestNoEncodingOfAKeyPasses(t *testing.T) {
	t.Parallel()
	set := redact.New(secret.New(key))
	for name, spelling := range spellings() {
		for _, size := range []int{1, 2, 3, 7, 64, 1 << 20} {
			text := "data: {\"message\":\"Incorrect key: " + spelling + " (see the manual)\"}\n\n"
			out := pass(t, set, text, size)
			if leaks(out) {
				t.Errorf("%s in pieces of %d: %s", name, size, out)
			}
			if len(out) != len(text) || !strings.HasPrefix(out, "data: {\"message\":\"Incorrect key: ") || !strings.HasSuffix(out, " (see the manual)\"}\n\n") {
				t.Errorf("%s in pieces of %d: more is gone: %s", name, size, out)
			}
			if again := set.Text(text); again != out {
				t.Errorf("%s: as a text it is %s, as a stream %s", name, again, out)
			}
		}
	}
}

// A program on the way changes the letter case of names, as Go does with those of headers.
func TestNoLetterCaseHidesAKeyInAName(t *testing.T) {
	t.Parallel()
	exact := redact.New(secret.New(key))
	folded := exact.Folded()
	for name, spelling := range spellings() {
		if strings.Contains(spelling, `\`) {
			continue // not in a name
		}
		want := exact.Text("X-" + spelling + "-Name")
		for _, recase := range []func(string) string{strings.Clone, strings.ToLower, strings.ToUpper, http.CanonicalHeaderKey} {
			text := recase("X-" + spelling + "-Name")
			if have := folded.Text(text); !strings.EqualFold(have, want) {
				t.Errorf("%s: %s is %s, not %s", name, text, have, want)
			}
		}
	}
	for _, text := range []string{"", "X-Other", "Content-Security-Policy-Report-Only"} {
		if have := folded.Text(text); have != text {
			t.Errorf("%q is %q", text, have)
		}
	}
	if none := redact.New().Folded(); !none.Empty() || none.Text(key) != key {
		t.Error("a set without secrets has some")
	}
}

func TestAnswerCutInsideTheKeyRevealsLittleOfIt(t *testing.T) {
	t.Parallel()
	set := redact.New(secret.New(key))
	for name, spelling := range map[string]string{"raw": key, "escaped": escapeAll(key, `\u%04x`), "Base64": base64.StdEncoding.EncodeToString([]byte("u:" + key)), "hexadecimal": hex.EncodeToString([]byte(key))} {
		for cut := 1; cut < len(spelling); cut++ {
			source := io.MultiReader(strings.NewReader("key: "+spelling[:cut]), iotest.ErrReader(errors.New("reset")))
			out, err := io.ReadAll(set.Reader(io.NopCloser(source)))
			if err == nil || leaks(string(out)) {
				t.Errorf("%s, cut at %d: %q, %v", name, cut, out, err)
			}
		}
	}
}

func TestRepetitiveKeysAreRedacted(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"********", strings.Repeat("*", 40), "*#*#*#*#*#*#", "aaaaaaaaaaaa", "abababababab", `\\\\\\\\\\\\`, "%%%%%%%%%%%%", `%41%41%41%41`, `\u0041\u0041`} {
		set := redact.New(secret.New(key))
		for _, text := range []string{key, key + key, "x" + key + "y", key[1:] + key, strings.Repeat(key[:4], 100)} {
			for _, size := range []int{1, 5, 1000} {
				if out := pass(t, set, text, size); strings.Contains(out, key) || len(out) != len(text) {
					t.Errorf("%q: %q became %q", key, text, out)
				}
			}
		}
	}
}

func TestShortInputIsPassedOnAtOnce(t *testing.T) {
	t.Parallel()
	set := redact.New(secret.New(key))
	source, write := io.Pipe()
	through := set.Reader(source)
	for _, event := range []string{
		"data: {\"delta\":\"sk-li\"}\n\n", "data: \\u0073k\\n\\n\n\n", "data: 100%\n\n", ": ping\n\n", "data: " + strings.Repeat("\\\\u0073k", 50) + " \n\n",
	} {
		go func() { _, _ = io.WriteString(write, event) }()
		got := make([]byte, len(event))
		if _, err := io.ReadFull(through, got); err != nil || string(got) != event {
			t.Errorf("%q arrived as %q, %v", event, got, err)
		}
	}
}

func TestKeyFragmentsAreFoundInShortTexts(t *testing.T) {
	t.Parallel()
	set := redact.New(secret.New(key))
	for text, want := range map[string]bool{
		key: true, "req_" + key[9:17]: true, key[:len(key)/2]: true, hex.EncodeToString([]byte(key[4:12])): true,
		base64.RawStdEncoding.EncodeToString([]byte(key[:12])): true, "req_011CanaryX": false, "application/json": false, key[:7]: false, "": false,
	} {
		if got := set.Fragment(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if redact.New().Fragment(key) || !redact.New(secret.New("short")).Empty() {
		t.Error("no secret was found")
	}
}

func TestHostileEscapesDelayLittleOutput(t *testing.T) {
	t.Parallel()
	set := redact.New(secret.New(key))
	for _, text := range []string{strings.Repeat(`\`, 1<<20), strings.Repeat(`%25`, 1<<18), strings.Repeat(`\u005c`, 1<<17), strings.Repeat("s", 1<<20), strings.Repeat(key[:len(key)-1], 1<<15)} {
		sent := 0
		source := &pieces{text: text, size: func() int { return 4096 }}
		through := set.Reader(io.NopCloser(source))
		for buffer := make([]byte, 64<<10); ; {
			n, err := through.Read(buffer)
			if sent += n; err != nil {
				break
			}
			if kept := len(text) - len(source.text) - sent; kept > 64<<10 {
				t.Fatalf("%.20q…: %d bytes are kept back", text, kept)
			}
		}
		if sent != len(text) {
			t.Errorf("%.20q…: %d of %d bytes came", text, sent, len(text))
		}
	}
}

// layer writes text with escapes of one kind, and leaves some characters unchanged.
func layer(random *rand.Rand, text string, percent bool) string {
	var escaped [256]bool
	for c := range escaped {
		escaped[c] = random.IntN(2) == 0
	}
	short := random.IntN(2) == 0
	var b strings.Builder
	for i := range len(text) {
		switch c := text[i]; {
		case percent && (c == '%' || c == '\\' || escaped[c]):
			fmt.Fprintf(&b, []string{"%%%02x", "%%%02X"}[random.IntN(2)], c)
		case !percent && short && strings.IndexByte(`\/"`, c) >= 0:
			b.WriteString(`\` + string(c))
		case !percent && (c == '\\' || c == '"' || c < ' ' || escaped[c]):
			fmt.Fprintf(&b, []string{`\u%04x`, `\u%04X`}[random.IntN(2)], c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// mix writes each byte of text in one of three ways.
func mix(random *rand.Rand, text string) string {
	var b strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&b, []string{"%c", `\u%04x`, "%%%02X"}[random.IntN(3)], text[i])
	}
	return b.String()
}

// randomKey returns at least 16 bytes of the characters that occur in keys.
func randomKey(random *rand.Rand, alphabet string) string {
	key := make([]byte, 16+random.IntN(80))
	for i := range key {
		key[i] = alphabet[random.IntN(len(alphabet))]
	}
	return string(key)
}

const keyAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/="

// FuzzNoMixOfEscapesHidesAKey passes an encoded key through in pieces, decodes the result
// with other decoders, and searches it for the key. Text without a key must arrive
// unchanged.
func FuzzNoMixOfEscapesHidesAKey(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed, "data: {'text':'", " and so on'}")
	}
	f.Add(uint64(7), `\\`, `%`)
	f.Add(uint64(135), "9999999%9", " and6so on'}")
	f.Fuzz(func(t *testing.T, seed uint64, before, after string) {
		random := rand.New(rand.NewPCG(seed, 1))
		key := randomKey(random, []string{keyAlphabet, "0123456789abcdef", "ab"}[random.IntN(3)])
		set := redact.New(secret.New(key))
		if set.Fragment(before + after) {
			return
		}
		around := []string{before, after}[random.IntN(2)]
		carried := []string{
			key, base64.StdEncoding.EncodeToString([]byte(around + key + after)), base64.URLEncoding.EncodeToString([]byte(around + key)), hex.EncodeToString([]byte(key + after)),
		}[random.IntN(4)]
		text, undo := wrap(random, carried)
		through := func(text string) string {
			out := read(t, set, &pieces{text: text, size: func() int { return random.IntN(2 + random.IntN(300)) }}, func() int {
				return []int{1, 100, 64 << 10}[random.IntN(3)]
			})
			if len(out) != len(text) {
				t.Errorf("%d bytes became %d", len(text), len(out))
			}
			return out
		}
		out := through(before + text + after)
		decoded := undo(out[len(before) : len(out)-len(after)])
		if begunEscape.MatchString(before) { // a decoder sees an escape that ends in the key
			decoded = undo(out)
		}
		for _, form := range []string{out, decoded} {
			if strings.Contains(form, carried) || strings.Contains(form, key) {
				t.Errorf("the key %q went through %q as\n%q, which is\n%q", key, text, out, decoded)
			}
		}
		if plain := before + after; !strings.ContainsAny(plain, `\%`) && through(plain) != plain {
			t.Errorf("without a key %q became %q", plain, through(plain))
		}
	})
}

// begunEscape finds an escape at the end of a text that the next bytes can continue.
var begunEscape = regexp.MustCompile(`[%\\][%\\0-9A-Fa-fu]*$`)

// wrap writes text in up to three layers of escapes, and returns the decoders that undo them.
func wrap(random *rand.Rand, text string) (wrapped string, undo func(string) string) {
	var undos []func(string) string
	percents := func(text string) string { text, _ = url.PathUnescape(text); return text }
	count := random.IntN(4)
	if count > 0 && random.IntN(3) == 0 {
		text = mix(random, text)
		undos = append(undos, func(text string) string { return percents(unescapeJSON(text)) })
		count = min(count, 2)
	}
	for len(undos) < count {
		percent := random.IntN(2) == 0
		text = layer(random, text, percent)
		if percent {
			undos = append(undos, percents)
		} else {
			undos = append(undos, unescapeJSON)
		}
	}
	return text, func(text string) string {
		for i := len(undos) - 1; i >= 0; i-- {
			text = undos[i](text)
		}
		return text
	}
}

func benchmark(b *testing.B, piece string) {
	set := redact.New(secret.New("sk-proj-" + strings.Repeat("Ab3dEf6hIj", 15)))
	text := strings.Repeat(piece, 8<<20/len(piece))
	buffer := make([]byte, 128<<10)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		through := set.Reader(io.NopCloser(strings.NewReader(text)))
		for {
			if _, err := through.Read(buffer); err != nil {
				break
			}
		}
	}
}

func BenchmarkRedactText(b *testing.B) {
	benchmark(b, "data: {\"choices\":[{\"delta\":{\"content\":\" the quick brown fox jumps over the lazy dog and skips the project\"}}]}\n\n")
}

func BenchmarkRedactCode(b *testing.B) {
	benchmark(b, `{"arguments":"{\"path\":\"main.go\",\"content\":\"func main() {\\n\\tfmt.Println(\\\"hello \\u0026 100%d\\\")\\n\\treturn\\n}\"}"}`+"\n")
}

func BenchmarkRedactEscapes(b *testing.B) { benchmark(b, `\u0073\u006b\/%2Fsk-proj`) }
