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
	give := []string{"chown", "-hR", "1000:1000", "--", b.Path("given"), b.Path("dir")}
	if os.Getuid() != 0 {
		give = append([]string{"unshare", "--user", "--map-root-user", "--map-auto", "--"}, give...)
	}
	if out, err := exec.CommandContext(t.Context(), give[0], give[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", give, err, out)
	}
	cs := b.Compute()
	b.Want(cs, "A\tgiven/inner/file")
	_, err := recovery.PutAway(t.Context(), b.Workspace, recovery.Discarded, scan.Options{})
	reviewtest.Must(t, err)
}

func TestALinkedWorkspaceIsNotReviewed(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"a.txt": "one\n"}).Prepare()
	reviewtest.Must(t, os.Rename(b.Workspace.Path, b.Workspace.Path+".moved"))
	reviewtest.Must(t, os.Symlink(t.TempDir(), b.Workspace.Path))
	if cs, err := scan.Workspace(t.Context(), b.Workspace, scan.Options{}); err == nil {
		t.Errorf("it gives %+v", cs)
	}
}
