package userrepo

import (
	"bytes"

	"aibox/internal/eol"
	"aibox/workspace"
)

// LineEndings defines how git converts the line endings of a path (gitattributes, "text"
// and "eol"; convert.c).
type LineEndings struct {
	Converts bool // CRLF becomes LF on the way into the repository
	guesses  bool // only in files that look like text
	ToCRLF   bool // LF becomes CRLF on the way to the disk
}

func (u *Settings) LineEndings(path string) LineEndings {
	u, path = u.at(path)
	attrs := u.Attrs[path]
	text := attrs["text"]
	if text == "unspecified" {
		text = attrs["crlf"] // the old name
	}
	native := u.autocrlf == "true" || u.autocrlf == "false" && u.eolCRLF
	var c LineEndings
	switch text {
	case "unset":
		return LineEndings{}
	case "set":
		c = LineEndings{Converts: true, ToCRLF: native}
	case "input":
		c = LineEndings{Converts: true}
	case "auto":
		c = LineEndings{Converts: true, guesses: true, ToCRLF: native}
	default:
		c = LineEndings{Converts: u.autocrlf != "false", guesses: true, ToCRLF: u.autocrlf == "true"}
	}
	if eol := attrs["eol"]; eol == "lf" || eol == "crlf" {
		c = LineEndings{Converts: true, guesses: text == "auto", ToCRLF: eol == "crlf"}
	}
	return c
}

// Checkout gives content of the repository the line endings that git would give it
// on the disk.
func (c LineEndings) Checkout(content []byte) []byte {
	if !c.ToCRLF || c.guesses && (bytes.IndexByte(content, '\r') >= 0 || eol.LooksBinary(content)) {
		return content
	}
	return eol.ToCRLF(workspace.UnixLines(content))
}
