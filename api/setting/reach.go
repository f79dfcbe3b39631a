package setting

import (
	"slices"

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
