package setting

import (
	"slices"

	"aibox/agents"
	"aibox/agents/spec"
	aiboxv1 "aibox/api/aibox/v1"
	"aibox/config"
)

// sameNetwork are the settings that do not change what a sandbox can reach. The last ones are only
// for agents' sessions.
var sameNetwork = []string{
	"timeout", "idle-timeout", "memory", "cpus", "pids", "disk", "image", "allow-degraded", "max-upload", "max-tokens", "max-cost", "model-timeout",
	"state-size", "max-output", "read-only", "clean", "require-changes", "system", "verify", "verify-timeout", "sandboxes", "max-parallel",
}

// ChoosesNetwork reports whether a request has anything that could change what its sandbox can
// reach, including the model and what is the user's own. given are its settings, also those that
// were read from network. Settings that are not known to be harmless count.
func ChoosesNetwork(network *aiboxv1.NetworkPolicy, given config.RunOverrides) bool {
	return network != nil || slices.ContainsFunc(given.Keys(), func(key string) bool { return !slices.Contains(sameNetwork, key) })
}

// AgentChoosesNetwork reports whether the agent called name talks to its vendor's servers, or the
// options choose a model. An empty name is the user's default agent: its servers are the user's choice,
// like other defaults, and the options are looked up in every agent.
func AgentChoosesNetwork(all agents.Set, name string, options map[string]string) bool {
	return slices.ContainsFunc(all.All(), func(agent agents.Agent) bool {
		if name == "" {
			return chooseModel(agent, options)
		}
		info := agent.Info()
		return info.Name == name && (info.OwnCloud || chooseModel(agent, options))
	})
}

// chooseModel reports whether options of an agent, some of which it may not have, choose a model.
func chooseModel(agent agents.Agent, given map[string]string) bool {
	options := agents.Options(agent)
	own, err := agents.Models(agent, "")
	if err != nil {
		return true
	}
	for key, text := range given {
		field, known := spec.Lookup(options, key)
		if known && field.Type == spec.Model {
			return true
		}
		if known {
			_ = field.Set(options, text) // the start refuses it
		}
	}
	chosen, err := agents.Models(agent, "") // an option can name a model among other settings
	return err != nil || !slices.Equal(own, chosen)
}
