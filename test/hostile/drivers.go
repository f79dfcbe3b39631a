package hostile

// driver is an attack through an attribute and the setting it names.
func driver(name, attribute, key string, provoke ...string) Attack {
	return Attack{Name: name, Provoke: provoke, Plant: plant(func(t *trap) {
		t.config(key, t.script())
		t.write(".gitattributes", "* "+attribute+"\n", 0o644)
		t.touch()
	})}
}

// drivers are the attacks through attributes, wherever git reads them.
func drivers() []Attack {
	return []Attack{
		driver("textconv", "diff=evil", "diff.evil.textconv", "diff"),
		driver("a diff command", "diff=evil", "diff.evil.command", "diff"),
		driver("a clean filter", "filter=evil", "filter.evil.clean", "diff"),
		driver("a process filter", "filter=evil", "filter.evil.process", "diff"),
		driver("a smudge filter", "filter=evil", "filter.evil.smudge", "checkout", "--", "a.txt"),
		driver("Git LFS", "filter=lfs diff=lfs merge=lfs -text", "filter.lfs.process", "diff"),
		driver("Git LFS without a process", "filter=lfs diff=lfs merge=lfs -text", "filter.lfs.clean", "diff"),
		{Name: "a merge driver", Provoke: []string{"merge", "other"}, Plant: plant(func(t *trap) {
			t.config("merge.evil.driver", t.script())
			t.write(".git/info/attributes", "* merge=evil\n", 0o644)
			t.git("branch", "base")
			t.git("checkout", "-qb", "other")
			t.write("a.txt", "theirs\n", 0o644)
			t.git("commit", "-qam", "theirs")
			t.git("checkout", "-q", "-B", "main", "base")
			t.write("a.txt", "ours\n", 0o644)
			t.git("commit", "-qam", "ours")
		})},
		{Name: "info/attributes", Provoke: []string{"diff"}, Plant: plant(func(t *trap) {
			t.config("diff.evil.textconv", t.script())
			t.write(".git/info/attributes", "* diff=evil\n", 0o644)
			t.touch()
		})},
		{Name: "core.attributesFile", Provoke: []string{"diff"}, Plant: plant(func(t *trap) {
			t.config("diff.evil.textconv", t.script())
			t.config("core.attributesFile", t.write("attributes", "* diff=evil\n", 0o644))
			t.touch()
		})},
		{Name: "attr.tree", Since: "2.43", Provoke: []string{"diff"}, Plant: plant(func(t *trap) {
			t.config("diff.evil.textconv", t.script())
			t.write(".gitattributes", "* diff=evil\n", 0o644)
			t.git("add", ".gitattributes")
			t.config("attr.tree", t.ask("", "write-tree"))
			t.git("rm", "-q", "-f", ".gitattributes")
			t.touch()
		})},
	}
}
