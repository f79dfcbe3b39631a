package newrun

import (
	"aibox/app/run"
	"aibox/workspace"

	tea "charm.land/bubbletea/v2"
)

// files are those of the repository, for naming them in the task and for showing
// which are hidden.
type files struct {
	hidden []string // raw
	of     string   // what they are of; see sort
	asking string   // what is being asked for; empty for nothing
	err    error
}

type filesKnown struct {
	of      *Model
	key     string
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
	key := run.Line(d.Words(nil))
	if key == m.files.of || m.files.asking != "" || d.Agent == "" {
		return nil
	}
	m.files.asking = key
	ctx, runs, asked := m.ctx, m.services.Runs, m.asked
	return func() tea.Msg {
		visible, hidden, err := runs.Files(ctx, d)
		return filesKnown{m, key, asked, namesOf(visible), hidden, err}
	}
}

func (m *Model) takeFiles(msg filesKnown) tea.Cmd {
	if msg.asked != m.asked {
		return nil // of another repository
	}
	m.files.of, m.files.asking, m.files.err = msg.key, "", msg.err
	if msg.err == nil {
		m.files.hidden = msg.hidden
		m.task.know(msg.visible)
	}
	return nil // compose asks again where it is outdated by now
}
