package risk

import (
	"bytes"
	"fmt"
	"sync/atomic"

	"aibox/review/risk/secrets"
)

// RulesVersion tells which rules Judge applies: our own, by a number that changes
// with them, and those for secrets, by gitleaks' release.
const RulesVersion = "1, gitleaks " + secrets.Version

// maxEffort is how many bytes the rules for secrets may go through in one file: a
// hostile text makes a rule as slow as 2 MB a second.
const maxEffort = 2 << 20

// Effort is how many bytes the rules for secrets may go through in one review. It may
// be shared by goroutines.
type Effort struct{ left atomic.Int64 }

// NewEffort is the effort for one review.
func NewEffort() *Effort {
	const all = 64 << 20
	e := new(Effort)
	e.left.Store(all)
	return e
}

// secrets looks for secrets in the added lines. Zero bytes, which make a file
// binary, hide nothing: they end a line here.
func (f *File) secrets() []Risk {
	granted := int64(maxEffort)
	if f.Effort != nil {
		granted = min(granted, f.Effort.left.Load())
	}
	effort := granted
	defer func() {
		if f.Effort != nil {
			f.Effort.left.Add(effort - granted)
		}
	}()
	var found []Risk
	seen := map[string]bool{}
	for _, s := range f.stretches() {
		text := s.text
		if bytes.IndexByte(text, 0) >= 0 {
			text = bytes.ReplaceAll(text, []byte{0}, []byte{'\n'})
		}
		var all []secrets.Finding
		all, effort = secrets.Find(f.Path, text, effort)
		for _, secret := range all {
			if seen[secret.Rule] {
				continue
			}
			seen[secret.Rule] = true
			number := s.line + bytes.Count(s.text[:secret.Start], []byte("\n"))
			risk := secretRule.at(number, redact(text[secret.Start:secret.End]))
			risk.Title = "a secret: " + secret.Rule
			found = append(found, risk)
		}
		if effort < 0 {
			return append(found, notSearched.at(s.line, "more keywords of secrets than can be looked at"))
		}
	}
	return found
}

// redact says what a secret looks like: its first letters, which are those of its
// kind when it is long, and its length.
func redact(secret []byte) string {
	const long, head = 20, 4
	if len(secret) < long {
		return fmt.Sprintf("%d characters", len(secret))
	}
	return fmt.Sprintf("%s… (%d characters)", secret[:head], len(secret))
}
