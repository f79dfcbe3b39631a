package hostile

// hook is an attack through a hook in dir.
func hook(dir, name string, prepare func(t *trap), provoke ...string) Attack {
	title := "the hook " + name
	if dir != ".git/hooks" {
		title += " in " + dir
	}
	return Attack{Name: title, Provoke: provoke, Plant: plant(func(t *trap) {
		t.touch()
		script := t.script()
		if prepare != nil {
			prepare(t)
		}
		t.write(dir+"/"+name, "#!/bin/sh\nexec "+script+" </dev/null\n", 0o755)
		if dir != ".git/hooks" {
			t.config("core.hooksPath", dir)
		}
	})}
}

// hooks are the attacks through hooks: those that looking, committing, switching
// and sending run.
func hooks() []Attack {
	const usual = ".git/hooks"
	commit := []string{"commit", "-qam", "x"}
	branch := func(t *trap) {
		t.git("checkout", "-q", "--", ".")
		t.git("checkout", "-qb", "other")
		t.write("b.txt", "b\n", 0o644)
		t.git("add", "b.txt")
		t.git("commit", "-qm", "other")
		t.git("checkout", "-q", "-B", "main", "HEAD^")
		t.write("c.txt", "c\n", 0o644)
		t.git("add", "c.txt")
		t.git("commit", "-qm", "ours")
	}
	stale := func(t *trap) { // the index has to be refreshed
		t.write("a.txt", "one\n", 0o644)
		t.age("a.txt")
	}
	return []Attack{
		hook(usual, "post-index-change", stale, "status"),
		hook("tools/hooks", "post-index-change", stale, "diff"),
		hook(usual, "pre-commit", nil, commit...),
		hook(usual, "prepare-commit-msg", nil, commit...),
		hook(usual, "commit-msg", nil, commit...),
		hook(usual, "post-commit", nil, commit...),
		hook("tools/hooks", "pre-commit", nil, commit...),
		hook(usual, "reference-transaction", nil, "branch", "another"),
		hook(usual, "post-checkout", nil, "checkout", "--", "a.txt"),
		hook(usual, "post-rewrite", nil, "commit", "-qa", "--amend", "-m", "y"),
		hook(usual, "pre-merge-commit", branch, "merge", "-q", "-m", "m", "other"),
		hook(usual, "post-merge", branch, "merge", "-q", "-m", "m", "other"),
		hook(usual, "pre-rebase", branch, "rebase", "-q", "other"),
		hook(usual, "pre-push", nil, "push", "-q", ".", "HEAD:refs/heads/pushed"),
		hook(usual, "pre-receive", nil, "push", "-q", ".", "HEAD:refs/heads/pushed"),
		hook(usual, "post-update", nil, "push", "-q", ".", "HEAD:refs/heads/pushed"),
		hook(usual, "pre-auto-gc", func(t *trap) {
			t.config("gc.auto", "0")
			for range 2 {
				t.aside(t.ask("", "rev-parse", "HEAD"))
				t.git("repack", "-q")
				t.touch()
				t.git("commit", "-q", "--allow-empty", "-am", "more")
				t.git("repack", "-q")
			}
			t.config("gc.auto", "1")
			t.config("gc.autoPackLimit", "1")
			t.config("gc.autoDetach", "false")
		}, "gc", "--auto"),
	}
}
