package main

// view is a screen to take a picture of: how a person gets there, and what it shows
// then.
type view struct {
	name  string
	args  []string // of aibox; none is the screen of all sessions
	env   []string // besides the world's; the later one counts
	steps []step
}

// step is what a person types, by tmux's names of keys, or text as it is, and what
// shows that the program is there.
type step struct {
	keys  []string
	text  string
	shows string // a regular expression
}

func press(shows string, keys ...string) step { return step{keys: keys, shows: shows} }
func typed(text, shows string) step           { return step{text: text, shows: shows} }
func sees(shows string) step                  { return step{shows: shows} }
func at(session string, then ...step) []step {
	return append([]step{
		sees(`to review`), press(`/`, "/"), typed(session, session), press(`▸? ?\S* .*`+session, "Enter"),
	}, then...)
}

// tour is every screen, in the order in which a person meets them.
func tour(w *world) []view {
	cart := []step{press(`undecided`, "r"), press(`(?i)quantity`, "Tab", "Tab", "Tab")}
	return []view{
		{name: "first-run", env: []string{"DOCKER_HOST=unix:///nowhere/docker.sock", "HOME=" + w.repo("empty")}, steps: []step{sees(`(?i)docker`)}},
		{name: "sessions", steps: []step{sees(`to review`)}},
		{name: "help", steps: []step{sees(`to review`), press(`Keys`, "?")}},
		{name: "palette", steps: []step{sees(`to review`), press(`earch commands`, ":"), typed("st", `› st`)}},
		{name: "question", steps: at(w.mend, press(`Discard `, "x"))},
		{name: "new-run", steps: []step{sees(`to review`), press(`New run`, "n")}},
		{name: "session", steps: at(w.live, press(`sleep 3600`, "Enter"))},
		{name: "attach", args: []string{"attach", w.shell}, steps: []step{sees(`root@aibox`)}},
		{name: "look-back", args: []string{"attach", w.shell}, steps: []step{
			sees(`root@aibox`), typed("ls -1 /usr/bin | head -80", `head -80`), press(`(?m)^root@aibox:/workspace# *$`, "Enter"),
			press(`  scrollback`, "C-p", "C-s"), press(`ls -1 /usr/bin`, "Home"),
		}},
		{name: "review", steps: at(w.mend, cart...)},
		{name: "review-split", steps: at(w.mend, append(cart[:2:2], press(`(?i)quantity`, "|"))...)},
		{name: "review-16-colors", env: []string{"TERM=xterm-color", "COLORTERM="}, steps: at(w.mend, cart...)},
		{name: "review-no-color", env: []string{"NO_COLOR=1"}, steps: at(w.mend, cart...)},
		{name: "images", steps: []step{sees(`to review`), press(`Images`, "2"), sees(`codex`)}},
		{name: "network", steps: []step{sees(`to review`), press(`Network`, "3"), sees(`example\.com`)}},
		{name: "doctor", steps: []step{sees(`to review`), press(`This machine`, "4"), sees(`(?i)gvisor|runsc`)}},
		{name: "settings", steps: []step{sees(`to review`), press(`Settings`, "5"), sees(`built in`), press(`Time limit`, "j", "j", "j", "j", "j", "j", "j")}},
		{name: "plain", args: []string{"--plain"}, steps: []step{sees(`(?i)what`)}},
	}
}
