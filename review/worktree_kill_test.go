package review_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"aibox/internal/fault"
	"aibox/review"
	"aibox/workspace"
)

// everyStep is a delivery in which every kind of step occurs, with edits of the user's
// that have to survive whatever happens.
func everyStep(t *testing.T) (*bench, *review.ChangeSet) {
	b := newRepository(t, map[string]string{
		"edit": ten, "both": ten, "gone/deep": "g\n", "swap": "a file\n", "folder/one": "1\n", "move": ten + "m\n", "untouched": "u\n",
	}).prepare()
	b.write("edit", ten+"11\n")
	b.write("both", ten+"11\n")
	b.user("both", "0\n"+ten)
	must(t, os.RemoveAll(b.path("gone")))
	must(t, os.Remove(b.path("swap")))
	b.write("swap/in", "in a folder\n")
	must(t, os.RemoveAll(b.path("folder")))
	must(t, os.Symlink("edit", b.path("folder")))
	must(t, os.Rename(b.path("move"), b.path("there")))
	b.write("new/deep/er", "new\n")
	must(t, os.Chmod(b.inRepo("gone"), 0o750))
	must(t, os.MkdirAll(b.inRepo("folder/empty/deep"), 0o750)) // makes way for the symlink
	return b, b.compute()
}

// steps are the points of a delivery of everyStep, in order.
func steps(t *testing.T, plain bool) []string {
	t.Helper()
	b, cs := everyStep(t)
	var points []string
	_, err := review.ApplyToWorktree(t.Context(), b.ws, cs.BaseTree, cs.Tree, func(point string) error {
		points = append(points, point)
		return without(plain, point)
	})
	must(t, err)
	tidy(b)
	if diff := cmp.Diff("0\n"+ten+"11\n", strings.TrimPrefix(contents(t, b.repo)["both"], "false ")); diff != "" {
		t.Errorf("both: %s", diff)
	}
	return points
}

// without plays a disk whose rename knows no conditions, when plain is set.
func without(plain bool, point string) error {
	if plain && (strings.HasPrefix(point, "exchange ") || strings.HasPrefix(point, "place ")) {
		return unix.EINVAL
	}
	return nil
}

var errBroken = errors.New("broken on purpose")

func TestAFailureAtAnyStepPutsEverythingBack(t *testing.T) {
	t.Parallel()
	for _, plain := range []bool{false, true} {
		points := steps(t, plain)
		if len(points) < 20 {
			t.Fatalf("only %q", points)
		}
		b, cs := everyStep(t)
		before := contents(t, b.repo)
		for _, stop := range points[:slices.Index(points, "placed")] {
			_, err := review.ApplyToWorktree(t.Context(), b.ws, cs.BaseTree, cs.Tree, func(point string) error {
				if point == stop {
					return errBroken
				}
				return without(plain, point)
			})
			if !errors.Is(err, errBroken) {
				t.Fatalf("%s: %v", stop, err)
			}
			if diff := cmp.Diff(before, contents(t, b.repo)); diff != "" {
				t.Fatalf("%s: not put back:\n%s", stop, diff)
			}
			tidy(b)
			if saved, err := review.SavedIn(t.Context(), b.ws.GitDir); err != nil || len(saved) > 0 {
				t.Fatalf("%s: saved are %+v, %v", stop, saved, err)
			}
		}
		mustPlace(b)
	}
}

// killed is what a process needs that delivers until it is killed.
type killed struct {
	Workspace     *workspace.Workspace
	Before, After string
	Point         string
	Plain         bool
}

// TestAKilledDeliveryIsTakenBack kills a process (SIGKILL) at each step of its
// delivery and lets the next command mend.
func TestAKilledDeliveryIsTakenBack(t *testing.T) {
	t.Parallel()
	if text := os.Getenv("AIBOX_TEST_KILLED"); text != "" {
		var k killed
		must(t, json.Unmarshal([]byte(text), &k))
		_, err := review.ApplyToWorktree(t.Context(), k.Workspace, k.Before, k.After, func(point string) error {
			if point == k.Point {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
			return without(k.Plain, point)
		})
		t.Fatalf("it goes on: %v", err)
	}
	for _, plain := range []bool{false, true} {
		points := steps(t, plain)
		done := slices.Index(points, "placed")
		b, cs := everyStep(t)
		before := contents(t, b.repo)
		for i, point := range points {
			kill(b, killed{b.ws, cs.BaseTree, cs.Tree, point, plain})
			if _, err := os.Stat(filepath.Join(b.ws.GitDir, "aibox", "worktree.json")); err != nil {
				t.Fatalf("%s: no journal: %v", point, err)
			}
			mended, err := review.MendWorktrees(filepath.Dir(b.ws.GitDir))
			must(t, err)
			if len(mended) != 1 || mended[0].Placed != (i >= done) || len(mended[0].Left) > 0 || mended[0].Repo != b.repo || mended[0].Session != "k3f9" {
				t.Errorf("%s: mended: %+v", point, mended)
			}
			tidy(b)
			if again, err := review.MendWorktrees(filepath.Dir(b.ws.GitDir)); err != nil || len(again) > 0 {
				t.Errorf("%s: mending again gives %+v, %v", point, again, err)
			}
			if i < done {
				if diff := cmp.Diff(before, contents(t, b.repo)); diff != "" {
					t.Fatalf("%s: not taken back:\n%s", point, diff)
				}
				continue
			}
			if paths := mustPlace(b); len(paths) > 0 {
				t.Errorf("%s: it was not all there: %q", point, paths)
			}
			b.holds("both", "0\n"+ten+"11\n")
			b.holds("new/deep/er", "new\n")
			b, cs = everyStep(t)
		}
	}
}

// kill runs a delivery in a process of its own, which is killed at a point.
func kill(b *bench, k killed) {
	b.t.Helper()
	text, err := json.Marshal(k)
	must(b.t, err)
	cmd := exec.CommandContext(b.t.Context(), os.Args[0], "-test.run=^TestAKilledDeliveryIsTakenBack$")
	cmd.Env = append(os.Environ(), "AIBOX_TEST_KILLED="+string(text))
	out, err := cmd.CombinedOutput()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		b.t.Fatalf("it was not killed: %v\n%s", err, out)
	}
}

// TestMendingLeavesWhatTheUserDidSince edits files after the crash: those are left as
// they are, and the state from before is under the ref that is named.
func TestMendingLeavesWhatTheUserDidSince(t *testing.T) {
	points := steps(t, false)
	b, cs := everyStep(t)
	kill(b, killed{b.ws, cs.BaseTree, cs.Tree, points[slices.Index(points, "placed")-1], false})
	b.user("edit", "edited since\n")
	must(t, os.WriteFile(b.inRepo("replaced"), []byte("replaced since\n"), 0o644))
	must(t, os.Rename(b.inRepo("replaced"), b.inRepo("both")))
	b.user("new/mine", "mine\n")
	b.user("gone/deep", "here again\n")
	mended, err := review.MendWorktrees(filepath.Dir(b.ws.GitDir))
	must(t, err)
	if len(mended) != 1 || mended[0].Placed {
		t.Fatalf("mended: %+v", mended)
	}
	slices.Sort(mended[0].Left)
	if diff := cmp.Diff([]review.Path{"both", "edit", "gone/deep"}, mended[0].Left); diff != "" {
		t.Errorf("left: %s", diff)
	}
	b.holds("edit", "edited since\n")
	b.holds("both", "replaced since\n")
	b.holds("new/mine", "mine\n")
	b.holds("gone/deep", "here again\n")
	b.holds("swap", "a file\n")
	b.holds("folder/one", "1\n")
	b.holds("move", ten+"m\n")
	tidy(b)
	if got := gitIn(t, b.ws.GitDir, "show", mended[0].Ref+":both") + "\n"; got != "0\n"+ten {
		t.Errorf("saved: %q", got)
	}
}

func TestADeliveryThatGoesOnIsNotMended(t *testing.T) {
	b, cs := everyStep(t)
	_, err := review.ApplyToWorktree(t.Context(), b.ws, cs.BaseTree, cs.Tree, func(point string) error {
		if point != "put 0" {
			return nil
		}
		mended, err := review.MendWorktrees(filepath.Dir(b.ws.GitDir))
		if len(mended) > 0 {
			err = fmt.Errorf("mended: %+v", mended)
		}
		return err
	})
	must(t, err)
	b.holds("both", "0\n"+ten+"11\n")
}

func TestTheNextDeliveryMendsFirst(t *testing.T) {
	b, cs := everyStep(t)
	kill(b, killed{b.ws, cs.BaseTree, cs.Tree, "put 1", false})
	mustPlace(b)
	b.holds("both", "0\n"+ten+"11\n")
}

// TestAChangeMeanwhileIsAConflictThatKeepsIt changes a target at each step of a
// delivery, in every way in which editors write.
func TestAChangeMeanwhileIsAConflictThatKeepsIt(t *testing.T) {
	t.Parallel()
	ways := map[string]func(b *bench, name string){
		"in place": func(b *bench, name string) { b.user(name, "meanwhile\n") },
		"by rename": func(b *bench, name string) {
			b.user(".new", "meanwhile\n")
			must(b.t, os.Rename(b.inRepo(".new"), b.inRepo(name)))
		},
	}
	b, cs := everyStep(t)
	for way, change := range ways {
		for _, name := range []string{"edit", "both", "gone/deep", "move", "there", "swap"} {
			for _, when := range []string{"journal", "staged 0", "moving"} {
				before := contents(t, b.repo)
				others := func() map[string]string { // inodes and times of all other files
					all := picture(t, b.repo)
					maps.DeleteFunc(all, func(path, _ string) bool {
						info, err := os.Lstat(path)
						return err == nil && info.IsDir() || path == b.inRepo(name)
					})
					return all
				}
				untouched := others()
				_, err := review.ApplyToWorktree(t.Context(), b.ws, cs.BaseTree, cs.Tree, func(point string) error {
					if point == when {
						change(b, name)
					}
					return nil
				})
				if diff := cmp.Diff(untouched, others()); diff != "" && when != "moving" {
					t.Errorf("%s %s %s: others were touched:\n%s", way, name, when, diff)
				}
				if fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), name+": it has just been changed") {
					t.Errorf("%s %s %s: %v", way, name, when, err)
				}
				held := before[name]
				before[name] = "false meanwhile\n"
				if diff := cmp.Diff(before, contents(t, b.repo)); diff != "" {
					t.Errorf("%s %s %s: not put back:\n%s", way, name, when, diff)
				}
				tidy(b)
				if held == "" {
					must(t, os.Remove(b.inRepo(name)))
				} else {
					b.user(name, strings.TrimPrefix(held, "false "))
				}
			}
		}
	}
}

// TestAProgramThatWritesLateIsNotOverruled has the file open from before, as some
// editors and every appending program do.
func TestAProgramThatWritesLateIsNotOverruled(t *testing.T) {
	b, cs := everyStep(t)
	open, err := os.OpenFile(b.inRepo("edit"), os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	defer open.Close()
	points := steps(t, false)
	last := points[slices.Index(points, "placed")-1]
	_, err = review.ApplyToWorktree(t.Context(), b.ws, cs.BaseTree, cs.Tree, func(point string) error {
		if point == last {
			_, err := open.WriteString("late\n")
			return err
		}
		return nil
	})
	if fault.KindOf(err) != fault.Conflict {
		t.Errorf("error: %v", err)
	}
	b.holds("edit", ten+"late\n")
	tidy(b)
}
