package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"aibox/internal/termtext"
	"aibox/session"
)

// printJSON prints value as indented JSON, the form of every --json. Everything that
// commands print as JSON goes through this file: it contains names and output of the
// agent, and users read it on terminals.
func printJSON(out io.Writer, value any) error {
	return encodeJSON(out, value, "  ")
}

// encodeJSON writes value, on one line or with indent, and a newline.
func encodeJSON(out io.Writer, value any, indent string) error {
	shown := termtext.NewJSON(out)
	encoder := json.NewEncoder(shown)
	encoder.SetIndent("", indent)
	encoder.SetEscapeHTML(false)
	return errors.Join(encoder.Encode(value), shown.Close())
}

// jsonOutput is the standard output of a command with --json. It always prints one JSON
// value, or one per line: it holds back the end of a single value until the command has
// ended, so that the value can include an error. close must be called.
type jsonOutput struct {
	out   io.Writer
	lines bool   // each line is a value, so nothing is held back
	first byte   // of the written text, 0 before
	end   []byte // the last of it, at most longestEnd
}

// longestEnd is room for the bracket that ends a result, and what may be around it.
const longestEnd = 16

// printJSONLines makes --json print one JSON value per line.
func (a *cli) printJSONLines() {
	if result, ok := a.out.(*jsonOutput); ok {
		result.lines = true
	}
}

// Write passes data on, but for the end.
func (o *jsonOutput) Write(data []byte) (int, error) {
	if o.lines {
		return o.out.Write(data)
	}
	if o.first == 0 && len(data) > 0 {
		o.first = data[0]
	}
	now := [2][]byte{o.end, data[:max(0, len(data)-longestEnd)]}
	if len(data) < longestEnd {
		now[0] = o.end[:max(0, len(o.end)+len(data)-longestEnd)]
	}
	for _, part := range now {
		if _, err := o.out.Write(part); err != nil {
			return 0, err
		}
	}
	o.end = append(bytes.Clone(o.end[len(now[0]):]), data[len(now[1]):]...)
	return len(data), nil
}

// close writes the end, with err in it: as the result when there is none, as the field "error" of
// one that is an object, as the last line where each line is a value. Where the result is a list,
// the missing parts are named only on standard error.
func (o *jsonOutput) close(err error, id session.ID) error {
	if o.lines {
		if err == nil {
			return nil
		}
		return encodeJSON(o.out, map[string]jsonError{"error": {*session.FailureOf(err), id}}, "")
	}
	if err == nil || o.first != 0 && o.first != '{' {
		_, err := o.out.Write(o.end)
		return err
	}
	var text bytes.Buffer
	encoded := printJSON(&text, map[string]jsonError{"error": {*session.FailureOf(err), id}})
	last := bytes.LastIndexByte(o.end, '}')
	switch {
	case encoded != nil:
		return encoded
	case o.first == 0:
		_, err := o.out.Write(text.Bytes())
		return err
	case last < 0:
		_, err := o.out.Write(o.end) // a result that broke off
		return err
	}
	begin := bytes.TrimRight(o.end[:last], " \n")
	if len(begin) == 0 || begin[len(begin)-1] != '{' {
		begin = append(begin, ',')
	}
	_, err = o.out.Write(append(begin, bytes.TrimPrefix(text.Bytes(), []byte("{"))...))
	return err
}

// jsonError is the JSON of an error: the failure, and the session that the command was
// about.
type jsonError struct {
	session.Failure
	Session session.ID `json:"session,omitempty"`
}

// wantsJSON reports whether --json is among the arguments before "--". The command line
// may be invalid otherwise.
func wantsJSON(args []string) bool {
	for _, arg := range args {
		if arg == "--" {
			return false
		}
		if value, is := strings.CutPrefix(arg, "--json="); arg == "--json" || is && value != "false" && value != "0" {
			return true
		}
	}
	return false
}
