package review_test

import (
	"os"
	"os/exec"
	"testing"

	"aibox/review"
)

// TestFilesGivenToOtherUsersAreReadAndRemoved does what tar as root in a box
// does. As root it needs no namespace; as a user it takes the subordinate ids.
func TestFilesGivenToOtherUsersAreReadAndRemoved(t *testing.T) {
	b := newRepository(t, map[string]string{"dir/a.txt": "one\n"}).prepare()
	b.write("given/inner/file", "theirs\n")
	must(t, os.Chmod(b.path("given/inner/file"), 0o600))
	give := []string{"chown", "-hR", "1000:1000", "--", b.path("given"), b.path("dir")}
	if os.Getuid() != 0 {
		give = append([]string{"unshare", "--user", "--map-root-user", "--map-auto", "--"}, give...)
	}
	if out, err := exec.CommandContext(t.Context(), give[0], give[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", give, err, out)
	}
	cs := b.compute()
	b.want(cs, "A\tgiven/inner/file")
	_, err := review.PutAway(t.Context(), b.ws, review.Discarded, review.Options{})
	must(t, err)
}

func TestALinkedWorkspaceIsNotReviewed(t *testing.T) {
	b := newRepository(t, map[string]string{"a.txt": "one\n"}).prepare()
	must(t, os.Rename(b.ws.Path, b.ws.Path+".moved"))
	must(t, os.Symlink(t.TempDir(), b.ws.Path))
	if cs, err := review.Compute(t.Context(), b.ws, review.Options{}); err == nil {
		t.Errorf("it gives %+v", cs)
	}
}
