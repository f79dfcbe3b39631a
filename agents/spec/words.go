package spec

import (
	"strings"

	"github.com/pelletier/go-toml/v2"

	"aibox/internal/fault"
)

// emptyList is the text of a list that is set and holds nothing.
const emptyList = "[]"

// splitWords reads a list as TOML when the text begins with a bracket. Other text it
// parts at commas and ends of lines. Spaces around a word are
// dropped, and so are empty words; a word in double quotes is taken literally, with
// "" for a quote.
func (f Field) splitWords(text string) ([]string, error) {
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		return f.listed(text)
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

// listed reads a list as TOML has it. What is none is refused: taken for a word, it would
// be in force and do nothing.
func (f Field) listed(text string) ([]string, error) {
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

// looksListed reports whether a word is a whole list, or the start of one: quotes that a
// shell or an editor kept, and that is not meant as part of a word.
func looksListed(word string) bool {
	inside, ok := strings.CutPrefix(strings.TrimSpace(word), "[")
	inside = strings.TrimLeft(inside, " \t\r\n")
	return ok && (strings.HasPrefix(inside, `"`) || strings.HasPrefix(inside, "'"))
}

// unquote takes the quoted word at the start of text, and the separator after it.
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

// joinWords is the text from which splitWords reads the same words, with a comma or
// the end of a line between two.
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
