package scan_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/git"
	"aibox/review/printer"
	"aibox/review/reviewtest"
	"aibox/review/scan"
	"aibox/test/hostile"
)

// swapped are pairs of names that are swapped while the change set is computed: a file or a
// folder, and something that leads outside or blocks. No name is below another one: the
// swapper would follow the symlink there and move outside files.
var swapped = [][2]string{
	{"dir", "toDir"},
	{"real", "toDir"},
	{"b.txt", "toFile"},
	{"b.txt", "pipe"},
	{"real", "b.txt"},
	{"dir", "pipe"},
	{"large", "toLarge"},
	{"still/deep", "still/up"},
	{"still/c.txt", "still/toFile"},
}

// swapperFolder makes a run of this test's binary a swapper in that folder.
const swapperFolder = "AIBOX_TEST_SWAPPER"

// TestSwapper is not a test but the other process of the following ones.
func TestSwapper(*testing.T) {
	dir := os.Getenv(swapperFolder)
	if dir == "" {
		return
	}
	stop := make(chan struct{})
	go func() {
		_, _ = io.ReadAll(os.Stdin)
		close(stop)
	}()
	for swaps := 0; ; {
		select {
		case <-stop:
			fmt.Println("swaps", swaps)
			return
		default:
		}
		p := swapped[rand.IntN(len(swapped))]
		if unix.Renameat2(unix.AT_FDCWD, dir+"/"+p[0], unix.AT_FDCWD, dir+"/"+p[1], unix.RENAME_EXCHANGE) == nil {
			swaps++
		}
	}
}

// whileSwapped runs f while another process swaps names in the workspace, and
// returns how often it did.
func whileSwapped(b *reviewtest.Fixture, f func()) (swaps int) {
	t := b.T
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSwapper$")
	cmd.Env = append(os.Environ(), swapperFolder+"="+b.Workspace.Path)
	stdin, err := cmd.StdinPipe()
	reviewtest.Must(t, err)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	reviewtest.Must(t, cmd.Start())
	defer func() {
		stdin.Close()
		reviewtest.Must(t, cmd.Wait())
		if _, err := fmt.Sscanf(out.String(), "swaps %d", &swaps); err != nil {
			t.Errorf("the swapper says %q", out.String())
		}
	}()
	f()
	return 0
}

// newRace is a workspace with everything that is swapped, and a folder outside.
func newRace(t *testing.T) *reviewtest.Fixture {
	t.Helper()
	b := reviewtest.NewRepository(t, map[string]string{"dir/a.txt": "inside\n", "b.txt": "inside\n"}).Prepare()
	outside := t.TempDir()
	for _, name := range []string{"a.txt", "b.txt", "only-outside.txt", "deep/only-outside.txt"} {
		reviewtest.Write(t, outside+"/"+name, hostile.Secret)
	}
	b.Write("real/a.txt", "inside, too\n")
	b.Write("still/deep/b.txt", "deep inside\n")
	b.Write("still/c.txt", "inside\n")
	reviewtest.Must(t, os.Symlink(outside+"/a.txt", b.Path("still/toFile")))
	reviewtest.Must(t, os.Symlink(outside, b.Path("toDir")))
	reviewtest.Must(t, os.Symlink(outside+"/a.txt", b.Path("toFile")))
	near, err := filepath.Rel(b.Path("still"), outside) // crosses no mount
	reviewtest.Must(t, err)
	reviewtest.Must(t, os.Symlink(near, b.Path("still/up")))
	reviewtest.Must(t, unix.Mkfifo(b.Path("pipe"), 0o644))
	return b
}

// TestNoByteFromOutsideIsReadWhileNamesAreSwapped checks and reads 10,000 times or more.
func TestNoByteFromOutsideIsReadWhileNamesAreSwapped(t *testing.T) {
	b := newRace(t)
	secret := git.SHA1.BlobID([]byte(hostile.Secret))
	kinds := map[string]int{}
	swaps := whileSwapped(b, func() {
		// On a busy machine, the other process may do little for a while.
		for deadline := time.Now().Add(2 * time.Minute); len(kinds) < 3 && time.Now().Before(deadline); {
			reviewtest.Must(t, scan.Reread(t.Context(), b.Workspace, 10_000, func(found []scan.Reading) {
				for _, r := range found {
					if strings.Contains(r.Path, "only-outside") || r.ID == secret {
						t.Fatalf("%q is read from outside", r.Path)
					}
					kinds[r.Refused]++
				}
			}))
		}
	})
	t.Logf("%d swaps, %v", swaps, kinds)
	if len(kinds) < 3 {
		t.Errorf("hardly a race: %v", kinds)
	}
}

// TestAChangeSetIsCompleteWhileNamesAreSwapped computes and prints, with a file that is
// too long to be read at once.
func TestAChangeSetIsCompleteWhileNamesAreSwapped(t *testing.T) {
	b := newRace(t)
	outside := t.TempDir() + "/large"
	reviewtest.Write(t, outside, strings.Repeat(hostile.Secret+"\n", 60_000))
	b.Write("large", strings.Repeat("inside\n", 300_000))
	reviewtest.Must(t, os.Symlink(outside, b.Path("toLarge")))
	whileSwapped(b, func() {
		for range 15 {
			cs := b.Compute()
			var out bytes.Buffer
			reviewtest.Must(t, printer.Patch(t.Context(), cs, &out))
			if strings.Contains(out.String(), hostile.Secret) || strings.Contains(out.String(), "only-outside") {
				t.Fatal("a file from outside is in the patch")
			}
		}
	})
}
