package hostile

// lies are the attacks that show a history which is not there, or another content
// than is committed (threat 18 as well: what they show is made for the reader).
func lies() []Attack {
	lie := func(name string, prepare func(t *trap, head string), provoke ...string) Attack {
		return Attack{Name: name, Effect: Leaks, Provoke: provoke, Plant: plant(func(t *trap) { prepare(t, t.ask("", "rev-parse", "HEAD")) })}
	}
	return []Attack{
		lie("a replaced commit", func(t *trap, head string) { t.git("replace", head, t.aside()) }, "log", "-p"),
		lie("a replaced blob", func(t *trap, head string) {
			t.git("replace", "-f", head+":a.txt", t.ask(Secret+"\n", "hash-object", "-w", "--stdin"))
		}, "show", "HEAD:a.txt"),
		lie("grafts", func(t *trap, head string) {
			t.write(".git/info/grafts", head+" "+t.aside()+"\n", 0o644)
		}, "log", "-p"),
		lie("notes", func(t *trap, head string) { t.git("notes", "add", "-m", Secret, head) }, "log"),
		lie("a branch called HEAD", func(t *trap, _ string) {
			t.git("update-ref", "refs/heads/HEAD", t.aside())
		}, "log", "refs/heads/HEAD"),
		lie("a tag in the place of a branch", func(t *trap, _ string) {
			t.git("update-ref", "refs/tags/main", t.aside())
		}, "log", "main"),
		lie("a branch of a name that is an option", func(t *trap, _ string) {
			t.write(".git/refs/heads/--all", t.aside()+"\n", 0o644)
		}, "log", "--all"),
		lie("packed-refs", func(t *trap, _ string) {
			t.write(".git/packed-refs", "# pack-refs with: peeled fully-peeled sorted \n"+t.aside()+" refs/heads/evil\n", 0o644)
		}, "log", "--all"),
		lie("a HEAD that leads elsewhere", func(t *trap, _ string) {
			t.git("update-ref", "refs/evil/x", t.aside())
			t.write(".git/HEAD", "ref: refs/evil/x\n", 0o644)
		}, "log", "-p"),
		lie("an index of other content", func(t *trap, _ string) {
			blob := t.ask(Secret+"\n", "hash-object", "-w", "--stdin")
			t.git("update-index", "--cacheinfo", "100644,"+blob+",a.txt")
		}, "diff", "--cached"),
	}
}
