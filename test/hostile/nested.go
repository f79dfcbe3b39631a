package hostile

// sub makes a submodule in the folder sub, of which the index knows.
func (t *trap) sub() {
	t.git("init", "-q", "sub")
	t.write("sub/file", "x\n", 0o644)
	t.git("-C", "sub", "add", "-A")
	t.git("-C", "sub", "commit", "-qm", "x")
	t.git("-c", "advice.addEmbeddedRepo=false", "add", "sub")
	t.write(".gitmodules", "[submodule \"sub\"]\n\tpath = sub\n\turl = -u./.evil.sh\n", 0o644)
}

// nested are the attacks through repositories in the repository.
func nested() []Attack {
	status := []string{"status"}
	bare := func(t *trap, top string) {
		t.write(top+"HEAD", "ref: refs/heads/main\n", 0o644)
		t.write(top+"objects/.keep", "", 0o644)
		t.write(top+"refs/.keep", "", 0o644)
		t.write(top+"work/.keep", "", 0o644)
		t.write(top+"config", t.monitor()+"\tworktree = work\n", 0o644)
	}
	return []Attack{
		{Name: "a submodule with a monitor", Provoke: status, Plant: plant(func(t *trap) {
			t.sub()
			t.write("sub/.git/config", t.monitor(), 0o644)
		})},
		{Name: "a submodule with a filter", Provoke: status, Plant: plant(func(t *trap) {
			t.sub()
			t.write("sub/.git/info/attributes", "* filter=evil\n", 0o644)
			t.git("-C", "sub", "config", "filter.evil.clean", t.script())
			t.write("sub/file", "y\n", 0o644)
		})},
		{Name: "a submodule whose .git is a file", Provoke: status, Plant: plant(func(t *trap) {
			t.sub()
			t.move("sub/.git", "modules/sub")
			t.write("modules/sub/config", t.monitor(), 0o644)
			t.write("sub/.git", "gitdir: ../modules/sub\n", 0o644)
		})},
		{Name: "submodule.update", Provoke: []string{"submodule", "update"}, Plant: plant(func(t *trap) {
			t.sub()
			t.config("submodule.sub.url", "./sub")
			t.config("submodule.sub.active", "true")
			t.config("submodule.sub.update", "!"+t.deaf())
			t.git("-C", "sub", "commit", "-q", "--allow-empty", "-m", "moved")
		})},
		{Name: "a bare repository in the tree", Provoke: status, In: "fixtures/repo", Plant: plant(func(t *trap) { bare(t, "fixtures/repo/") })},
		{Name: "a bare repository in the place of .git", Provoke: status, In: "work", Plant: plant(func(t *trap) {
			t.move(".git", "gone")
			bare(t, "")
		})},
		{Name: "a nested repository with a monitor", Provoke: status, In: "vendor/lib", Plant: plant(func(t *trap) {
			t.git("init", "-q", "vendor/lib")
			t.write("vendor/lib/.git/config", t.monitor(), 0o644)
		})},
	}
}
