package shellquote

import (
	"errors"
	"strings"
)

// meaning lists the characters that are special to a shell outside of quotes.
const meaning = "|&;<>()$`*?[]#~\n"

// Split reads a command line into words as a POSIX shell would, without running one: quotes
// and backslashes work, and nothing is expanded. Features of a shell (pipes, variables,
// patterns) are an error, so that they are not passed to a program as text. Split returns
// the words of Join unchanged, unless one has such a character in double quotes.
func Split(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == ' ' || c == '\t':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
			continue
		case c == '\'':
			end := strings.IndexByte(line[i+1:], '\'')
			if end < 0 {
				return nil, errors.New("a single quote is not closed")
			}
			word.WriteString(line[i+1 : i+1+end])
			i += 1 + end
		case c == '"':
			end, err := quotedTo(line[i+1:], &word)
			if err != nil {
				return nil, err
			}
			i += 1 + end
		case c == '\\' && i+1 < len(line):
			i++
			word.WriteByte(line[i])
		case strings.IndexByte(meaning, c) >= 0 || c == '\\':
			return nil, errors.New("no shell runs it, so " + string(rune(c)) + " has to be in single quotes")
		default:
			word.WriteByte(c)
		}
		inWord = true
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

// quotedTo adds the text up to the closing double quote to word, and returns the quote's
// index.
func quotedTo(text string, word *strings.Builder) (int, error) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return i, nil
		case c == '$' || c == '`':
			return 0, errors.New("no shell runs it, so " + string(rune(c)) + " has to be in single quotes")
		case c == '\\' && i+1 < len(text) && (text[i+1] == '"' || text[i+1] == '\\'):
			i++
			word.WriteByte(text[i])
		default:
			word.WriteByte(c)
		}
	}
	return 0, errors.New("a double quote is not closed")
}
