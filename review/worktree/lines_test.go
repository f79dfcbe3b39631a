package worktree_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aibox/review/reviewtest"
)

// TestAttributesChangedByTheAgentAreIgnored delivers a .gitattributes together with files
// that it applies to.
func TestAttributesChangedByTheAgentAreIgnored(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"a.txt": reviewtest.Ten}).Prepare()
	reviewtest.GitIn(t, b.Repo, "config", "filter.evil.smudge", "touch "+b.InRepo("canary"))
	reviewtest.GitIn(t, b.Repo, "config", "filter.evil.clean", "touch "+b.InRepo("canary"))
	reviewtest.GitIn(t, b.Repo, "config", "merge.evil.driver", "touch "+b.InRepo("canary"))
	b.Write(".gitattributes", "* filter=evil merge=evil eol=crlf\n")
	b.Write("a.txt", reviewtest.Ten+"11\n")
	b.Write("new.txt", "new\n")
	b.User("a.txt", "0\n"+reviewtest.Ten)
	mustPlace(b)
	b.Holds("a.txt", "0\n"+reviewtest.Ten+"11\n")
	b.Holds("new.txt", "new\n")
	if _, err := os.Lstat(b.InRepo("canary")); err == nil {
		t.Error("a filter ran")
	}
}

func TestTheUnionMergeAttributeIsHonored(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"log.txt": "one\n", ".gitattributes": "log.txt merge=union\n"}).Prepare()
	b.User("log.txt", "one\nuser\n")
	b.Write("log.txt", "one\nagent\n")
	mustPlace(b)
	b.Holds("log.txt", "one\nuser\nagent\n")
}

func TestLineEndingsOfTheUsersFilesAreKept(t *testing.T) {
	t.Parallel()
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	eleven := reviewtest.Ten + "11\n"
	for _, c := range []struct {
		name                     string
		config                   []string
		attributes               string
		committed, yours, theirs string // theirs is the agent's version of committed
		want                     string
	}{
		{"autocrlf, CRLF on the disk", []string{"core.autocrlf", "true"}, "", crlf(reviewtest.Ten), crlf(reviewtest.Ten), crlf(eleven), crlf(eleven)},
		{"autocrlf, the agent writes LF", []string{"core.autocrlf", "true"}, "", crlf(reviewtest.Ten), crlf(reviewtest.Ten), eleven, crlf(eleven)},
		{"autocrlf, LF on the disk", []string{"core.autocrlf", "true"}, "", reviewtest.Ten, reviewtest.Ten, eleven, eleven},
		{"autocrlf, the user edited, too", []string{"core.autocrlf", "true"}, "", crlf(reviewtest.Ten), crlf("0\n" + reviewtest.Ten), crlf(eleven), crlf("0\n" + eleven)},
		{"autocrlf, mixed on the disk", []string{"core.autocrlf", "true"}, "", crlf(reviewtest.Ten), "1\n" + crlf(reviewtest.Ten[2:]), crlf(eleven), crlf(eleven)},
		{"eol=crlf", nil, "a.txt text eol=crlf\n", crlf(reviewtest.Ten), crlf("0\n" + reviewtest.Ten), crlf(eleven), crlf("0\n" + eleven)},
		{"CRLF in the repository", nil, "", crlf(reviewtest.Ten), crlf("0\n" + reviewtest.Ten), crlf(eleven), crlf("0\n" + eleven)},
		{"the agent turned CRLF into LF", nil, "", crlf(reviewtest.Ten), crlf(reviewtest.Ten), reviewtest.Ten, reviewtest.Ten},
		{"the agent turned LF into CRLF, the user edited", nil, "", reviewtest.Ten, "0\n" + reviewtest.Ten, crlf(reviewtest.Ten), crlf("0\n" + reviewtest.Ten)},
		{"the user turned LF into CRLF, the agent edited", nil, "", reviewtest.Ten, crlf(reviewtest.Ten), eleven, crlf(eleven)},
		{"mixed in the repository", nil, "", "1\r\n2\n", "1\r\n2\n", "1\r\n2\n3\r\n", "1\r\n2\n3\r\n"},
		{"no newline at the end", nil, "", "1\n2\n3\n4\n5", "0\n1\n2\n3\n4\n5", "1\n2\n3\n4\n6", "0\n1\n2\n3\n4\n6"},
		{"a newline at the end is added", nil, "", "1\n2\n3\n4\n5", "0\n1\n2\n3\n4\n5", "1\n2\n3\n4\n5\n", "0\n1\n2\n3\n4\n5\n"},
		{"an empty file is filled", []string{"core.autocrlf", "true"}, "", "", "", reviewtest.Ten, crlf(reviewtest.Ten)},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{"a.txt": c.committed}
			if c.attributes != "" {
				files[".gitattributes"] = c.attributes
			}
			b := reviewtest.NewRepository(t, nil)
			if c.config != nil {
				reviewtest.GitIn(t, b.Repo, "config", c.config[0], c.config[1])
			}
			for name, content := range files {
				b.User(name, content)
			}
			reviewtest.GitIn(t, b.Repo, "add", "-A")
			reviewtest.GitIn(t, b.Repo, "commit", "-qm", "files")
			b.Prepare()
			b.User("a.txt", c.yours)
			b.Write("a.txt", c.theirs)
			mustPlace(b)
			b.Holds("a.txt", c.want)
		})
	}
}

// TestNewFilesGetTheLineEndingsOfACheckout compares with git itself.
func TestNewFilesGetTheLineEndingsOfACheckout(t *testing.T) {
	t.Parallel()
	contents := map[string]string{
		"lf.txt": reviewtest.Ten, "crlf.txt": strings.ReplaceAll(reviewtest.Ten, "\n", "\r\n"), "mixed.txt": "1\r\n2\n", "none.txt": "no newline", "empty.txt": "",
		"binary.txt": "\x00\n\n", "control.txt": "\x01\x02\n", "cr.txt": "1\r2\n", "escape.txt": "\x1b[1m\n\x1a",
	}
	attributes := []string{
		"", "text", "-text", "text=auto", "text=auto eol=crlf", "text=auto eol=lf", "eol=crlf", "eol=lf", "text eol=crlf", "text=input", "text=input eol=crlf",
		"crlf", "-crlf", "crlf=input", "binary", "-text eol=crlf",
	}
	for _, config := range [][2]string{{"true", ""}, {"input", "lf"}, {"input", ""}, {"false", "crlf"}, {"false", "lf"}, {"false", ""}} {
		t.Run(fmt.Sprintf("%q", config), func(t *testing.T) {
			b := reviewtest.NewRepository(t, nil)
			for i, attribute := range attributes {
				b.User(fmt.Sprintf("%d/.gitattributes", i), "*.txt "+attribute+"\n")
			}
			reviewtest.GitIn(t, b.Repo, "add", "-A")
			reviewtest.GitIn(t, b.Repo, "commit", "-q", "-m", "attributes")
			reviewtest.GitIn(t, b.Repo, "config", "core.autocrlf", config[0])
			if config[1] != "" {
				reviewtest.GitIn(t, b.Repo, "config", "core.eol", config[1])
			}
			b.Prepare()
			for i := range attributes {
				for name, content := range contents {
					b.Write(fmt.Sprintf("%d/%s", i, name), content)
				}
			}
			cs := b.Compute()
			mustPlace(b)
			checkout := t.TempDir()
			env := []string{
				"GIT_DIR=" + b.InRepo(".git"), "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + b.Workspace.GitDir + "/objects",
				"GIT_INDEX_FILE=" + checkout + "/.index", "GIT_WORK_TREE=" + checkout,
			}
			reviewtest.GitWith(t, env, nil, "read-tree", cs.Tree)
			reviewtest.GitWith(t, env, nil, "checkout-index", "-a", "-q")
			for i, attribute := range attributes {
				for base := range contents {
					name := fmt.Sprintf("%d/%s", i, base)
					want, err := os.ReadFile(filepath.Join(checkout, name))
					reviewtest.Must(t, err)
					if got, err := os.ReadFile(b.InRepo(name)); err != nil || !bytes.Equal(got, want) {
						t.Errorf("%q %s: %q (%v), git writes %q", attribute, base, got, err, want)
					}
				}
			}
		})
	}
}
