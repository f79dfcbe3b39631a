package workspace

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"aibox/internal/git"
)

// An agent can make a file that takes no space as large as it likes.
func TestAnUnfilteredFileLargerThanTheCopyMayBeIsNotCopied(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	if err := os.WriteFile(from+"/a", []byte("12345678"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := unix.Open(to, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(root)
	u := newUnfiltered(&Workspace{Path: from}, 15)
	defer u.close()
	id := git.SHA1.Blob(8)
	_, _ = id.Write([]byte("12345678"))
	u.add(git.SHA1, &File{Path: "a", Raw: string(id.Sum(nil))})
	entry := git.Entry{Path: "a", Mode: git.File}
	if done, err := u.extract(root, entry); err != nil || !done {
		t.Fatalf("a file within the limit: %v, %v", done, err)
	}
	if err := os.Remove(to + "/a"); err != nil {
		t.Fatal(err)
	}
	if done, err := u.extract(root, entry); err != nil || done {
		t.Errorf("a file beyond the limit: %v, %v", done, err)
	}
	if _, err := os.Lstat(to + "/a"); err == nil {
		t.Error("it was copied")
	}
}
