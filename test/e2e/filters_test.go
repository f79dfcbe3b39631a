package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// A repository keeps some files in Git LFS, and others encrypted by a program of the user's.
func TestFilesOfGitLFSAndEncryptedFilesComeBackAsTheRepositoryKeepsThem(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", map[string]string{"plain.txt": "plain\n"})
	for key, value := range map[string]string{
		"lfs.clean": "git-lfs clean -- %f", "lfs.smudge": "git-lfs smudge -- %f", "lfs.process": "git-lfs filter-process", "lfs.required": "true",
		"crypt.clean": "tr a-z n-za-m", "crypt.smudge": "tr a-z n-za-m", "crypt.required": "true",
	} {
		m.git(repo, "config", "filter."+key, value)
	}
	m.write(filepath.Join(repo, ".gitattributes"), "*.bin filter=lfs diff=lfs merge=lfs -text\nsecret/** filter=crypt\n*.bat text eol=crlf\n")
	m.write(filepath.Join(repo, "old.bin"), "old content of the user\n")
	m.write(filepath.Join(repo, "secret/old"), "old letters of the user\n")
	m.git(repo, "add", "-A")
	m.git(repo, "commit", "-qm", "files")
	work := func() string {
		return m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--json", "--", "sh", "-c",
			"w=agent; echo content of the $w > old.bin; cp old.bin new.bin; echo letters of the $w > secret/new; echo more >> secret/old; printf 'echo\\r\\n' > run.txt; mkdir d; printf 'echo\\r\\n' > d/x.bat")).ID
	}
	plain := []string{"content of the agent", "letters of the agent"}
	nowhere := func(texts ...string) {
		t.Helper()
		all := m.git(repo, "cat-file", "--batch", "--batch-all-objects")
		for _, text := range texts {
			if strings.Contains(all, text) {
				t.Errorf("%q stands in an object of the repository", text)
			}
		}
	}

	id := work()
	m.git(repo, "config", "filter.crypt.clean", "/nowhere/crypt")
	o := m.aibox(3, "accept", id, "--accept-risky", "d/x.bat")
	for _, words := range []string{"secret/", "so nothing was delivered", "config --get-regexp '^filter\\.'", "aibox accept " + id + " --files PATH"} {
		if !strings.Contains(o.stderr, words) {
			t.Errorf("the output lacks %q:\n%s", words, o)
		}
	}
	if m.git(repo, "branch", "--list", "aibox*") != "" {
		t.Error("there is a branch")
	}
	if foreseen := m.aibox(3, "accept", id, "--accept-risky", "d/x.bat", "--dry-run"); foreseen.stderr != o.stderr {
		t.Errorf("the dry run reports:\n%s\nand accept:\n%s", foreseen, o)
	}
	m.git(repo, "config", "filter.crypt.clean", "tr a-z n-za-m")
	m.aibox(0, "accept", id, "--accept-risky", "d/x.bat", "--dry-run")
	nowhere("yrggref bs gur ntrag") // which the filter makes
	m.aibox(0, "accept", id, "--files", "old.bin")
	branch := strings.TrimSpace(m.aibox(0, "accept", id, "--accept-risky", "d/x.bat").stdout)
	nowhere(plain...)
	m.git(repo, "lfs", "fsck", branch)
	if got := m.git(repo, "show", branch+":secret/new"); got != "yrggref bs gur ntrag\n" {
		t.Errorf("the branch holds %q", got)
	}
	if got := m.git(repo, "show", branch+":d/x.bat"); got != "echo\n" {
		t.Errorf("the branch holds %q", got)
	}
	m.git(repo, "checkout", "-q", branch)
	if got := m.read(repo, "new.bin") + m.read(repo, "secret/new"); got != "content of the agent\nletters of the agent\n" {
		t.Errorf("the files hold %q", got)
	}
	m.git(repo, "checkout", "-q", "-")

	// Onto the working tree, and from there into a commit of the user's.
	id = work()
	m.aibox(0, "accept", id, "--to", "worktree", "--accept-risky", "d/x.bat")
	if got := m.read(repo, "new.bin") + m.read(repo, "secret/new"); got != "content of the agent\nletters of the agent\n" {
		t.Errorf("the files hold %q", got)
	}
	m.git(repo, "add", "-A")
	m.git(repo, "commit", "-qm", "accepted")
	nowhere(plain...)
	m.git(repo, "lfs", "fsck")
	if got, want := m.git(repo, "rev-parse", "HEAD^{tree}"), m.git(repo, "rev-parse", branch+"^{tree}"); got != want {
		t.Errorf("the commit is not what the branch holds:\n%s", m.git(repo, "diff", "--raw", branch, "HEAD"))
	}
}
