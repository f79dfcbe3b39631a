package newrun

import (
	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/key"
)

// bindings are the keys of the screen. The forms have more.
type bindings struct {
	next, back, toSteps, toStart, talk, copyCommand, leave, open key.Binding
	take, pick, also                                             key.Binding // in lists
	nameFile, openLibrary, use, insertPrompt                     key.Binding // in the task
	startNow, bake, scripted, server, setUp, more, fewer         key.Binding
}

func newBindings() *bindings {
	return &bindings{
		next: keymap.Bind("next", "tab"), back: keymap.Bind("back", "shift+tab"), toSteps: keymap.Bind("steps", "esc"),
		toStart: keymap.Bind("last step", "ctrl+s"), talk: keymap.Bind("interactive or unattended", "ctrl+t"),
		copyCommand: keymap.Bind("copy the command", "ctrl+y", "c"), leave: keymap.Bind("leave", "esc", "q"), open: keymap.Bind("open", "enter", "right", "l"),
		take: keymap.Bind("take", "enter"), pick: keymap.Bind("choose", "up", "down"), also: keymap.Bind("add", "space"),
		nameFile: keymap.Bind("name a file", "@"), openLibrary: keymap.Bind("prompts", "ctrl+l"),
		use: keymap.Bind("put before the task", "enter", "space"), insertPrompt: keymap.Bind("put into the task", "i"),
		startNow: keymap.Bind("start", "enter"), bake: keymap.Bind("bake the image and start", "b"),
		scripted: keymap.Bind("use the scripted model and start", "m"), server: keymap.Bind("choose a model server", "i"),
		setUp: keymap.Bind("set up this machine", "d"),
		more:  keymap.Bind("one more session", "+"), fewer: keymap.Bind("one fewer", "-"),
	}
}

// inList are the keys of a step with a list.
func (b *bindings) inList() []key.Binding {
	return []key.Binding{b.take, b.pick, b.next, b.back, b.toStart, b.talk, b.toSteps, b.copyCommand}
}

// enablePrompts enables the keys of prompts where there are prompts.
func (b *bindings) enablePrompts(exist bool) {
	b.use.SetEnabled(exist)
	b.insertPrompt.SetEnabled(exist)
}
