package archive

import (
	"archive/tar"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// git runs programs that the configuration of a bare repository names, in any folder that looks
// like one. A shell's prompt is enough.
func TestACopiedFolderIsNoBareRepository(t *testing.T) {
	commit := strings.Repeat("0a", 20)
	for name, head := range map[string]tar.Header{
		"a branch":              {Typeflag: tar.TypeReg, Name: "top/HEAD", Linkname: "ref: refs/heads/main\n"},
		"a branch without end":  {Typeflag: tar.TypeReg, Name: "top/HEAD", Linkname: "ref:\t\nrefs/x" + strings.Repeat("y", 1000)},
		"a commit":              {Typeflag: tar.TypeReg, Name: "top/HEAD", Linkname: commit},
		"a commit in a folder":  {Typeflag: tar.TypeReg, Name: "top/a/HEAD", Linkname: strings.ToUpper(commit) + " and more"},
		"a link":                {Typeflag: tar.TypeSymlink, Name: "top/HEAD", Linkname: "refs/heads/main"},
		"a head in other cases": {Typeflag: tar.TypeReg, Name: "top/head", Linkname: commit},
	} {
		t.Run(name, func(t *testing.T) {
			_, dest := outside(t)
			result, err := Extract(repositoryWith(t, head), dest, "top", Options{IsGit: isGit, NoHeads: true})
			if err != nil {
				t.Fatal(err)
			}
			if want := []string{head.Name}; !slices.Equal(result.Git.Names, want) {
				t.Errorf("%q are left out", result.Git.Names)
			}
			folder := filepath.Join(dest, filepath.Dir(head.Name))
			git := exec.CommandContext(t.Context(), "git", "rev-parse", "--absolute-git-dir")
			git.Dir, git.Env = folder, append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(folder))
			if out, err := git.Output(); err == nil {
				t.Errorf("git finds a repository: %s", out)
			}
		})
	}
}

func TestOtherFilesNamedHeadAreCopied(t *testing.T) {
	for _, text := range []string{"", "HEAD of the department\n", "ref: to a page\n", strings.Repeat("x", 10_000), "0a0a"} {
		_, dest := outside(t)
		head := tar.Header{Typeflag: tar.TypeReg, Name: "top/HEAD", Linkname: text}
		if _, err := Extract(repositoryWith(t, head), dest, "top", Options{IsGit: isGit, NoHeads: true}); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dest, "top/HEAD")); err != nil || string(got) != text {
			t.Errorf("%q is copied as %q, %v", text, got, err)
		}
	}
}

func TestHeadsAreCopiedOnRequest(t *testing.T) {
	_, dest := outside(t)
	head := tar.Header{Typeflag: tar.TypeReg, Name: "top/HEAD", Linkname: "ref: refs/heads/main\n"}
	result, err := Extract(repositoryWith(t, head), dest, "top", Options{Git: true})
	if _, statErr := os.Stat(filepath.Join(dest, "top/HEAD")); err != nil || statErr != nil || result.Git.Count != 0 {
		t.Errorf("%+v, %v, %v", result, err, statErr)
	}
}

// repositoryWith makes an archive of a bare repository with a file HEAD, whose content is the
// header's target.
func repositoryWith(t *testing.T, head tar.Header) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	at := filepath.Dir(head.Name)
	write := func(h tar.Header, text string) {
		h.Size, h.Mode = int64(len(text)), 0o755
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"objects", "refs/heads"} {
		write(tar.Header{Typeflag: tar.TypeDir, Name: at + "/" + dir}, "")
	}
	write(tar.Header{Typeflag: tar.TypeReg, Name: at + "/config"}, "[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = touch /tmp/x\n")
	if head.Typeflag == tar.TypeReg {
		text := head.Linkname
		head.Linkname = ""
		write(head, text)
	} else {
		write(head, "")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &out
}
