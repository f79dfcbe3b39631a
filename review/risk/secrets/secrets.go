// Package secrets finds passwords, keys and tokens in text by the rules of gitleaks
// (github.com/gitleaks/gitleaks), as their maintainers publish them; rules.go is
// made from that module, whose own detector the tests compare with. A rule is
// compiled when one of its keywords is first met, and tried only around keywords.
// The package keeps no secret and prints none.
package secrets

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"aibox/internal/sorting"
)

// Rule is one of gitleaks' rules. Keywords are in lower case.
type Rule struct {
	ID       string
	Regex    string
	Path     string  // the rule applies only to these paths
	Entropy  float64 // minimum entropy of a secret, in bits a character
	Group    int     // the group that is the secret; 0: the first that is not empty
	Keywords []string
	Allow    []Allow
}

// Allow is a condition under which a match is not a secret.
type Allow struct {
	All       bool   // every condition must hold, not one of them
	Target    string // the target of Regexes: "match", "line" or the secret
	Paths     []string
	Regexes   []string
	StopWords []string // in lower case
}

// Finding is a secret in a text.
type Finding struct {
	Rule       string // gitleaks' name of it: "aws-access-token"
	Start, End int    // of the secret, in bytes of the text
}

// The limits of one search, and how far an expression of unbounded length searches around a
// keyword.
const (
	before      = 1 << 10
	behind      = 16 << 10
	maxFindings = 16
)

// lead is how the expressions of many rules begin; a keyword follows. It may match
// nothing, so that it only moves the beginning of a match, and costs a search most of
// its time: it is cut off, the rest is tried at each keyword, and the beginning is
// moved by hand.
const (
	lead    = `[\w.-]{0,50}?`
	maxLead = 50
)

// assigns is the part of rules' expressions that matches an assignment. One of its signs
// must follow a keyword closely.
const (
	assigns   = `(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)`
	signs     = "=>:|?,"
	maxAssign = 64
)

// ready are the rules made ready so far; the last is for global.
var ready [len(rules) + 1]compiled

// maxPath is how many bytes of a path the rules see, its end: they only match the last
// names, and searching thousands of long paths takes minutes.
const maxPath = 512

// Find returns the secrets in text, each place once, at most 16. path is the file's name,
// which some rules match. budget is how many bytes the rules may read; Find returns the
// rest of it, less than 0 if it was not enough.
func Find(path string, text []byte, budget int64) ([]Finding, int64) {
	return In(path).Find(text, budget)
}

// SameRules reports whether the same rules apply to the texts of the files at two paths.
func SameRules(a, b string) bool {
	in, other := In(a), In(b)
	for i := range ready {
		r := &global
		if i < len(rules) {
			r = &rules[i]
		}
		depends := r.Path != "" || slices.ContainsFunc(r.Allow, func(a Allow) bool { return len(a.Paths) > 0 })
		if depends && in.rule(i) != other.rule(i) {
			return false
		}
	}
	return true
}

// Search finds the secrets in several texts of one file. It matches the file's name once for
// each rule. It is not safe for concurrent use.
type Search struct {
	path    string
	applies map[int]bool // whether a rule applies to the path; that of global is its last index
}

// In makes a Search of the texts of the file at path.
func In(path string) *Search {
	return &Search{path: path[max(0, len(path)-maxPath):]}
}

// Find is the function Find.
func (s *Search) Find(text []byte, budget int64) ([]Finding, int64) {
	small := len(text) <= smallText
	if !small && !s.rule(len(rules)) {
		return nil, budget
	}
	found, left := s.find(text, budget)
	if small && (len(found) > 0 || left != budget) && !s.rule(len(rules)) {
		return nil, budget
	}
	return found, left
}

// rule reports whether a rule, by its index, applies to the path.
func (s *Search) rule(i int) bool {
	applies, known := s.applies[i]
	if !known {
		r := &global
		if i < len(rules) {
			r = &rules[i]
		}
		c := ready[i].prepare(r)
		applies = !c.allowsPath(s.path) && (c.path == nil || c.path.MatchString(s.path))
		if s.applies == nil {
			s.applies = map[int]bool{}
		}
		s.applies[i] = applies
	}
	return applies
}

// smallText is the size of texts that are cheaper to search for keywords than their paths
// are to match. Most small texts have no keyword.
const smallText = 4 << 10

// find is Find for a path that the global rule does not leave out.
func (s *Search) find(text []byte, budget int64) ([]Finding, int64) {
	var found []Finding
	everywhere := ready[len(rules)].prepare(&global)
	lower := bytes.ToLower(text)
	if len(lower) != len(text) { // places would differ; only ASCII matters for keywords
		lower = asciiLower(text)
	}
	around, budget := windows(lower, budget)
	if budget < 0 {
		return nil, budget
	}
	for i := range rules {
		r := &rules[i]
		if len(r.Keywords) > 0 && len(around[i]) == 0 {
			continue
		}
		if !s.rule(i) {
			continue
		}
		c := ready[i].prepare(r)
		if c.regex == nil {
			found = append(found, Finding{Rule: r.ID})
			continue
		}
		for _, w := range around[i] {
			found = append(found, c.search(r, everywhere, text, w)...)
			if len(found) >= maxFindings*4 {
				return once(found), budget
			}
		}
	}
	return once(found), budget
}

func asciiLower(text []byte) []byte {
	lower := bytes.Clone(text)
	for i, c := range lower {
		if c >= 'A' && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	return lower
}

// search applies one rule to one window.
func (c *compiled) search(r *Rule, everywhere *compiled, text []byte, w window) []Finding {
	var found []Finding
	for _, at := range c.regex.FindAllSubmatchIndex(text[w.start:w.end], -1) {
		for i := range at {
			if at[i] >= 0 {
				at[i] += w.start
			}
		}
		start, end := at[0], at[1]
		match := text[start:end]
		trimmed := bytes.Trim(match, "\n")
		start += bytes.Index(match, trimmed)
		end = start + len(trimmed)
		if c.cut {
			start = wordStart(text, start)
			trimmed = text[start:end]
		}
		from, to := start, end
		if r.Group > 0 && 2*r.Group+1 < len(at) {
			from, to = at[2*r.Group], at[2*r.Group+1]
		} else if r.Group == 0 {
			for g := 2; g+1 < len(at); g += 2 {
				if at[g] >= 0 && at[g+1] > at[g] {
					from, to = at[g], at[g+1]
					break
				}
			}
		}
		if from < 0 || r.Entropy != 0 && entropy(text[from:to]) <= r.Entropy {
			continue
		}
		secret, line := text[from:to], lineAround(text, start, end)
		if everywhere.allows(secret, trimmed, line) || c.allows(secret, trimmed, line) {
			continue
		}
		if found = append(found, Finding{r.ID, from, to}); len(found) == maxFindings {
			break
		}
	}
	return found
}

// wordStart moves a beginning to the left as the lead would have.
func wordStart(text []byte, at int) int {
	for n := 0; n < maxLead && at > 0; n++ {
		c := text[at-1]
		if c != '_' && c != '.' && c != '-' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			break
		}
		at--
	}
	return at
}

// allowsPath reports whether files of this name are left out as a whole.
func (c *compiled) allowsPath(path string) bool {
	for _, a := range c.allow {
		if a.All && (a.regexes != nil || len(a.StopWords) > 0) {
			continue
		}
		if path != "" && a.paths != nil && a.paths.MatchString(path) {
			return true
		}
	}
	return false
}

// allows reports whether a match is not a secret. Lists that require both a path and a
// regular expression are ignored, since the agent chooses file names.
func (c *compiled) allows(secret, match, line []byte) bool {
	for _, a := range c.allow {
		if a.All {
			continue
		}
		target := secret
		switch a.Target {
		case "match":
			target = match
		case "line":
			target = line
		}
		if a.regexes != nil && len(target) > 0 && a.regexes.Match(target) {
			return true
		}
		if len(a.StopWords) > 0 && stopWord(bytes.ToLower(secret), a.StopWords) {
			return true
		}
	}
	return false
}

func stopWord(secret []byte, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return bytes.Contains(secret, []byte(word)) })
}

// maxLine is how many bytes of a line around a match are read.
const maxLine = 4 << 10

func lineAround(text []byte, start, end int) []byte {
	head := text[max(0, start-maxLine):start]
	tail := text[end:min(len(text), end+maxLine)]
	if i := bytes.LastIndexByte(head, '\n'); i >= 0 {
		head = head[i+1:]
	}
	if i := bytes.IndexByte(tail, '\n'); i >= 0 {
		tail = tail[:i]
	}
	return text[start-len(head) : end+len(tail)]
}

// entropy returns Shannon's entropy in bits a byte, computed as in gitleaks.
func entropy(secret []byte) float64 {
	counts := map[rune]int{}
	for _, r := range string(secret) {
		counts[r]++
	}
	sum := 0.0
	for _, n := range counts {
		share := float64(n) / float64(len(secret))
		sum -= share * math.Log2(share)
	}
	return sum
}

// once drops repetitions, and generic findings if a specific rule found the same.
func once(found []Finding) []Finding {
	sorting.StableFunc(found, func(a, b *Finding) int { return a.Start - b.Start })
	var kept []Finding
	for _, f := range found {
		covered := slices.ContainsFunc(found, func(other Finding) bool {
			return strings.Contains(f.Rule, "generic") && !strings.Contains(other.Rule, "generic") && other.Start <= f.End && f.Start <= other.End
		})
		if covered || slices.Contains(kept, f) {
			continue
		}
		if kept = append(kept, f); len(kept) == maxFindings {
			break
		}
	}
	return kept
}

// Names returns the names of all rules.
func Names() []string {
	names := make([]string, len(rules))
	for i := range rules {
		names[i] = rules[i].ID
	}
	return names
}
