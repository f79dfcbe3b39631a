package hostile

// setting is an attack through one setting in .git/config.
func setting(key string, provoke ...string) Attack {
	return Attack{Name: key, Provoke: provoke, Plant: plant(func(t *trap) {
		t.config(key, t.script())
		t.touch()
	})}
}

// onTerminal is setting for what git only runs on a terminal.
func onTerminal(key string, provoke ...string) Attack {
	a := setting(key, provoke...)
	a.Terminal = true
	return a
}

// fed is setting for a command that reads its input.
func fed(a Attack, stdin string) Attack {
	a.Stdin = stdin
	return a
}

// settings are the attacks through settings that name a program.
func settings() []Attack {
	return []Attack{
		setting("core.fsmonitor", "status"),
		setting("diff.external", "diff"),
		setting("core.editor", "commit", "-qa"),
		{Name: "sequence.editor", Provoke: []string{"rebase", "-i", "--root"}, Plant: plant(func(t *trap) {
			t.config("sequence.editor", t.script())
		})},
		setting("gpg.program", "commit", "-qam", "x", "-S"),
		onTerminal("core.pager", "log"),
		onTerminal("pager.diff", "diff"),
		onTerminal("pager.log", "log"),
		onTerminal("pager.status", "status"),
		fed(onTerminal("interactive.diffFilter", "add", "-p"), "q\n"),
		{Name: "an alias", Provoke: []string{"evil-st"}, Plant: plant(func(t *trap) { t.config("alias.evil-st", "!"+t.script()) })},
		{Name: "an alias in the place of a misspelled command", Provoke: []string{"stauts"}, Plant: plant(func(t *trap) {
			t.config("alias.stauts", "!"+t.script())
		})},
		{Name: "diff.tool", Provoke: []string{"difftool", "-y"}, Plant: plant(func(t *trap) {
			t.config("diff.tool", "evil")
			t.config("difftool.evil.cmd", t.script())
			t.touch()
		})},
		{Name: "trailer.command", Provoke: []string{"interpret-trailers"}, Stdin: "subject\n", Plant: plant(func(t *trap) {
			t.config("trailer.sign.key", "Signed")
			t.config("trailer.sign.command", t.script())
		})},
		{Name: "trailer.cmd", Provoke: []string{"interpret-trailers", "--trailer", "sign=x"}, Stdin: "subject\n", Plant: plant(func(t *trap) {
			t.config("trailer.sign.key", "Signed")
			t.config("trailer.sign.cmd", t.script())
		})},
		fed(setting("credential.helper", "credential", "fill"), "protocol=https\nhost=example.invalid\n\n"),
		fed(setting("credential.https://example.invalid.helper", "credential", "fill"), "protocol=https\nhost=example.invalid\n\n"),
		fed(setting("core.askPass", "credential", "fill"), "protocol=https\nhost=example.invalid\n\n"),
		{Name: "a configured hook", Since: "2.54", Provoke: []string{"commit", "-qam", "x"}, Plant: plant(func(t *trap) {
			t.config("hook.evil.event", "pre-commit")
			t.config("hook.evil.command", t.script())
			t.touch()
		})},
	}
}
