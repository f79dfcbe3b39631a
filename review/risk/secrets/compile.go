package secrets

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// compiled is a rule made ready once.
type compiled struct {
	once  sync.Once
	regex *regexp.Regexp
	cut   bool // its lead is cut off
	led   bool // a keyword followed it, and starts the rest
	reach int  // the longest match in bytes; 0: there is none
	path  *regexp.Regexp
	allow []allow
}

type allow struct {
	*Allow
	paths, regexes *regexp.Regexp
}

func (c *compiled) prepare(r *Rule) *compiled {
	c.once.Do(func() {
		if r.Regex != "" {
			var expr string
			expr, c.cut = cutLead(r.Regex)
			if c.led = c.cut && beginsWithKeyword(expr, r.Keywords); c.led {
				expr = `\A(?:` + expr + ")"
			}
			c.regex = regexp.MustCompile(expr)
			if parsed, err := syntax.Parse(r.Regex, syntax.Perl); err == nil {
				c.reach = longest(parsed)
			}
		}
		if r.Path != "" {
			c.path = regexp.MustCompile(r.Path)
		}
		for i := range r.Allow {
			a := &r.Allow[i]
			c.allow = append(c.allow, allow{a, union(a.Paths), union(a.Regexes)})
		}
	})
	return c
}

// cutLead cuts off the lead of an expression.
func cutLead(expr string) (rest string, led bool) {
	if rest, led = strings.CutPrefix(expr, "(?i)"+lead); led {
		return "(?i)" + rest, true
	}
	if rest, led = strings.CutPrefix(expr, lead+"(?i:"+lead); led {
		return "(?i:" + rest, true
	}
	return expr, false
}

// beginsWithKeyword reports whether each keyword fits the beginning of an expression
// whose lead is cut off. With some rules a keyword is part of the value instead.
func beginsWithKeyword(expr string, keywords []string) bool {
	name, _, ok := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(expr, "(?i)"), "(?i:"), `(?:[ \t\w.-]{0,20})`)
	if !ok || !strings.Contains(expr, assigns) {
		return false
	}
	begin, err := regexp.Compile(`\A(?i:` + strings.ReplaceAll(name, "(?-i:", "(?:") + ")")
	return err == nil && !slices.ContainsFunc(keywords, func(word string) bool { return !begin.MatchString(word) })
}

// longest returns the maximum length of an expression's matches in bytes; 0 if it is
// unbounded, or too large to be useful.
func longest(re *syntax.Regexp) int {
	const far = 4 << 10
	n := 0
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune) * utf8.UTFMax
	case syntax.OpCharClass:
		return max(1, utf8.RuneLen(re.Rune[len(re.Rune)-1]))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return utf8.UTFMax
	case syntax.OpStar, syntax.OpPlus:
		return 0
	case syntax.OpRepeat:
		if re.Max < 0 {
			return 0
		}
		n = re.Max * longest(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if n = n + longest(sub); longest(sub) == 0 && !empty(sub) {
				return 0
			}
		}
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			if n = max(n, longest(sub)); longest(sub) == 0 && !empty(sub) {
				return 0
			}
		}
	case syntax.OpCapture, syntax.OpQuest:
		n = longest(re.Sub[0])
	}
	if n > far {
		return 0
	}
	return n
}

// empty reports whether an expression matches positions, not characters.
func empty(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return true
	case syntax.OpCapture, syntax.OpQuest, syntax.OpConcat, syntax.OpAlternate:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !empty(sub) })
	}
	return false
}

// union is one expression for many; nil for none.
func union(all []string) *regexp.Regexp {
	if len(all) == 0 {
		return nil
	}
	return regexp.MustCompile("(?:" + strings.Join(all, ")|(?:") + ")")
}
