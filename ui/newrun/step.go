package newrun

import (
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// stepID is the place of a step on the screen.
type stepID int

// The steps, in order.
const (
	stepRepository stepID = iota
	stepAgent
	stepTask
	stepOptions
	stepSandbox
	stepStart
	stepCount
)

var stepNames = [stepCount]string{"Repository", "Agent", "Task", "Options", "Sandbox", "Start"}

// step is one step of the screen. It holds what the user chose in it.
type step interface {
	// focus gives the step the keyboard.
	focus() tea.Cmd
	// blur takes the keyboard away.
	blur()
	// setSize sets the size in cells.
	setSize(width, height int)
	// update handles a key, a paste, the mouse (counted from the step's own first cell)
	// or a message of the step's widgets.
	update(msg tea.Msg) (outcome, tea.Cmd)
	// view returns the lines of the step. active means that it has the keyboard.
	view(t theme.Theme, active bool) []string
	// keys are the keys for the foot of the screen.
	keys() []key.Binding
	// takesEsc reports whether esc closes something in the step.
	takesEsc() bool
	// status is the choice in a few words, escaped, and whether it is complete.
	status() (text string, complete bool)
}

// outcome is the action that a step requests of the screen after a message.
type outcome int

const (
	stay         outcome = iota
	forward              // go to the next step
	backward             // go to the previous step
	pick                 // apply the repository or agent that the user picked
	start                // start the run
	startBake            // bake the missing image, then start the run
	cancel               // cancel the start
	watch                // go to the session that was started
	leave                // leave the screen; the session continues
	copyLine             // copy the command line
	useScripted          // choose the scripted model, and start the run
	chooseServer         // go to the setting of the model server
	setUp                // set up this machine
	pickAlso             // add or remove the selected item of a list
	moreTimes            // run the task once more, side by side
	fewerTimes           // run the task once less
	listPrompts          // list the prompts of the library
)
