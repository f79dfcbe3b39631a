package hostile

// leaks are the attacks that make git show files from outside the repository.
func leaks() []Attack {
	leak := func(name string, provoke []string, prepare func(t *trap)) Attack {
		return Attack{Name: name, Effect: Leaks, Provoke: provoke, Plant: plant(prepare)}
	}
	// branch makes the branch evil of the foreign commit.
	branch := func(t *trap, commit string) { t.write(".git/refs/heads/evil", commit+"\n", 0o644) }
	grep := []string{"grep", "canary", "evil"}
	return []Attack{
		leak("core.worktree", []string{"diff"}, func(t *trap) { t.config("core.worktree", t.outside()) }),
		leak("alternates", grep, func(t *trap) {
			outside, commit := t.foreign()
			t.write(".git/objects/info/alternates", outside+"/.git/objects\n", 0o644)
			branch(t, commit)
		}),
		leak("a .git/objects that is a symlink", []string{"log", "-p", "evil"}, func(t *trap) {
			outside, commit := t.foreign()
			t.symlink(outside+"/.git/objects", ".git/objects")
			branch(t, commit)
		}),
		leak("a .git/refs that is a symlink", []string{"log", "-p", "--all"}, func(t *trap) {
			outside, _ := t.foreign()
			t.write(".git/objects/info/alternates", outside+"/.git/objects\n", 0o644)
			t.symlink(outside+"/.git/refs", ".git/refs")
		}),
		leak("a symlink to a secret", []string{"diff", "--no-index", "--", "/dev/null", "dir/a.txt"}, func(t *trap) {
			t.symlink(t.outside(), "dir")
		}),
		leak("commit.template", []string{"-c", "core.editor=cat", "commit", "-a"}, func(t *trap) {
			t.config("commit.template", t.outside()+"/a.txt")
			t.touch()
		}),
		leak("a MERGE_MSG that is a symlink", []string{"-c", "core.editor=cat", "commit", "-a"}, func(t *trap) {
			t.symlink(t.outside()+"/a.txt", ".git/MERGE_MSG")
			t.touch()
		}),
		leak("format.signatureFile", []string{"format-patch", "--root", "--stdout", "HEAD"}, func(t *trap) {
			t.config("format.signatureFile", t.outside()+"/a.txt")
		}),
		leak("blame.ignoreRevsFile", []string{"blame", "a.txt"}, func(t *trap) {
			t.config("blame.ignoreRevsFile", t.outside()+"/a.txt")
		}),
		leak("fsck.skipList", []string{"fsck"}, func(t *trap) { t.config("fsck.skipList", t.outside()+"/a.txt") }),
	}
}
