package worktree_test

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
	"aibox/review/recovery"
	"aibox/review/reviewtest"
	"aibox/review/worktree"
	"aibox/workspace"
)

// everyStep is a delivery in which every kind of step occurs, with edits of the user that
// must survive in any case.
func everyStep(t *testing.T) (*reviewtest.Fixture, *review.ChangeSet) {
	b := reviewtest.NewRepository(t, map[string]string{
		"edit": reviewtest.Ten, "both": reviewtest.Ten, "gone/deep": "g\n", "swap": "a file\n", "folder/one": "1\n", "move": reviewtest.Ten + "m\n", "untouched": "u\n",
	}).Prepare()
	b.Write("edit", reviewtest.Ten+"11\n")
	b.Write("both", reviewtest.Ten+"11\n")
	b.User("both", "0\n"+reviewtest.Ten)
	reviewtest.Must(t, os.RemoveAll(b.Path("gone")))
	reviewtest.Must(t, os.Remove(b.Path("swap")))
	b.Write("swap/in", "in a folder\n")
	reviewtest.Must(t, os.RemoveAll(b.Path("folder")))
	reviewtest.Must(t, os.Symlink("edit", b.Path("folder")))
	reviewtest.Must(t, os.Rename(b.Path("move"), b.Path("there")))
	b.Write("new/deep/er", "new\n")
	reviewtest.Must(t, os.Chmod(b.InRepo("gone"), 0o750))
	reviewtest.Must(t, os.MkdirAll(b.InRepo("folder/empty/deep"), 0o750)) // replaced by the symlink
	return b, b.Compute()
}

// steps are the points of a delivery of everyStep, in order.
func steps(t *testing.T, plain bool) []string {
	t.Helper()
	b, cs := everyStep(t)
	var points []string
	_, err := worktree.ApplyToWorktree(t.Context(), b.Workspace, cs.BaseTree, cs.Tree, func(point string) error {
		points = append(points, point)
		return without(plain, point)
	})
	reviewtest.Must(t, err)
	leavesNothing(b)
	if diff := cmp.Diff("0\n"+reviewtest.Ten+"11\n", strings.TrimPrefix(reviewtest.Contents(t, b.Repo)["both"], "false ")); diff != "" {
		t.Errorf("both: %s", diff)
	}
	return points
}

// without simulates a disk without conditional renames, if plain is set.
func without(plain bool, point string) error {
	if plain && (strings.HasPrefix(point, "exchange ") || strings.HasPrefix(point, "place ")) {
		return unix.EINVAL
	}
	return nil
}

var errBroken = errors.New("broken on purpose")

func TestAFailureAtAnyStepIsRolledBack(t *testing.T) {
	t.Parallel()
	for _, plain := range []bool{false, true} {
		points := steps(t, plain)
		if len(points) < 20 {
			t.Fatalf("only %q", points)
		}
		b, cs := everyStep(t)
		before := reviewtest.Contents(t, b.Repo)
		for _, stop := range points[:slices.Index(points, "placed")] {
			_, err := worktree.ApplyToWorktree(t.Context(), b.Workspace, cs.BaseTree, cs.Tree, func(point string) error {
				if point == stop {
					return errBroken
				}
				return without(plain, point)
			})
			if !errors.Is(err, errBroken) {
				t.Fatalf("%s: %v", stop, err)
			}
			if diff := cmp.Diff(before, reviewtest.Contents(t, b.Repo)); diff != "" {
				t.Fatalf("%s: not put back:\n%s", stop, diff)
			}
			leavesNothing(b)
			if saved, err := recovery.PointsIn(t.Context(), b.Workspace.GitDir); err != nil || len(saved) > 0 {
				t.Fatalf("%s: saved are %+v, %v", stop, saved, err)
			}
		}
		mustPlace(b)
	}
}

// killed is the input of a process that delivers until it is killed.
type killed struct {
	Workspace     *workspace.Workspace
	Before, After string
	Point         string
	Plain         bool
}

// TestAKilledDeliveryIsRolledBack kills a process (SIGKILL) at each step of its delivery
// and lets the next command repair it.
func TestAKilledDeliveryIsRolledBack(t *testing.T) {
	t.Parallel()
	if text := os.Getenv("AIBOX_TEST_KILLED"); text != "" {
		var k killed
		reviewtest.Must(t, json.Unmarshal([]byte(text), &k))
		_, err := worktree.ApplyToWorktree(t.Context(), k.Workspace, k.Before, k.After, func(point string) error {
			if point == k.Point {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
			return without(k.Plain, point)
		})
		t.Fatalf("it continues: %v", err)
	}
	for _, plain := range []bool{false, true} {
		points := steps(t, plain)
		done := slices.Index(points, "placed")
		b, cs := everyStep(t)
		before := reviewtest.Contents(t, b.Repo)
		for i, point := range points {
			kill(b, killed{b.Workspace, cs.BaseTree, cs.Tree, point, plain})
			if _, err := os.Stat(filepath.Join(b.Workspace.GitDir, "aibox", "worktree.json")); err != nil {
				t.Fatalf("%s: no journal: %v", point, err)
			}
			mended, err := worktree.RecoverAll(filepath.Dir(b.Workspace.GitDir))
			reviewtest.Must(t, err)
			if len(mended) != 1 || mended[0].Placed != (i >= done) || len(mended[0].Left) > 0 || mended[0].Repo != b.Repo || mended[0].Session != "k3f9" {
				t.Errorf("%s: mended: %+v", point, mended)
			}
			leavesNothing(b)
			if again, err := worktree.RecoverAll(filepath.Dir(b.Workspace.GitDir)); err != nil || len(again) > 0 {
				t.Errorf("%s: mending again gives %+v, %v", point, again, err)
			}
			if i < done {
				if diff := cmp.Diff(before, reviewtest.Contents(t, b.Repo)); diff != "" {
					t.Fatalf("%s: not rolled back:\n%s", point, diff)
				}
				continue
			}
			if paths := mustPlace(b); len(paths) > 0 {
				t.Errorf("%s: it was not all there: %q", point, paths)
			}
			b.Holds("both", "0\n"+reviewtest.Ten+"11\n")
			b.Holds("new/deep/er", "new\n")
			b, cs = everyStep(t)
		}
	}
}

// kill runs a delivery in a separate process, which is killed at a point.
func kill(b *reviewtest.Fixture, k killed) {
	b.T.Helper()
	text, err := json.Marshal(k)
	reviewtest.Must(b.T, err)
	cmd := exec.CommandContext(b.T.Context(), os.Args[0], "-test.run=^TestAKilledDeliveryIsRolledBack$")
	cmd.Env = append(os.Environ(), "AIBOX_TEST_KILLED="+string(text))
	out, err := cmd.CombinedOutput()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		b.T.Fatalf("it was not killed: %v\n%s", err, out)
	}
}

// TestRepairKeepsLaterUserChanges edits files after the crash: those stay unchanged, and
// the named ref holds their earlier state.
func TestRepairKeepsLaterUserChanges(t *testing.T) {
	points := steps(t, false)
	b, cs := everyStep(t)
	kill(b, killed{b.Workspace, cs.BaseTree, cs.Tree, points[slices.Index(points, "placed")-1], false})
	b.User("edit", "edited since\n")
	reviewtest.Must(t, os.WriteFile(b.InRepo("replaced"), []byte("replaced since\n"), 0o644))
	reviewtest.Must(t, os.Rename(b.InRepo("replaced"), b.InRepo("both")))
	b.User("new/mine", "mine\n")
	b.User("gone/deep", "here again\n")
	mended, err := worktree.RecoverAll(filepath.Dir(b.Workspace.GitDir))
	reviewtest.Must(t, err)
	if len(mended) != 1 || mended[0].Placed {
		t.Fatalf("mended: %+v", mended)
	}
	slices.Sort(mended[0].Left)
	if diff := cmp.Diff([]review.Path{"both", "edit", "gone/deep"}, mended[0].Left); diff != "" {
		t.Errorf("left: %s", diff)
	}
	b.Holds("edit", "edited since\n")
	b.Holds("both", "replaced since\n")
	b.Holds("new/mine", "mine\n")
	b.Holds("gone/deep", "here again\n")
	b.Holds("swap", "a file\n")
	b.Holds("folder/one", "1\n")
	b.Holds("move", reviewtest.Ten+"m\n")
	leavesNothing(b)
	if got := reviewtest.GitIn(t, b.Workspace.GitDir, "show", mended[0].Ref+":both") + "\n"; got != "0\n"+reviewtest.Ten {
		t.Errorf("saved: %q", got)
	}
}

// TestACopiedWorkingTreeIsNotReportedAsRolledBack has a copy in place of the working tree, as from a
// backup: nothing shows how far the delivery came.
func TestACopiedWorkingTreeIsNotReportedAsRolledBack(t *testing.T) {
	b, cs := everyStep(t)
	kill(b, killed{b.Workspace, cs.BaseTree, cs.Tree, "put 1", false})
	reviewtest.Must(t, exec.CommandContext(t.Context(), "cp", "-a", b.Workspace.Repo, b.Workspace.Repo+".copy").Run())
	reviewtest.Must(t, os.Rename(b.Workspace.Repo, b.Workspace.Repo+".former"))
	reviewtest.Must(t, os.Rename(b.Workspace.Repo+".copy", b.Workspace.Repo))
	mended, err := worktree.RecoverAll(filepath.Dir(b.Workspace.GitDir))
	reviewtest.Must(t, err)
	if len(mended) != 1 || !slices.Contains(mended[0].Left, "gone/deep") || !slices.Contains(mended[0].Left, "both") {
		t.Errorf("mended: %+v", mended)
	}
	leavesNothing(b)
}

func TestARunningDeliveryIsNotRepaired(t *testing.T) {
	b, cs := everyStep(t)
	_, err := worktree.ApplyToWorktree(t.Context(), b.Workspace, cs.BaseTree, cs.Tree, func(point string) error {
		if point != "put 0" {
			return nil
		}
		mended, err := worktree.RecoverAll(filepath.Dir(b.Workspace.GitDir))
		if len(mended) > 0 {
			err = fmt.Errorf("mended: %+v", mended)
		}
		return err
	})
	reviewtest.Must(t, err)
	b.Holds("both", "0\n"+reviewtest.Ten+"11\n")
}

func TestTheNextDeliveryRepairsFirst(t *testing.T) {
	b, cs := everyStep(t)
	kill(b, killed{b.Workspace, cs.BaseTree, cs.Tree, "put 1", false})
	mustPlace(b)
	b.Holds("both", "0\n"+reviewtest.Ten+"11\n")
}

// TestAConcurrentChangeIsAConflictAndIsKept changes a target at each step of a
// delivery, in every way in which editors write.
func TestAConcurrentChangeIsAConflictAndIsKept(t *testing.T) {
	t.Parallel()
	ways := map[string]func(b *reviewtest.Fixture, name string){
		"in place": func(b *reviewtest.Fixture, name string) { b.User(name, "meanwhile\n") },
		"by rename": func(b *reviewtest.Fixture, name string) {
			b.User(".new", "meanwhile\n")
			reviewtest.Must(b.T, os.Rename(b.InRepo(".new"), b.InRepo(name)))
		},
	}
	b, cs := everyStep(t)
	for way, change := range ways {
		for _, name := range []string{"edit", "both", "gone/deep", "move", "there", "swap"} {
			for _, when := range []string{"journal", "staged 0", "moving"} {
				before := reviewtest.Contents(t, b.Repo)
				others := func() map[string]string { // inodes and times of all other files
					all := reviewtest.Picture(t, b.Repo)
					maps.DeleteFunc(all, func(path, _ string) bool {
						info, err := os.Lstat(path)
						return err == nil && info.IsDir() || path == b.InRepo(name)
					})
					return all
				}
				untouched := others()
				_, err := worktree.ApplyToWorktree(t.Context(), b.Workspace, cs.BaseTree, cs.Tree, func(point string) error {
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
				if diff := cmp.Diff(before, reviewtest.Contents(t, b.Repo)); diff != "" {
					t.Errorf("%s %s %s: not put back:\n%s", way, name, when, diff)
				}
				leavesNothing(b)
				if held == "" {
					reviewtest.Must(t, os.Remove(b.InRepo(name)))
				} else {
					b.User(name, strings.TrimPrefix(held, "false "))
				}
			}
		}
	}
}

// TestAFailedDeliveryKeepsWhatOthersOverwrote has programs write to files that the delivery has
// already moved, before it fails. They overwrite the agent's version of them, so the user's
// version is nowhere else.
func TestAFailedDeliveryKeepsWhatOthersOverwrote(t *testing.T) {
	points := steps(t, false)
	last := points[slices.Index(points, "placed")-1]
	b, cs := everyStep(t)
	_, err := worktree.ApplyToWorktree(t.Context(), b.Workspace, cs.BaseTree, cs.Tree, func(point string) error {
		if point != last {
			return nil
		}
		b.User("both", "overwritten\n")
		b.User("gone/deep", "made again\n")
		b.User("untouched", "not part of it\n")
		b.User("there", "so it is a conflict\n")
		return fault.New(fault.Conflict, "%w", &worktree.ConflictError{Conflicts: []worktree.Step{{Path: "edit", Reason: "it is locked"}}})
	})
	if fault.KindOf(err) != fault.Conflict || !strings.HasSuffix(err.Error(), "which stay as they are now: there, both, gone/deep") ||
		!strings.Contains(err.Error(), "(edit: it is locked)") {
		t.Errorf("error: %v", err)
	}
	b.Holds("both", "overwritten\n")
	b.Holds("gone/deep", "made again\n")
	b.Holds("there", "so it is a conflict\n")
	b.Holds("edit", reviewtest.Ten)
	b.Holds("move", reviewtest.Ten+"m\n")
	leavesNothing(b)
	saved, pointsErr := recovery.PointsIn(t.Context(), b.Workspace.GitDir)
	if pointsErr != nil || len(saved) != 1 {
		t.Fatalf("saved are %+v, %v", saved, pointsErr)
	}
	for name, want := range map[string]string{"both": "0\n" + reviewtest.Ten, "gone/deep": "g\n"} {
		if got := reviewtest.GitIn(t, b.Workspace.GitDir, "show", saved[0].Ref+":"+name) + "\n"; got != want {
			t.Errorf("saved of %s: %q", name, got)
		}
	}
}

// TestAnInterruptedDeliveryIsNotForgotten has two working trees of one repository. The one with the
// interrupted delivery is not there while work is delivered to the other.
func TestAnInterruptedDeliveryIsNotForgotten(t *testing.T) {
	b, cs := everyStep(t)
	before := reviewtest.Contents(t, b.Repo)
	kill(b, killed{b.Workspace, cs.BaseTree, cs.Tree, "put 1", false})
	linked := filepath.Join(t.TempDir(), "linked")
	reviewtest.GitIn(t, b.Repo, "worktree", "add", "-q", linked)
	away := b.Repo + ".away"
	other := *b.Workspace
	other.Repo = linked
	// Git needs the repository, so only the top of its working tree is elsewhere.
	reviewtest.GitIn(t, b.Repo, "config", "core.bare", "true")
	reviewtest.Must(t, os.Rename(b.Repo, away))
	reviewtest.Must(t, os.WriteFile(filepath.Join(linked, ".git"), []byte("gitdir: "+filepath.Join(away, ".git/worktrees/linked")+"\n"), 0o600))
	_, err := worktree.ApplyToWorktree(t.Context(), &other, cs.BaseTree, cs.Tree, nil)
	if fault.KindOf(err) != fault.Environment || !strings.Contains(err.Error(), b.Repo+" is not there") {
		t.Errorf("error: %v", err)
	}
	reviewtest.Must(t, os.Rename(away, b.Repo))
	mended, err := worktree.RecoverAll(filepath.Dir(b.Workspace.GitDir))
	reviewtest.Must(t, err)
	if len(mended) != 1 || mended[0].Placed {
		t.Errorf("mended: %+v", mended)
	}
	if diff := cmp.Diff(before, reviewtest.Contents(t, b.Repo)); diff != "" {
		t.Errorf("not rolled back:\n%s", diff)
	}
}

// TestALateWriteByAnotherProgramIsKept opens the file before the delivery, as some editors
// and every appending program do.
func TestALateWriteByAnotherProgramIsKept(t *testing.T) {
	b, cs := everyStep(t)
	open, err := os.OpenFile(b.InRepo("edit"), os.O_WRONLY|os.O_APPEND, 0)
	reviewtest.Must(t, err)
	defer open.Close()
	points := steps(t, false)
	last := points[slices.Index(points, "placed")-1]
	_, err = worktree.ApplyToWorktree(t.Context(), b.Workspace, cs.BaseTree, cs.Tree, func(point string) error {
		if point == last {
			_, err := open.WriteString("late\n")
			return err
		}
		return nil
	})
	if fault.KindOf(err) != fault.Conflict {
		t.Errorf("error: %v", err)
	}
	b.Holds("edit", reviewtest.Ten+"late\n")
	leavesNothing(b)
}
