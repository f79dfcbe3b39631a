package prompts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aibox/internal/fault"

	"golang.org/x/sys/unix"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func names(all []Prompt) string {
	var out []string
	for _, p := range all {
		out = append(out, p.Name)
	}
	return strings.Join(out, " ")
}

func TestUserPromptShadowsTheRepositorys(t *testing.T) {
	user, repo := t.TempDir(), t.TempDir()
	write(t, filepath.Join(user, "careful.md"), "# Be careful\n")
	write(t, filepath.Join(repo, RepositoryFolder, "careful.md"), "\n## Do as you like\n")
	write(t, filepath.Join(repo, RepositoryFolder, "style.md"), "Small functions.\n")
	library := Open(user, repo)
	all, err := library.All()
	if err != nil || names(all) != "careful repo:careful style" {
		t.Fatalf("All() = %q, %v", names(all), err)
	}
	for name, want := range map[string]string{"careful": "Be careful", "repo:careful": "Do as you like", "style": "Small functions.", "repo:style": "Small functions."} {
		if p, err := library.Find(name); err != nil || p.Title() != want {
			t.Errorf("Find(%q) = %q, %v; want %q", name, p.Title(), err, want)
		}
	}
}

func TestMissingLibraryIsEmpty(t *testing.T) {
	all, err := Open(filepath.Join(t.TempDir(), "none"), t.TempDir()).All()
	if len(all) != 0 || err != nil {
		t.Errorf("All() = %v, %v", all, err)
	}
}

func TestUnknownPromptIsAUsageFaultThatListsPrompts(t *testing.T) {
	user := t.TempDir()
	write(t, filepath.Join(user, "careful.md"), "x")
	for name, want := range map[string]string{"carefu": "available: careful", "../careful": "available: careful"} {
		_, err := Open(user, "").Find(name)
		if hints := strings.Join(fault.Hints(err), " "); fault.KindOf(err) != fault.Usage || !strings.Contains(hints, want) {
			t.Errorf("Find(%q) = %v, hints %q", name, err, hints)
		}
	}
}

func TestRepositorySymlinksAndFIFOsAreNotRead(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret.md")
	write(t, secret, "canary")
	for name, place := range map[string]func(t *testing.T, repo string){
		"file": func(t *testing.T, repo string) {
			write(t, filepath.Join(repo, RepositoryFolder, "keep.md"), "x")
			if err := os.Symlink(secret, filepath.Join(repo, RepositoryFolder, "p.md")); err != nil {
				t.Fatal(err)
			}
		},
		"folder": func(t *testing.T, repo string) {
			write(t, filepath.Join(filepath.Dir(secret), "prompts", "p.md"), "canary")
			if err := os.Symlink(filepath.Dir(secret), filepath.Join(repo, ".aibox")); err != nil {
				t.Fatal(err)
			}
		},
		"fifo": func(t *testing.T, repo string) {
			write(t, filepath.Join(repo, RepositoryFolder, "keep.md"), "x")
			if err := unix.Mkfifo(filepath.Join(repo, RepositoryFolder, "p.md"), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			repo := t.TempDir()
			place(t, repo)
			all, err := Open(t.TempDir(), repo).All()
			if err == nil {
				t.Error("nothing was said about it")
			}
			for _, p := range all {
				if p.Name == "p" || strings.Contains(p.Text, "canary") {
					t.Errorf("%s was read", p.Path)
				}
			}
		})
	}
}

func TestBinaryAndLongFilesAreSkippedAndReported(t *testing.T) {
	user := t.TempDir()
	write(t, filepath.Join(user, "good.md"), "x")
	write(t, filepath.Join(user, "binary.md"), "a\x00b")
	write(t, filepath.Join(user, "latin.md"), "caf\xe9")
	write(t, filepath.Join(user, "long.md"), strings.Repeat("x", Limit+1))
	write(t, filepath.Join(user, "Not A Name.md"), "x")
	all, err := Open(user, "").All()
	if names(all) != "good" || err == nil {
		t.Fatalf("All() = %q, %v", names(all), err)
	}
	for _, file := range []string{"binary.md", "latin.md", "long.md"} {
		if !strings.Contains(err.Error(), file) {
			t.Errorf("%s is not named in %q", file, err)
		}
	}
}

func TestNameThatIsAPathIsRejected(t *testing.T) {
	for _, name := range []string{"", "../x", "a/b", "A", ".x", strings.Repeat("x", 65)} {
		if path, err := Open(t.TempDir(), "").Path(name); fault.KindOf(err) != fault.Usage {
			t.Errorf("Path(%q) = %q, %v", name, path, err)
		}
	}
}
