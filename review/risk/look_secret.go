package risk

import (
	"bytes"
	"fmt"
	"strings"
	"sync/atomic"

	"aibox/review/risk/secrets"
)

// RulesVersion identifies the rules that a review applies: aibox's own, by a number that changes with
// them, and those for secrets, by gitleaks' release. To aibox's own belongs the search for files that
// others run. A change set that was judged by another version is judged again.
const RulesVersion = "8, gitleaks " + secrets.Version

// maxEffort is how many bytes the rules for secrets may read in one file: a hostile text
// can slow a rule down to 2 MB a second.
const maxEffort = 2 << 20

// stretchEffort is what each stretch of added lines costs, in bytes, however short it is. An
// agent can change every other line of a file.
const stretchEffort = 64

// Effort is how many bytes the rules for secrets may read in one review. It may be shared
// by goroutines.
type Effort struct{ left atomic.Int64 }

// NewEffort is the effort for one review.
func NewEffort() *Effort {
	const all = 64 << 20
	e := new(Effort)
	e.left.Store(all)
	return e
}

// secrets searches the added lines for secrets. Zero bytes, which make a file binary, count
// as line ends here, so they hide nothing.
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
	f.hidden = nil
	search := secrets.In(f.Path)
	for _, s := range f.stretches() {
		text := s.text
		if bytes.IndexByte(text, 0) >= 0 {
			text = bytes.ReplaceAll(text, []byte{0}, []byte{'\n'})
		}
		var all []secrets.Finding
		all, effort = search.Find(text, effort-stretchEffort)
		for _, secret := range all {
			f.hidden = append(f.hidden, string(text[secret.Start:secret.End]))
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
			f.hidden = append(f.hidden, "") // there may be more
			return append(found, notSearched.at(s.line, "more keywords of secrets than can be looked at"))
		}
	}
	return found
}

// redact describes a secret: its first letters, which show its kind when it is long, and
// its length.
func redact(secret []byte) string {
	const long, head = 20, 4
	if len(secret) < long {
		return fmt.Sprintf("%d characters", len(secret))
	}
	return fmt.Sprintf("%s… (%d characters)", secret[:head], len(secret))
}

// withhold removes parts of a secret from the file's other risks.
func (f *File) withhold(all []Risk) {
	for i := range all {
		r := &all[i]
		if r.Rule == secretRule.name {
			continue
		}
		if f.repeats(r.Found) {
			r.Found = "not shown: it holds a secret"
		}
		if f.repeats(r.Runs) {
			r.Runs = "the file itself"
		}
	}
}

// repeats reports whether text contains, or may contain, part of a secret: six characters
// of one are enough, and so is anything that would be a secret in a file of any name.
func (f *File) repeats(text string) bool {
	const part, many = 6, 16
	if text == "" {
		return false
	}
	if found, _ := secrets.Find("", []byte(text), maxEffort); len(found) > 0 {
		return true
	}
	for _, secret := range f.hidden {
		if secret == "" || len(f.hidden) >= many {
			return true
		}
		if len(secret) < part && strings.Contains(text, secret) {
			return true
		}
		for i := 0; i+part <= len(secret); i++ {
			if strings.Contains(text, secret[i:i+part]) {
				return true
			}
		}
	}
	return false
}
