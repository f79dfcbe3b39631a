// Package risk judges changed files by rules: parts that would run later on the host,
// contain a secret, or are invisible to a reader. The rules are pure functions of a file's
// name, modes and content. The package opens no file, starts no program and never repeats a
// secret.
package risk

import (
	"fmt"
	"strings"
)

// Severity is how serious a risk is. The zero value is the most severe.
type Severity int

// The severities.
const (
	High   Severity = iota // happens without a request: on a clone, on a commit, on opening a folder
	Medium                 // happens when the user builds, tests or pushes
	Note                   // worth knowing; the file is not held back
)

var severities = [...]string{"high", "medium", "note"}

// String is the severity's name.
func (s Severity) String() string {
	if s < 0 || int(s) >= len(severities) {
		return fmt.Sprintf("severity %d", int(s))
	}
	return severities[s]
}

// MarshalText writes the severity's name.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the result of MarshalText.
func (s *Severity) UnmarshalText(text []byte) error {
	for i, name := range severities {
		if name == string(text) {
			*s = Severity(i)
			return nil
		}
	}
	return fmt.Errorf("%q is no severity of a risk", text)
}

// Risk is one reason to review a changed file before accepting it. Its texts are one line
// each and safe for a terminal.
type Risk struct {
	Rule     string   `json:"rule"`            // the rule's name: "vscode-tasks"
	Title    string   `json:"title"`           // the kind of file: "tasks of the editor"
	Runs     string   `json:"runs,omitempty"`  // the command that would run; empty if there is none
	When     string   `json:"when,omitempty"`  // on what occasion
	By       string   `json:"by,omitempty"`    // which program runs it
	Found    string   `json:"found,omitempty"` // the finding in the content; for a secret only its form
	Line     int      `json:"line,omitempty"`  // the first line it is about; 0 means the whole file
	Severity Severity `json:"severity"`
}

// Holds reports whether the file is left out of a plain accept.
func (r Risk) Holds() bool { return r.Severity < Note }

// String describes the risk in one line.
func (r Risk) String() string {
	var b strings.Builder
	b.WriteString(r.Title)
	if r.Line > 0 {
		fmt.Fprintf(&b, ", line %d", r.Line)
	}
	if r.Runs != "" {
		b.WriteString(": runs " + r.Runs)
	}
	if r.When != "" {
		b.WriteString(", " + r.When)
	}
	if r.By != "" {
		b.WriteString(", by " + r.By)
	}
	if r.Found != "" {
		b.WriteString(" (" + r.Found + ")")
	}
	return b.String()
}
