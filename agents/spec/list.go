package spec

import (
	"net/netip"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"aibox/internal/fault"
)

// emptyList is the text of an empty list that is set.
const emptyList = "[]"

// splitWords parses a list: as TOML if the text begins with a bracket that is not that of an
// IPv6 address, else as words separated by commas or newlines. It drops empty words and spaces
// around words; a word in double quotes is literal, with "" for a quote.
func (f Field) splitWords(text string) ([]string, error) {
	if begin := strings.TrimSpace(text); strings.HasPrefix(begin, "[") && !beginsWithAddress(begin) {
		return f.parseTOMLList(text)
	}
	var words []string
	for rest := text; rest != ""; {
		rest = strings.TrimLeft(rest, " \t")
		if !strings.HasPrefix(rest, `"`) {
			end := strings.IndexAny(rest, ",\r\n")
			word := rest
			if end >= 0 {
				word, rest = rest[:end], rest[end+1:]
			} else {
				rest = ""
			}
			if word = strings.TrimSpace(word); word != "" {
				words = append(words, word)
			}
			continue
		}
		word, after, ok := unquote(rest)
		if !ok {
			return nil, fault.New(fault.Usage, "option %q: a quoted word does not end, or is followed by other text", f.Key).
				Hint(`write it as "one, word",another`)
		}
		words, rest = append(words, word), after
	}
	return words, nil
}

// parseTOMLList parses a list in TOML. It rejects an invalid one, which would otherwise
// become a word without an effect.
func (f Field) parseTOMLList(text string) ([]string, error) {
	var read map[string]any
	err := toml.Unmarshal([]byte("list = "+strings.TrimSpace(text)+"\n"), &read)
	words, ok := wordsOf(read["list"])
	if err != nil || len(read) != 1 || !ok {
		return nil, fault.New(fault.Usage, "option %q starts with [ but is not a valid list", f.Key).
			Hint(`write a list as ["one", "two"]`).
			Hint(`quote a value that starts with [: "[a-z]*",another`)
	}
	return words, nil
}

// beginsWithAddress reports whether text begins with an IPv6 address in brackets, as in
// [2001:db8::1]:443. No list in TOML does.
func beginsWithAddress(text string) bool {
	inside, _, ok := strings.Cut(strings.TrimPrefix(text, "["), "]")
	address, err := netip.ParseAddr(inside)
	return ok && err == nil && address.Is6()
}

// looksLikeList reports whether a word is a list or the start of one, with quotes that a
// shell or an editor has kept.
func looksLikeList(word string) bool {
	inside, ok := strings.CutPrefix(strings.TrimSpace(word), "[")
	inside = strings.TrimLeft(inside, " \t\r\n")
	return ok && (strings.HasPrefix(inside, `"`) || strings.HasPrefix(inside, "'"))
}

// unquote removes the quoted word at the start of text and the separator after it.
func unquote(text string) (word, rest string, ok bool) {
	var out strings.Builder
	for i := 1; i < len(text); i++ {
		if text[i] != '"' {
			out.WriteByte(text[i])
			continue
		}
		if strings.HasPrefix(text[i+1:], `"`) {
			out.WriteByte('"')
			i++
			continue
		}
		rest = strings.TrimLeft(text[i+1:], " \t")
		if rest != "" && !strings.ContainsRune(",\r\n", rune(rest[0])) {
			return "", "", false
		}
		return out.String(), rest[min(len(rest), 1):], true
	}
	return "", "", false
}

// joinWords returns a text from which splitWords reads the same words.
func joinWords(words []string, separator string) string {
	switch {
	case words == nil:
		return ""
	case len(words) == 0:
		return emptyList
	}
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = word
		if word == "" || strings.HasPrefix(word, "[") || strings.HasPrefix(word, `"`) ||
			strings.ContainsAny(word, ",\r\n") || strings.TrimSpace(word) != word {
			quoted[i] = `"` + strings.ReplaceAll(word, `"`, `""`) + `"`
		}
	}
	return strings.Join(quoted, separator)
}
