package cli

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"aibox/agents/spec"
)

// flagHelp is the sentence of a field as the help of flags has it: it begins with a small letter,
// unless its first word is an acronym.
func flagHelp(field spec.Field) string {
	first, size := utf8.DecodeRuneInString(field.Help)
	if second, _ := utf8.DecodeRuneInString(field.Help[size:]); unicode.IsUpper(second) {
		return field.Help
	}
	return string(unicode.ToLower(first)) + field.Help[size:]
}

// valueName is what the help of a flag calls the values of a field.
func valueName(field spec.Field) string {
	switch {
	case field.Placeholder != "":
		return field.Placeholder
	case field.Type == spec.Int:
		return "NUMBER"
	case field.Type == spec.String:
		return "TEXT"
	default:
		return strings.ToUpper(field.Type.String())
	}
}
