package cli

import (
	"encoding/json"
	"errors"
	"io"

	"aibox/internal/termtext"
)

// printJSON prints value as indented JSON, the form of every --json. Everything that
// commands print as JSON goes through this file: names and output of the agent's stand
// in it, and people look at it on terminals.
func printJSON(out io.Writer, value any) error {
	return encodeJSON(out, value, "  ")
}

// encodeJSON writes value on one line, or indented where indent is not empty, and ends
// it by a newline.
func encodeJSON(out io.Writer, value any, indent string) error {
	shown := termtext.NewJSON(out)
	encoder := json.NewEncoder(shown)
	encoder.SetIndent("", indent)
	encoder.SetEscapeHTML(false)
	return errors.Join(encoder.Encode(value), shown.Close())
}
