package hostile

import (
	"fmt"
	"os"
)

// blinds are the attacks that keep git from telling that a.txt has changed.
func blinds() []Attack {
	status := []string{"status", "--porcelain"}
	blind := func(name string, provoke []string, prepare func(t *trap)) Attack {
		return Attack{Name: name, Effect: Hides, Provoke: provoke, Plant: plant(prepare)}
	}
	return []Attack{
		blind("assume-unchanged", status, func(t *trap) { t.git("update-index", "--assume-unchanged", "a.txt"); t.touch() }),
		blind("skip-worktree", status, func(t *trap) { t.git("update-index", "--skip-worktree", "a.txt"); t.touch() }),
		blind("a commit of the agent's", status, func(t *trap) { t.touch(); t.git("commit", "-qam", "x") }),
		blind("a monitor that knows of nothing", status, func(t *trap) {
			t.config("core.fsmonitor", t.write(".blind.sh", "#!/bin/sh\nprintf 'token\\0'\n", 0o755))
			t.config("core.fsmonitorHookVersion", "2")
			t.age("a.txt")
			t.git("update-index", "--fsmonitor")
			t.git("status")
			t.git("update-index", "--fsmonitor-valid", "a.txt")
			t.touch()
		}),
		blind("a split index", status, func(t *trap) {
			t.git("update-index", "--split-index")
			t.touch()
			t.git("update-index", "--assume-unchanged", "a.txt")
		}),
		blind("an untracked cache", status, func(t *trap) {
			t.config("core.untrackedCache", "true")
			t.git("update-index", "--force-untracked-cache")
			t.touch()
			t.git("update-index", "--skip-worktree", "a.txt")
		}),
		blind("a filter that gives back the old content", []string{"diff"}, func(t *trap) {
			t.config("filter.evil.clean", "git cat-file blob HEAD:a.txt")
			t.write(".git/info/attributes", "a.txt filter=evil\n", 0o644)
			t.touch()
		}),
		blind("core.checkStat and times set back", status, func(t *trap) {
			t.config("core.checkStat", "minimal")
			t.config("core.trustctime", "false")
			t.age("a.txt")
			t.git("update-index", "--refresh")
			var before os.FileInfo
			t.do(func() (err error) { before, err = os.Stat(t.path("a.txt")); return err })
			t.do(func() error { return os.WriteFile(t.path("a.txt"), []byte("eno\n"), 0o644) })
			t.do(func() error { return os.Chtimes(t.path("a.txt"), before.ModTime(), before.ModTime()) })
		}),
		blind("sparse checkout", status, func(t *trap) {
			t.config("core.sparseCheckout", "true")
			t.write(".git/info/sparse-checkout", "/nothing\n", 0o644)
			t.git("update-index", "--skip-worktree", "a.txt")
			t.do(func() error { return os.Remove(t.path("a.txt")) })
		}),
		blind("a bare repository", status, func(t *trap) { t.touch(); t.config("core.bare", "true"); t.config("status.short", "true") }),
		blind("line endings", []string{"diff"}, func(t *trap) {
			t.write(".git/info/attributes", "* text eol=crlf\n", 0o644)
			t.do(func() error { return os.WriteFile(t.path("a.txt"), []byte("one\r\n"), 0o644) })
		}),
		blind("core.fileMode", []string{"diff"}, func(t *trap) {
			t.config("core.fileMode", "false")
			t.do(func() error { return os.Chmod(t.path("a.txt"), 0o755) })
		}),
		blind("an index that claims the size and times of the new content", status, func(t *trap) {
			t.touch()
			blob := t.ask("", "rev-parse", "HEAD:a.txt")
			t.config("filter.once.clean", fmt.Sprintf("git cat-file blob %s", blob))
			t.write(".git/info/attributes", "a.txt filter=once\n", 0o644)
			t.age("a.txt")
			t.git("add", "a.txt")
			t.git("config", "--unset", "filter.once.clean")
			t.do(func() error { return os.Remove(t.path(".git/info/attributes")) })
		}),
		blind("status.showUntrackedFiles", status, func(t *trap) {
			t.git("rm", "-q", "--cached", "a.txt")
			t.git("commit", "-qm", "forget it")
			t.config("status.showUntrackedFiles", "no")
			t.touch()
		}),
		blind("info/exclude", status, func(t *trap) {
			t.git("rm", "-q", "--cached", "a.txt")
			t.git("commit", "-qm", "forget it")
			t.write(".git/info/exclude", "a.txt\n", 0o644)
			t.touch()
		}),
	}
}
