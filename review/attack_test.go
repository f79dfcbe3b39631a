package review_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"aibox/review"
	"aibox/test/hostile"
)

// TestSwappedNamesNeverLeadOutside changes files, folders and symlinks to and
// fro while the change set is computed.
func TestSwappedNamesNeverLeadOutside(t *testing.T) {
	b := newRepository(t, map[string]string{"dir/a.txt": "inside\n", "b.txt": "inside\n"}).prepare()
	outside := t.TempDir()
	write(t, outside+"/a.txt", hostile.Secret)
	b.write("real/a.txt", "inside, too\n")
	must(t, os.Symlink(outside, b.path("toDir")))
	must(t, os.Symlink(outside+"/a.txt", b.path("toFile")))
	must(t, unix.Mkfifo(b.path("pipe"), 0o644))
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		pairs := [][2]string{{"dir", "toDir"}, {"real", "toDir"}, {"b.txt", "toFile"}, {"b.txt", "pipe"}, {"real", "b.txt"}, {"dir", "pipe"}}
		for {
			select {
			case <-stop:
				return
			default:
			}
			p := pairs[rand.IntN(len(pairs))]
			_ = unix.Renameat2(unix.AT_FDCWD, b.path(p[0]), unix.AT_FDCWD, b.path(p[1]), unix.RENAME_EXCHANGE)
		}
	}()
	for range 150 {
		cs, err := review.Compute(t.Context(), b.ws, review.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var patch bytes.Buffer
		must(t, cs.Patch(t.Context(), &patch))
		if strings.Contains(patch.String(), hostile.Secret) {
			t.Fatal("a file from outside is in the patch")
		}
	}
	close(stop)
	<-done
}

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
	_, err := review.Discard(t.Context(), b.ws, review.Options{})
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
