package plain

import "aibox/internal/termtext"

// images returns the list of agents with the state of their images.
func (t *conversation) images() (list, error) {
	agents, err := t.Choices.Agents(t.ctx)
	if err != nil {
		t.fail(err)
		return list{}, errBack
	}
	states, err := t.Choices.Images(t.ctx)
	if err != nil {
		t.fail(err)
	}
	l := list{title: "Images of agents. A number bakes one, which takes a few minutes."}
	for _, agent := range agents {
		l.choices = append(l.choices, choice{text: agent.Name + state(states, agent.Name), do: t.run("bake", agent.Name)})
	}
	l.choices = append(l.choices, choice{"a", "all that are missing or outdated", t.run("bake", "--all")})
	return l, nil
}

// state returns the state of an agent's image, to follow its name.
func state(states map[string]string, agent string) string {
	if text := states[agent]; text != "" {
		return ", " + termtext.Escape(text)
	}
	return ""
}

func (t *conversation) network() (list, error) {
	return list{title: "Network", choices: []choice{
		{text: "refused network access", do: t.run("netguard", "log")},
		{text: "the locks around the sandboxes", do: t.run("netguard", "status")},
	}}, nil
}

func (t *conversation) machine() (list, error) {
	return list{title: "This machine", choices: []choice{
		{text: "check every requirement", do: t.run("doctor")},
		{text: "fix problems; shows the steps and asks first", do: t.run("doctor", "--fix")},
		{text: "prove the isolation of a sandbox", do: t.run("doctor", "--probe")},
		{text: "list models", do: t.run("models")},
	}}, nil
}

func (t *conversation) settings() (list, error) {
	return list{title: "Settings", choices: []choice{
		{text: "all settings, with where each comes from", do: t.run("config", "show")},
		{text: "set one", do: t.set},
		{text: "unset one", do: t.unset},
	}}, nil
}

func (t *conversation) set() error {
	key, err := t.ask("Which setting? Empty for none:")
	if err != nil || key == "" {
		return err
	}
	value, err := t.ask("Its value, or several with commas between them:")
	if err != nil {
		return err
	}
	return t.run("config", "set", "--", key, value)()
}

func (t *conversation) unset() error {
	key, err := t.ask("Which setting? Empty for none:")
	if err != nil || key == "" {
		return err
	}
	return t.run("config", "unset", "--", key)()
}
