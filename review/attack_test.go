package review_test

import (
	"os"
	"os/exec"
	"testing"

	"aibox/review/recovery"
	"aibox/review/reviewtest"
	"aibox/review/scan"
)

// TestFilesGivenToOtherUsersAreReadAndRemoved does what tar as root in a sandbox
// does. As root it needs no namespace; as a user it takes the subordinate ids.
func TestFilesGivenToOtherUsersAreReadAndRemoved(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"dir/a.txt": "one\n"}).Prepare()
	b.Write("given/inner/file", "theirs\n")
	reviewtest.Must(t, os.Chmod(b.Path("given/inner/file"), 0o600))
	give(t, b.Path("given"), b.Path("dir"))
	cs := b.Compute()
	b.Want(cs, "A\tgiven/inner/file")
	_, err := recovery.PutAway(t.Context(), b.Workspace, recovery.Discarded, scan.Options{})
	reviewtest.Must(t, err)
}

func TestAWorkspaceGivenToAnotherUserIsReadAndRemoved(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"dir/a.txt": "one\n"}).Prepare()
	b.Write("made", "theirs\n")
	reviewtest.Must(t, os.Chmod(b.Workspace.Path, 0o700))
	give(t, b.Workspace.Path)
	cs := b.Compute()
	b.Want(cs, "A\tmade")
	give(t, b.Workspace.Path)
	_, err := recovery.PutAway(t.Context(), b.Workspace, recovery.Discarded, scan.Options{})
	reviewtest.Must(t, err)
}

// give gives files, and folders with everything in them, to another user.
func give(t *testing.T, paths ...string) {
	t.Helper()
	args := append([]string{"chown", "-hR", "1000:1000", "--"}, paths...)
	if os.Getuid() != 0 {
		args = append([]string{"unshare", "--user", "--map-root-user", "--map-auto", "--"}, args...)
	}
	if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
}

func TestALinkedWorkspaceIsNotReviewed(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"a.txt": "one\n"}).Prepare()
	reviewtest.Must(t, os.Rename(b.Workspace.Path, b.Workspace.Path+".moved"))
	reviewtest.Must(t, os.Symlink(t.TempDir(), b.Workspace.Path))
	if cs, err := scan.Workspace(t.Context(), b.Workspace, scan.Options{}); err == nil {
		t.Errorf("it gives %+v", cs)
	}
}
