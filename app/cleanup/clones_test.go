package cleanup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aibox/review/reviewtest"
	"aibox/session"
	"aibox/workspace"
)

// cloned is a fixture whose repository is a clone of a URL that was not used for two months, and
// whose session with the id "00001-a" was discarded, and then removed.
func cloned(t *testing.T) (d *fixture, server, clone string) {
	t.Helper()
	d = newFixture(t)
	server = d.repo
	d.gitIn(server, "branch", "other")
	d.repo = "file://" + server
	ws := d.ended("00001-a", "one.txt")
	reviewtest.Must(t, d.Remove(t.Context(), "00001-a", true))
	clone = ws.Repo
	d.predate(ws.GitDir, 2*month) // the state that was saved when it was removed
	d.unused(clone)
	return d, server, clone
}

// unused sets the time of a clone's last use to two months ago.
func (d *fixture) unused(clone string) {
	then := time.Now().Add(-2 * month)
	d.must(os.Chtimes(filepath.Join(clone, "aibox-server"), then, then))
}

// commit returns a commit on top of HEAD that is on no branch.
func (d *fixture) commit(dir string) string {
	return d.gitIn(dir, "-c", "user.name=a", "-c", "user.email=a@b", "commit-tree", "-m", "more", "-p", "HEAD", "HEAD^{tree}")
}

// update lets a run update the clone, and removes its session with the id.
func (d *fixture) update(id session.ID) {
	d.t.Helper()
	ws := d.ended(id)
	d.must(d.Remove(d.t.Context(), id, true))
	d.predate(ws.GitDir, 2*month)
	d.unused(ws.Repo)
}

// asSubmodule makes a session of another repository, whose submodule has the clone.
func asSubmodule(t *testing.T, d *fixture, clone string) {
	t.Helper()
	other := fixtureAt(t, t.TempDir())
	reviewtest.CommitIn(t, other.repo, map[string]string{"c.txt": "sea\n"})
	d.repo = other.repo
	ws := d.prepared("00002-b")
	head := d.gitIn(clone, "rev-parse", "HEAD")
	ws.Modules = []workspace.Module{{Path: "m", GitDir: clone, URL: "file://m", Head: head}}
	d.write(filepath.Join(ws.Path, "two.txt"), "two\n")
	d.end("00002-b", ws)
}

func TestACloneOfAURLIsRemovedIfItHasNoWork(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, d *fixture, server, clone string)
		kept   string // why; empty if it is removed
	}{
		"unused": {},
		"used lately": {
			func(_ *testing.T, d *fixture, _, clone string) {
				now := time.Now()
				d.must(os.Chtimes(filepath.Join(clone, "aibox-server"), now, now))
			}, "none",
		},
		"of a session": {func(_ *testing.T, d *fixture, _, clone string) { d.ended("00002-b"); d.unused(clone) }, "none"},
		"of a saved state": {
			func(_ *testing.T, d *fixture, _, clone string) {
				d.ended("00002-b", "two.txt")
				d.must(d.Remove(d.t.Context(), "00002-b", true))
				d.unused(clone)
			}, "none",
		},
		"with accepted work": {
			func(t *testing.T, d *fixture, _, clone string) {
				d.accepted("00002-b", "two.txt")
				d.must(d.Remove(t.Context(), "00002-b", true))
				all, err := workspace.Repositories(d.dirs)
				d.must(err)
				d.predate(all[0], 2*month)
				d.unused(clone)
			}, workspace.ErrWork.Error(),
		},
		"with accepted work that was pushed": {
			func(_ *testing.T, d *fixture, server, clone string) {
				d.gitIn(clone, "update-ref", "refs/heads/aibox/work", d.commit(clone))
				d.gitIn(clone, "push", "-q", server, "aibox/work")
				d.update("00002-b")
			}, "",
		},
		"with a branch that the server has deleted": {
			func(_ *testing.T, d *fixture, server, _ string) {
				d.gitIn(server, "branch", "-qf", "other", d.commit(server))
				d.update("00002-b")
				d.gitIn(server, "branch", "-qD", "other")
				d.update("00003-c")
				d.update("00004-d")
			}, "",
		},
		"with a branch whose place the server has taken": {
			func(_ *testing.T, d *fixture, server, _ string) {
				d.gitIn(server, "branch", "-qf", "other", d.commit(server))
				d.update("00002-b")
				d.gitIn(server, "branch", "-qD", "other")
				d.gitIn(server, "branch", "other/one")
				d.update("00003-c")
			}, "",
		},
		"of a submodule of a session": {
			func(t *testing.T, d *fixture, _, clone string) { asSubmodule(t, d, clone) }, "none",
		},
		"of a submodule of a session, behind a symlink": {
			func(t *testing.T, d *fixture, _, clone string) {
				elsewhere := d.dirs.Data + "-elsewhere"
				d.must(os.Rename(d.dirs.Data, elsewhere))
				d.must(os.Symlink(elsewhere, d.dirs.Data))
				asSubmodule(t, d, filepath.Join(elsewhere, "repos", filepath.Base(clone)))
			}, "none",
		},
		"of a submodule of a saved state": {
			func(t *testing.T, d *fixture, _, clone string) {
				asSubmodule(t, d, clone)
				d.must(d.Remove(t.Context(), "00002-b", true))
			}, "none",
		},
		"with a working tree": {
			func(_ *testing.T, d *fixture, _, clone string) {
				d.gitIn(clone, "worktree", "add", "-q", "--detach", filepath.Join(d.dirs.Home, "linked"))
			}, workspace.ErrWork.Error(),
		},
		"of an earlier version": {
			func(_ *testing.T, d *fixture, _, clone string) {
				d.must(os.Remove(filepath.Join(clone, "aibox-server")))
			},
			workspace.ErrWork.Error(),
		},
		"with an unreadable record": {
			func(_ *testing.T, d *fixture, _, _ string) {
				ws := d.accepted("00002-b", "two.txt")
				d.must(os.RemoveAll(ws.GitDir))
				d.must(os.WriteFile(filepath.Join(d.store.Dir("00002-b"), "state.json"), []byte("{"), 0o600))
				d.unused(ws.Repo)
			}, errUnknownNeed.Error(),
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, server, clone := cloned(t)
			if c.change != nil {
				c.change(t, d, server, clone)
			}
			dry := d.collect(dryRun)
			if _, err := os.Stat(clone); err != nil {
				t.Fatal("a dry run has removed it")
			}
			r := d.collect()
			_, err := os.Stat(clone)
			if gone := os.IsNotExist(err); gone != (c.kept == "") || gone != strings.Contains(freed(r), "clones 1: "+filepath.Base(clone)) {
				t.Errorf("it is gone: %v; freed is\n%s", gone, freed(r))
			}
			if freed(dry) != freed(r) {
				t.Errorf("the dry run says\n%s\nthe real one\n%s", freed(dry), freed(r))
			}
			why := "none"
			for _, kept := range r.Kept {
				if kept.What == "clone "+clone {
					why = kept.Why
				}
			}
			if c.kept != "" && why != c.kept {
				t.Errorf("it is kept: %s, not %s", why, c.kept)
			}
			if c.kept == "" {
				d.ended("00009-z") // it is cloned again
			}
		})
	}
}
