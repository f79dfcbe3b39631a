package main

import "slices"

// table returns every control. Add one with each new security decision.
func table() []control {
	return slices.Concat(addresses(), names(), policies(), registries(), mounts(), readOnlyFiles(), repositoryNames(), filters(), hiddenFiles(), sandboxUsers(), requests(), tunnels(), heads(), connections(), inspection(), authorities(), ssh(), gateway(), bodies(), modelServers(), hostTasks(), logins(), ownSandboxes(), tenants())
}
