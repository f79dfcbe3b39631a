package app

import (
	"strconv"
	"sync"

	"aibox/runtime/limit"
	"aibox/runtime/limit/process"
	"aibox/runtime/limit/scope"
)

// machineLimits returns the limits that depend on this machine's size, as settings.
func machineLimits() map[string]string {
	limits := limit.ThisMachine().Default()
	return map[string]string{
		"memory": strconv.FormatInt(limits.Memory>>20, 10),
		"cpus":   strconv.FormatFloat(limits.CPUs, 'f', -1, 64),
	}
}

// limitEnforcer returns what enforces the limits of sandboxes on this machine: a scope of
// the user's systemd, or else aibox.
var limitEnforcer = sync.OnceValue(func() limit.Enforcer {
	if enforcer, err := scope.Open(); err == nil {
		return enforcer
	}
	return process.Enforcer{}
})
