package newrun

import (
	"strings"

	"aibox/app/run"
	"aibox/internal/termtext"
	"aibox/ui/widget/dialog"

	tea "charm.land/bubbletea/v2"
)

// cloudAccepted carries the agents after the user has accepted the cloud of one of them.
type cloudAccepted struct {
	agent  string
	also   bool // the agent is one of several
	agents agentsLoaded
}

// askCloud asks whether an agent may connect to its vendor's servers, if err says that the user has
// not accepted this. It reports whether it asks. With also, the agent is to be one of several.
func (m *Model) askCloud(err error, also bool) bool {
	unaccepted, ok := run.IsUnacceptedCloud(err)
	if !ok {
		return false
	}
	ctx, services, info := m.ctx, m.services, unaccepted.Agent
	var hosts []string
	for _, host := range unaccepted.Hosts() {
		hosts = append(hosts, "  "+termtext.Escape(host))
	}
	servers := "its vendor's servers"
	if unaccepted.More() {
		servers = "more of " + servers
	}
	m.ask = dialog.Ask(dialog.Confirm{
		Title: "Let " + termtext.Escape(info.Title) + " talk to " + servers + "?", Yes: "allow",
		Text: strings.Join(hosts, "\n") + "\nThe agent can send them anything in the workspace. aibox sees how much it sends, not what. Your settings keep the answer.",
		Do: func() tea.Msg {
			if err := services.Choices.AcceptCloud(ctx, unaccepted); err != nil {
				return cloudAccepted{agents: agentsLoaded{err: err}}
			}
			all, err := services.Choices.Agents(ctx)
			return cloudAccepted{info.Name, also, agentsLoaded{all, err}}
		},
	}, m.now())
	return true
}

// setCloud stores the agents after the user has accepted a cloud. In the step of the agent, it
// chooses that agent, or adds it to those that are chosen; at the start, the request is checked again.
func (m *Model) setCloud(msg cloudAccepted) tea.Cmd {
	if msg.agents.err != nil {
		m.note.Say("", msg.agents.err)
		return nil
	}
	cmd := m.setAgents(msg.agents)
	switch {
	case m.at == stepAgent && msg.also:
		m.agent.add(msg.agent)
		return tea.Batch(cmd, m.refill())
	case m.at == stepAgent:
		m.agent.setNames([]string{msg.agent}, msg.agent)
		return tea.Batch(cmd, m.refill(), m.enter(stepTask))
	}
	m.note.Say("accepted", nil)
	m.checker.request = run.Request{}
	return cmd
}
