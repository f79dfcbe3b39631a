package newrun

import (
	"aibox/app/run"
	"aibox/workspace"

	tea "charm.land/bubbletea/v2"
)

// files are those of the repository, for naming them in the task and for showing
// which are hidden.
type files struct {
	hidden []string     // raw
	of     *run.Request // what they are of; nil while nothing is known
	asking bool         // an answer is on its way
	err    error
}

type filesKnown struct {
	of      *Model
	request run.Request
	asked   int
	visible names
	hidden  []string
	err     error
}

// sort asks for the files when what they depend on has changed.
func (m *Model) sort() tea.Cmd {
	if m.place == nil || workspace.IsURL(m.place.Top) {
		return nil
	}
	d := run.Request{Agent: m.draft.Agent, Repository: m.place.Top, Branch: m.draft.Branch, Settings: map[string]string{}}
	for _, key := range []string{"hide", "clean"} {
		if text, said := m.draft.Settings[key]; said {
			d.Settings[key] = text
		}
	}
	if d.Agent == "" && len(m.agents) > 0 {
		d.Agent = m.agents[0].Name // any one: the files are the same
	}
	if m.files.of != nil && d.Equal(*m.files.of) || m.files.asking || d.Agent == "" {
		return nil
	}
	m.files.asking = true
	ctx, runs, asked := m.ctx, m.services.Runs, m.asked
	return func() tea.Msg {
		visible, hidden, err := runs.Files(ctx, d)
		return filesKnown{m, d, asked, namesOf(visible), hidden, err}
	}
}

func (m *Model) takeFiles(msg filesKnown) tea.Cmd {
	if msg.asked != m.asked {
		return nil // of another repository
	}
	m.files.of, m.files.asking, m.files.err = &msg.request, false, msg.err
	if msg.err == nil {
		m.files.hidden = msg.hidden
		m.task.know(msg.visible)
		return m.options.part.Suggest(m.suggest())
	}
	return nil // compose asks again where it is outdated by now
}
