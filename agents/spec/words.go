package spec

import (
	"strings"

	"aibox/internal/fault"
)

// emptyList is the text of a list that is set and holds nothing.
const emptyList = "[]"

// splitWords parts text at commas and ends of lines. Spaces around a word are
// dropped, and so are empty words; a word in double quotes is taken as it is, with
// "" for a quote.
func (f Field) splitWords(text string) ([]string, error) {
	if strings.TrimSpace(text) == emptyList {
		return []string{}, nil
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
			return nil, fault.New(fault.Usage, "option %q: a quoted word does not end, or something stands behind it", f.Key).
				Hint(`write it as "one, word",another`)
		}
		words, rest = append(words, word), after
	}
	return words, nil
}

// unquote takes the quoted word at the start of text, and the separator behind it.
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
		if word == "" || word == emptyList || strings.HasPrefix(word, `"`) ||
			strings.ContainsAny(word, ",\r\n") || strings.TrimSpace(word) != word {
			quoted[i] = `"` + strings.ReplaceAll(word, `"`, `""`) + `"`
		}
	}
	return strings.Join(quoted, separator)
}
