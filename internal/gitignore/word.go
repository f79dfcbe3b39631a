package gitignore

import (
	"strings"

	"aibox/internal/fault"
)

// ParseWord reads a pattern that the user gave as one word, for the top of a repository. A
// pattern that no name can match is a Usage fault, since it would silently have no effect.
func ParseWord(word string) (Pattern, error) {
	bare := strings.TrimPrefix(word, "!")
	for _, start := range []string{"./", "../", "~/"} {
		if rest, ok := strings.CutPrefix(bare, start); ok {
			f := fault.New(fault.Usage, "%q is not a .gitignore pattern: patterns are relative to the repository, so no name starts with %s", word, start)
			if start == "./" {
				f = f.Hint("write %q", word[:len(word)-len(bare)]+"/"+rest)
			}
			return Pattern{}, f
		}
	}
	if strings.HasPrefix(word, "#") {
		return Pattern{}, fault.New(fault.Usage, "%q is a comment in .gitignore, not a pattern", word).Hint(`write "\\%s" for names that start with #`, word)
	}
	p, ok := Parse(word, "")
	if !ok {
		return p, fault.New(fault.Usage, "%q is not a .gitignore pattern", word).
			Hint(`use * and ? and [a-z], such as "*.key", "secrets/" or "config/**/*.yml"; \[ is a bracket`)
	}
	return p, nil
}
