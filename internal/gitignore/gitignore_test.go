package gitignore

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// checkIgnore returns the paths that git ignores with the patterns.
func checkIgnore(t interface{ Fatal(...any) }, dir, patterns string, paths []string) map[string]bool {
	if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(patterns), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "-C", dir, "-c", "core.ignoreCase=false", "-c", "core.excludesFile=/dev/null", "check-ignore", "--no-index", "-z", "--stdin")
	cmd.Stdin = strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil && len(out)+said.Len() > 0 {
		t.Fatal(err, said.String())
	}
	ignored := map[string]bool{}
	for path := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		ignored[path] = true
	}
	return ignored
}

func newRepository(t *testing.T) string {
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// agree compares this package with git. Paths that end with a slash are created as folders.
func agree(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, dir, patterns string, paths []string,
) {
	var l List
	l.AddFile("", patterns)
	folders := map[string]bool{}
	var asked []string
	for _, path := range paths {
		name, isFolder := strings.CutSuffix(path, "/")
		made := filepath.Join(dir, name)
		if isFolder && os.MkdirAll(made, 0o700) == nil ||
			!isFolder && os.MkdirAll(filepath.Dir(made), 0o700) == nil && os.WriteFile(made, nil, 0o600) == nil {
			asked, folders[name] = append(asked, name), isFolder
		}
	}
	ignored := checkIgnore(t, dir, patterns, asked)
	for _, path := range asked {
		if got := l.Match(path, folders[path]); got != ignored[path] {
			t.Fatalf("patterns %q, path %q (a folder: %v): %v, and git says %v", patterns, path, folders[path], got, ignored[path])
		}
	}
}

func TestPatternsMatchAsInGit(t *testing.T) {
	dir := newRepository(t)
	paths := []string{
		"b", "x.key", "d/x.key", "d/e/x.key", "secrets/", "secrets/a", "d/secrets/", "d/secrets/a/b", "a/", "a/b", "a/x/b", "a/x/y/b",
		"c/a/b", "x", "d/x", "d", "z", "Z", "name with space ", "name with space", "[a-z]", "a]", "-", "!x", "#x", `back\slash`, "\xff\xfe", "ä", "*", "**",
		"foo", "foobar/", "foobar/x", ".env", ".env.local", ".env.example", "d/.env", "id_rsa", "id_rsa.pub", "id_generator.py", "ab/c/b", "a-b/x/b", "\t", "x\ty",
	}
	for _, patterns := range []string{
		"*.key", "**/*.key", "secrets/", "/secrets/", "secrets", "/a/b", "a/b", "a/**/b", "a**/b", "/**/b", "**/b", "a/**", "**/", "**", "*", "/*", "/",
		"*\n!x", "*\n!x/", "*.key\n!d/x.key", "secrets/\n!secrets/a", "/secrets/*\n!/secrets/a", "!x\nx", "[a-z]", "[!a-z]", "[^a-z]", "[]a]", "[a", "[a-", "[z-a]", "[a-]",
		"[[:upper:]]", "[[:nope:]]", "[[:x]", `\[a-z\]`, `\!x`, `\#x`, "#x", "!#x", `name\ with\ space\ `, "name with space ", `name with space\ `, `back\\slash`, `back\`, "\xff*", "[\xff]\xfe", "?", "??",
		"foo/", "foo", "foo*", "foo**", "/foo*/", "d/*", "d/**/x.key", "d/?/x.key", "d?x", "d[/]x", "d[!a]x", "*/x", "*/*/x.key", "a/*/b", `a\/b`, `**\/b`, "//a", "a//b", "a/b//", " a", "\ta", "x\t", "a\r", "!", "! x",
		"id_rsa*\n!id_*.*", ".env\n.env.*\n!.env.example", "***", "a/***/b", "a/**b", "a/b**", "**a", "x**/b", "\uFEFFa", "d/", "d/x/", "*.KEY", "[[:alpha:][:digit:]]*", "[a-c-e]", `[\]]`, `[\\]`, `[a\-z]`, "[]-a]", "[!]a]",
	} {
		agree(t, dir, patterns+"\n", paths)
	}
}

func TestRandomPatternsMatchAsInGit(t *testing.T) {
	top := newRepository(t)
	cases := 0
	piece := rapid.SampledFrom([]string{"a", "b", "ab", "A", ".", "x", "*", "*", "**", "?", "/", "/", "/", "/**/", "**/", "/**", "[ab]", "[!a]", "[a-", "[]", `\`, `\*`, `\ `, " ", "-", "]", "!", "#", "[[:alpha:]]", "\xff", "[\x80-\xff]"})
	part := rapid.SampledFrom([]string{"a", "b", "ab", "ba", "A", ".a", "x", "a b", "a ", "*", "[", "]", `\`, "!a", "#", "\xff", "-", "abab", "a.b"})
	rapid.Check(t, func(t *rapid.T) {
		var lines []string
		for range rapid.IntRange(1, 4).Draw(t, "lines") {
			lines = append(lines, strings.Join(rapid.SliceOfN(piece, 1, 6).Draw(t, "line"), ""))
		}
		dir := filepath.Join(top, strconv.Itoa(cases))
		if cases++; os.Mkdir(dir, 0o700) != nil {
			t.Fatal("no folder")
		}
		paths := map[string]bool{}
		for range 12 {
			path := strings.Join(rapid.SliceOfN(part, 1, 4).Draw(t, "path"), "/")
			if rapid.Bool().Draw(t, "folder") {
				path += "/"
			}
			paths[path] = true
		}
		agree(t, dir, strings.Join(lines, "\n")+"\n", slices.Sorted(maps.Keys(paths)))
	})
}

func TestLiteralPatternMatchesOnlyItsPath(t *testing.T) {
	for _, path := range []string{"a", "d/x.key", "a*b", "[a]", `back\slash`, " a ", "!x", "#x", "d/ü", "two\nlines"} {
		p, ok := Parse(Literal(path), "")
		if !ok || !p.Match(path, false) {
			t.Errorf("%q does not match itself", path)
		}
		for _, other := range []string{"x/" + path, path + "x", strings.ToUpper(path) + "y"} {
			if p.Match(other, false) {
				t.Errorf("%q matches %q", path, other)
			}
		}
	}
	if p, _ := Parse(Literal("k\xff\xfe"), ""); !p.Match("k\xff\xfe", false) {
		t.Error("a name that is not UTF-8 does not match itself")
	}
}

func TestHostilePatternMatchesInBoundedTime(t *testing.T) {
	p, _ := Parse(strings.Repeat("**/*a", 40)+"b", "")
	if p.Match(strings.Repeat("a/a", 1300), false) {
		t.Error("it matches")
	}
}
