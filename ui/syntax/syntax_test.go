package syntax

import (
	"bytes"
	"strings"
	"testing"
)

// marked shows the classes in lines: each span in brackets after the letter of its class.
func marked(l *Language, text string) string {
	letters := "_csnktfy"
	var out []string
	var state State
	for line := range strings.SplitSeq(text, "\n") {
		var spans []Span
		spans, state = l.Line([]byte(line), state, nil)
		var b strings.Builder
		at := 0
		for _, s := range spans {
			b.WriteString(line[at:s.From] + string(letters[s.Class]) + "[" + line[s.From:s.To] + "]")
			at = s.To
		}
		out = append(out, b.String()+line[at:])
	}
	return strings.Join(out, "\n")
}

func TestPartsOfALineAreClassified(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a.go", `func f(n int) string { return "a\"b" + 'x' } // done`, `k[func] f[f](n t[int]) t[string] { k[return] s["a\"b"] + s['x'] } c[// done]`},
		{"a.go", "x := `one\ntwo` + y /* a\nb */ z", "x := s[`one]\ns[two`] + y c[/* a]\nc[b */] z"},
		{"a.go", " * in the middle\n */\nx()", " c[* in the middle]\n c[*/]\nf[x]()"},
		{"a.c", "x = a\n  * b;\nif (x)", "x = a\n  c[* b;]\nk[if] (x)"},
		{"a.js", " * {string} a\n * {@link b}", " c[* {string} a]\n c[* {@link b}]"},
		{"a.css", "* {\n  top: 1;\n}\n* { top: 1 }", "* {\n  y[top]: n[1];\n}\n* { top: n[1] }"},
		{"a.rs", "fn f<'a>(c: &'a str) -> Self { r#\"x\"y\"# }", `k[fn] f<'a>(c: &'a t[str]) -> k[Self] { s[r#"x"y"#] }`},
		{"a.py", "def f():\n    '''one\n    two''' # no\n    return f'x' if 1.5e3 else None", "k[def] f[f]():\n    s['''one]\ns[    two'''] c[# no]\n    k[return] fs['x'] k[if] n[1.5e3] k[else] n[None]"},
		{"a.sh", "if [ \"$x\" = 1 ]; then # don't\n  echo it's#no", "k[if] [ s[\"$x\"] = n[1] ]; k[then] c[# don't]\n  k[echo] it's#no"},
		{"x.yaml", "a: true # no\n- b-c: \"x\"\n  url: http://x:1", "y[a]: n[true] c[# no]\n- y[b-c]: s[\"x\"]\n  y[url]: http://x:n[1]"},
		{"x.json", `{"a": "b", "c": [1, null]}`, `{y["a"]: s["b"], y["c"]: [n[1], n[null]]}`},
		{"x.toml", "[a.b]\nkey = 'x' # no", "[a.b]\ny[key] = s['x'] c[# no]"},
		{"x.html", `<!-- a --><a href="x" b>it's</a>`, `c[<!-- a -->]k[<a] y[href]=s["x"] y[b]k[>]it'sk[</a>]`},
		{"x.html", "<a\n  b='c'>d", "k[<a]\n  y[b]=s['c']k[>]d"},
		{"x.md", "# Head\n- a `b` c\n```go\nx\n```\n> q", "k[# Head]\nk[-] a s[`b`] c\nc[```go]\ns[x]\nc[```]\nc[> q]"},
		{"x.sql", "SELECT a FROM b WHERE c = 'd' -- e", "k[SELECT] a k[FROM] b k[WHERE] c = s['d'] c[-- e]"},
		{"x.c", "#include <a.h>\nchar c = '\\n'; /* x", "k[#include] <a.h>\nt[char] c = s['\\n']; c[/* x]"},
		{"Makefile", "all: $(OBJ)\n\tgo build # x", "all: $(OBJ)\n\tgo build c[# x]"},
		{"Dockerfile.test", "FROM a:1 AS b", "k[FROM] a:n[1] k[AS] b"},
	} {
		if got := marked(Of(c.name, nil), c.text); got != c.want {
			t.Errorf("%s:\n%s\nis read as\n%s\nnot as\n%s", c.name, c.text, got, c.want)
		}
	}
}

func TestALanguageIsFoundByTheFilesNameOrItsFirstLine(t *testing.T) {
	for _, c := range []struct{ name, first, want string }{
		{"a/b.GO", "", "Go"},
		{"GNUmakefile", "", "Makefile"},
		{".bashrc", "", "shell"},
		{"run", "#!/usr/bin/env python3", "Python"},
		{"run", "#!/bin/sh -e", "shell"},
		{"run", "", ""},
		{"go", "", ""},
		{"", "", ""},
		{"a.unknown", "text", ""},
	} {
		if got := Of(c.name, []byte(c.first)).Name(); got != c.want {
			t.Errorf("%q with %q is %q, not %q", c.name, c.first, got, c.want)
		}
	}
}

func TestAnUnknownFileHasNoSpans(t *testing.T) {
	if got := marked(Of("a.unknown", nil), `if "x" // y`); got != `if "x" // y` {
		t.Error(got)
	}
}

func TestALongLineIsCutAndResetsTheState(t *testing.T) {
	l := Of("a.go", nil)
	spans, state := l.Line([]byte("/*"+strings.Repeat("x", 2*maxLine)), State{}, nil)
	if len(spans) != 1 || spans[0].To != maxLine || state != (State{}) {
		t.Errorf("%+v, %+v", spans, state)
	}
}

// FuzzLine reads any text in any language: spans are within the line and in order, and
// the state stays within the tables.
func FuzzLine(f *testing.F) {
	var names []string
	for name := range all().endings {
		names = append(names, name)
	}
	for _, seed := range []string{"a \"b\" 'c' /* d */ # e", "\"\"\"\n'''", "<a b='", "```\n``", "\\", "'\\", "'", "r#\"", "\xff\xfe'\xff'", "--[[", "=begin"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range names {
			l, state := all().endings[name], State{}
			for line := range bytes.SplitSeq([]byte(text), []byte("\n")) {
				var spans []Span
				spans, state = l.Line(line, state, nil)
				at := 0
				for _, s := range spans {
					if s.From < at || s.To <= s.From || s.To > len(line) || s.Class == Plain {
						t.Fatalf("%s: %+v of %q", name, spans, line)
					}
					at = s.To
				}
			}
		}
	})
}

// BenchmarkLine reads a window of 300 lines.
func BenchmarkLine(b *testing.B) {
	l, line := Of("a.go", nil), []byte("\tif err := s.store.write(id, feedbackFile, f); err != nil { // \"keep\" it")
	for b.Loop() {
		var state State
		var spans []Span
		for range 300 {
			spans, state = l.Line(line, state, spans[:0])
		}
	}
}
