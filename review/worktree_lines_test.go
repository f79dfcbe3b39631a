package review_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAttributesThatTheAgentChangedDecideNothing delivers a .gitattributes together
// with files that it speaks of.
func TestAttributesThatTheAgentChangedDecideNothing(t *testing.T) {
	b := newRepository(t, map[string]string{"a.txt": ten}).prepare()
	gitIn(t, b.repo, "config", "filter.evil.smudge", "touch "+b.inRepo("canary"))
	gitIn(t, b.repo, "config", "filter.evil.clean", "touch "+b.inRepo("canary"))
	gitIn(t, b.repo, "config", "merge.evil.driver", "touch "+b.inRepo("canary"))
	b.write(".gitattributes", "* filter=evil merge=evil eol=crlf\n")
	b.write("a.txt", ten+"11\n")
	b.write("new.txt", "new\n")
	b.user("a.txt", "0\n"+ten)
	mustPlace(b)
	b.holds("a.txt", "0\n"+ten+"11\n")
	b.holds("new.txt", "new\n")
	if _, err := os.Lstat(b.inRepo("canary")); err == nil {
		t.Error("a filter ran")
	}
}

func TestAUnionOfLinesIsMadeWhereTheUserAsksForIt(t *testing.T) {
	b := newRepository(t, map[string]string{"log.txt": "one\n", ".gitattributes": "log.txt merge=union\n"}).prepare()
	b.user("log.txt", "one\nuser\n")
	b.write("log.txt", "one\nagent\n")
	mustPlace(b)
	b.holds("log.txt", "one\nuser\nagent\n")
}

func TestLineEndingsStayAsTheUsersFileHasThem(t *testing.T) {
	t.Parallel()
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	eleven := ten + "11\n"
	for _, c := range []struct {
		name                     string
		config                   []string
		attributes               string
		committed, yours, theirs string // theirs is what the agent makes of committed
		want                     string
	}{
		{"autocrlf, CRLF on the disk", []string{"core.autocrlf", "true"}, "", crlf(ten), crlf(ten), crlf(eleven), crlf(eleven)},
		{"autocrlf, the agent writes LF", []string{"core.autocrlf", "true"}, "", crlf(ten), crlf(ten), eleven, crlf(eleven)},
		{"autocrlf, LF on the disk", []string{"core.autocrlf", "true"}, "", ten, ten, eleven, eleven},
		{"autocrlf, the user edited, too", []string{"core.autocrlf", "true"}, "", crlf(ten), crlf("0\n" + ten), crlf(eleven), crlf("0\n" + eleven)},
		{"autocrlf, mixed on the disk", []string{"core.autocrlf", "true"}, "", crlf(ten), "1\n" + crlf(ten[2:]), crlf(eleven), crlf(eleven)},
		{"eol=crlf", nil, "a.txt text eol=crlf\n", crlf(ten), crlf("0\n" + ten), crlf(eleven), crlf("0\n" + eleven)},
		{"CRLF in the repository", nil, "", crlf(ten), crlf("0\n" + ten), crlf(eleven), crlf("0\n" + eleven)},
		{"the agent turned CRLF into LF", nil, "", crlf(ten), crlf(ten), ten, ten},
		{"the agent turned LF into CRLF, the user edited", nil, "", ten, "0\n" + ten, crlf(ten), crlf("0\n" + ten)},
		{"the user turned LF into CRLF, the agent edited", nil, "", ten, crlf(ten), eleven, crlf(eleven)},
		{"mixed in the repository", nil, "", "1\r\n2\n", "1\r\n2\n", "1\r\n2\n3\r\n", "1\r\n2\n3\r\n"},
		{"no newline at the end", nil, "", "1\n2\n3\n4\n5", "0\n1\n2\n3\n4\n5", "1\n2\n3\n4\n6", "0\n1\n2\n3\n4\n6"},
		{"a newline at the end is added", nil, "", "1\n2\n3\n4\n5", "0\n1\n2\n3\n4\n5", "1\n2\n3\n4\n5\n", "0\n1\n2\n3\n4\n5\n"},
		{"an empty file is filled", []string{"core.autocrlf", "true"}, "", "", "", ten, crlf(ten)},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{"a.txt": c.committed}
			if c.attributes != "" {
				files[".gitattributes"] = c.attributes
			}
			b := newRepository(t, nil)
			if c.config != nil {
				gitIn(t, b.repo, "config", c.config[0], c.config[1])
			}
			for name, content := range files {
				b.user(name, content)
			}
			gitIn(t, b.repo, "add", "-A")
			gitIn(t, b.repo, "commit", "-qm", "files")
			b.prepare()
			b.user("a.txt", c.yours)
			b.write("a.txt", c.theirs)
			mustPlace(b)
			b.holds("a.txt", c.want)
		})
	}
}

// TestNewFilesGetTheLineEndingsOfACheckout compares with git itself.
func TestNewFilesGetTheLineEndingsOfACheckout(t *testing.T) {
	t.Parallel()
	contents := map[string]string{
		"lf.txt": ten, "crlf.txt": strings.ReplaceAll(ten, "\n", "\r\n"), "mixed.txt": "1\r\n2\n", "none.txt": "no newline", "empty.txt": "",
		"binary.txt": "\x00\n\n", "control.txt": "\x01\x02\n", "cr.txt": "1\r2\n", "escape.txt": "\x1b[1m\n\x1a",
	}
	attributes := []string{
		"", "text", "-text", "text=auto", "text=auto eol=crlf", "text=auto eol=lf", "eol=crlf", "eol=lf", "text eol=crlf", "text=input", "text=input eol=crlf",
		"crlf", "-crlf", "crlf=input", "binary", "-text eol=crlf",
	}
	for _, config := range [][2]string{{"true", ""}, {"input", "lf"}, {"input", ""}, {"false", "crlf"}, {"false", "lf"}, {"false", ""}} {
		t.Run(fmt.Sprintf("%q", config), func(t *testing.T) {
			b := newRepository(t, nil)
			for i, attribute := range attributes {
				b.user(fmt.Sprintf("%d/.gitattributes", i), "*.txt "+attribute+"\n")
			}
			gitIn(t, b.repo, "add", "-A")
			gitIn(t, b.repo, "commit", "-q", "-m", "attributes")
			gitIn(t, b.repo, "config", "core.autocrlf", config[0])
			if config[1] != "" {
				gitIn(t, b.repo, "config", "core.eol", config[1])
			}
			b.prepare()
			for i := range attributes {
				for name, content := range contents {
					b.write(fmt.Sprintf("%d/%s", i, name), content)
				}
			}
			cs := b.compute()
			mustPlace(b)
			checkout := t.TempDir()
			env := []string{
				"GIT_DIR=" + b.inRepo(".git"), "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + b.ws.GitDir + "/objects",
				"GIT_INDEX_FILE=" + checkout + "/.index", "GIT_WORK_TREE=" + checkout,
			}
			gitWith(t, env, nil, "read-tree", cs.Tree)
			gitWith(t, env, nil, "checkout-index", "-a", "-q")
			for i, attribute := range attributes {
				for base := range contents {
					name := fmt.Sprintf("%d/%s", i, base)
					want, err := os.ReadFile(filepath.Join(checkout, name))
					must(t, err)
					if got, err := os.ReadFile(b.inRepo(name)); err != nil || !bytes.Equal(got, want) {
						t.Errorf("%q %s: %q (%v), git writes %q", attribute, base, got, err, want)
					}
				}
			}
		})
	}
}
