package main

// view is a screen to draw, and how to reach it.
type view struct {
	name  string
	args  []string // of aibox; none opens the list of sessions
	env   []string // in addition to the world's
	steps []step
}

// step is input, and the text that shows that the program has handled it.
type step struct {
	keys  []string // by name; see terminal.Key
	text  string
	shows string // a regular expression
}

func press(shows string, keys ...string) step { return step{keys: keys, shows: shows} }
func typed(text, shows string) step           { return step{text: text, shows: shows} }
func sees(shows string) step                  { return step{shows: shows} }

// at returns the steps to a session in the list, followed by more.
func at(session string, then ...step) []step {
	return append([]step{
		sees(`to review`), press(`/`, "/"), typed(session, session), press(`▸? ?\S* .*`+session, "enter"),
	}, then...)
}

// tour returns every screen.
func tour(w *world) []view {
	cart := []step{press(`undecided`, "r"), press(`(?i)quantity`, "tab", "tab", "tab")}
	return []view{
		{name: "first-run", env: []string{"DOCKER_HOST=unix:///nowhere/docker.sock", "HOME=" + w.repo("empty")}, steps: []step{sees(`(?i)docker`)}},
		{name: "sessions", steps: []step{sees(`to review`)}},
		{name: "help", steps: []step{sees(`to review`), press(`Keys`, "?")}},
		{name: "palette", steps: []step{sees(`to review`), press(`earch commands`, ":"), typed("st", `› st`)}},
		{name: "question", steps: at(w.fix, press(`Discard `, "x"))},
		{name: "new-run", steps: []step{sees(`to review`), press(`New run`, "n")}},
		{name: "session", steps: at(w.live, press(`sleep 3600`, "enter"))},
		{name: "conversation", steps: at(w.fix, press(`the agent ended`, "enter"))},
		{name: "attach", args: []string{"attach", w.shell}, steps: []step{sees(`root@aibox`)}},
		{name: "look-back", args: []string{"attach", w.shell}, steps: []step{
			sees(`root@aibox`), typed("ls -1 /usr/bin | head -80", `head -80`), press(`(?m)^root@aibox:/workspace# *$`, "enter"),
			press(`  scrollback`, "ctrl+p", "ctrl+s"), press(`ls -1 /usr/bin`, "home"),
		}},
		{name: "review", steps: at(w.fix, cart...)},
		{name: "review-split", steps: at(w.fix, append(cart[:2:2], press(`(?i)quantity`, "|"))...)},
		{name: "review-16-colors", env: []string{"TERM=xterm-color", "COLORTERM="}, steps: at(w.fix, cart...)},
		{name: "review-no-color", env: []string{"NO_COLOR=1"}, steps: at(w.fix, cart...)},
		{name: "compare", steps: []step{
			sees(`to review`), press(`/`, "/"), typed("words of", `words of`), press(`▸? ?\S* .*words of`, "enter"), press(`Compare b-`, "="), sees(`README\.md`),
		}},
		{name: "top", args: []string{"top"}, steps: []step{sees(`(?m)MEMORY.*PROCESSES[\s\S]*\d MiB`)}},
		{name: "images", steps: []step{sees(`to review`), press(`Images`, "2"), sees(`codex`)}},
		{name: "network", steps: []step{sees(`to review`), press(`Network`, "3"), sees(`example\.com`)}},
		{name: "doctor", steps: []step{sees(`to review`), press(`This machine`, "4"), sees(`\d+ ok`)}},
		{name: "snapshots", steps: []step{sees(`to review`), press(`Snapshots`, "6"), sees(`warm`)}},
		{name: "settings", steps: []step{sees(`to review`), press(`Settings`, "5"), sees(`built in`), press(`Time limit`, "tab", "tab")}},
		{name: "plain", args: []string{"--plain"}, steps: []step{sees(`Which\?`)}},
	}
}
