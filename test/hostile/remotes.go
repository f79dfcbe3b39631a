package hostile

import "os"

// remote is an attack that waits until git talks to a remote repository.
func remote(name string, provoke []string, prepare func(t *trap, script string)) Attack {
	return Attack{Name: name, Provoke: provoke, Plant: plant(func(t *trap) { prepare(t, t.deaf()) })}
}

// remotes are the attacks through what git runs to reach another repository.
func remotes() []Attack {
	fetch := []string{"fetch", "origin"}
	ext := func(t *trap, script string) {
		t.config("protocol.ext.allow", "always")
		t.config("remote.origin.url", "ext::"+script)
	}
	// partial makes every look at a.txt fetch it.
	partial := func(t *trap) {
		t.config("core.repositoryFormatVersion", "1")
		t.config("extensions.partialClone", "origin")
		t.config("remote.origin.promisor", "true")
		blob := t.ask("", "rev-parse", "HEAD:a.txt")
		t.unpack()
		t.do(func() error { return os.Remove(t.path(".git/objects/" + blob[:2] + "/" + blob[2:])) })
		t.touch()
	}
	return []Attack{
		remote("core.sshCommand", fetch, func(t *trap, script string) {
			t.config("core.sshCommand", script)
			t.config("remote.origin.url", "ssh://example.invalid/x")
		}),
		remote("core.gitProxy", fetch, func(t *trap, script string) {
			t.config("core.gitProxy", script)
			t.config("remote.origin.url", "git://example.invalid/x")
		}),
		remote("an ext remote", fetch, ext),
		remote("insteadOf an ext remote", fetch, func(t *trap, script string) {
			t.config("protocol.ext.allow", "always")
			t.config("remote.origin.url", "https://example.invalid/x")
			t.config("url.ext::"+script+" .insteadOf", "https://example.invalid/")
		}),
		remote("uploadpack", fetch, func(t *trap, script string) {
			t.config("remote.origin.url", ".")
			t.config("remote.origin.uploadpack", script)
		}),
		remote("receivepack", []string{"push", "origin", "HEAD:x"}, func(t *trap, script string) {
			t.config("remote.origin.url", ".")
			t.config("remote.origin.receivepack", script)
		}),
		remote("core.alternateRefsCommand", []string{"fetch", ".", "HEAD"}, func(t *trap, script string) {
			outside, _ := t.foreign()
			t.write(".git/objects/info/alternates", outside+"/.git/objects\n", 0o644)
			t.config("core.alternateRefsCommand", script)
		}),
		remote("a promisor behind ext", []string{"diff"}, func(t *trap, script string) { ext(t, script); partial(t) }),
		remote("a promisor with uploadpack", []string{"diff"}, func(t *trap, script string) {
			t.config("remote.origin.url", ".")
			t.config("remote.origin.uploadpack", script)
			partial(t)
		}),
	}
}
