package hostile

import "os"

// places are the attacks that lead git to another configuration or repository.
func places() []Attack {
	status := []string{"status"}
	include := func(key string, prepare ...string) func(dir, canary string) error {
		return plant(func(t *trap) {
			for i := 0; i+1 < len(prepare); i += 2 {
				t.config(prepare[i], prepare[i+1])
			}
			t.config(key, t.write("evil.inc", t.monitor(), 0o644))
		})
	}
	return []Attack{
		{Name: "include.path", Provoke: status, Plant: include("include.path")},
		{Name: "includeIf gitdir", Provoke: status, Plant: include("includeIf.gitdir:/.path")},
		{Name: "includeIf onbranch", Provoke: status, Plant: include("includeIf.onbranch:**.path")},
		{Name: "includeIf hasconfig", Provoke: status, Plant: include("includeIf.hasconfig:remote.*.url:**.path", "remote.x.url", "https://example.invalid/x")},
		{Name: "a .git/config that is a symlink", Provoke: status, Plant: plant(func(t *trap) {
			t.write("evil.inc", t.monitor(), 0o644)
			t.symlink("../evil.inc", ".git/config")
		})},
		{Name: "a .git file", Provoke: status, Plant: plant(func(t *trap) {
			t.move(".git", "elsewhere")
			t.write("elsewhere/config", t.monitor(), 0o644)
			t.write(".git", "gitdir: elsewhere\n", 0o644)
		})},
		{Name: "a .git file that leads outside", Provoke: status, Plant: plant(func(t *trap) {
			outside := t.outside()
			t.do(func() error { return os.Rename(t.path(".git"), outside+"/git") })
			t.do(func() error { return os.WriteFile(outside+"/git/config", []byte(t.monitor()), 0o644) })
			t.write(".git", "gitdir: "+outside+"/git\n", 0o644)
		})},
		{Name: "a .git symlink", Provoke: status, Plant: plant(func(t *trap) {
			t.move(".git", "elsewhere")
			t.write("elsewhere/config", t.monitor(), 0o644)
			t.symlink("elsewhere", ".git")
		})},
		{Name: "a linked worktree", Provoke: status, In: "tree", Plant: plant(func(t *trap) {
			t.git("worktree", "add", "-q", "tree")
			t.config("extensions.worktreeConfig", "true")
			t.write(".git/worktrees/tree/config.worktree", t.monitor(), 0o644)
		})},
		{Name: "config.worktree", Provoke: status, Plant: plant(func(t *trap) {
			t.config("extensions.worktreeConfig", "true")
			t.write(".git/config.worktree", t.monitor(), 0o644)
		})},
		{Name: "commondir", Provoke: status, Plant: plant(func(t *trap) {
			for _, name := range []string{"objects", "refs", "packed-refs"} {
				if _, err := os.Stat(t.path(".git/" + name)); err == nil {
					t.write("common/x", "", 0o644)
					t.move(".git/"+name, "common/"+name)
				}
			}
			t.write("common/config", t.monitor(), 0o644)
			t.write(".git/commondir", "../common\n", 0o644)
		})},
	}
}
