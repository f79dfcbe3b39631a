package app

import (
	"strconv"
	"sync"

	"aibox/app/doctor"
	"aibox/config"
	"aibox/internal/amount"
	"aibox/internal/diskuse"
	"aibox/internal/paths"
	"aibox/runtime/limit"
	"aibox/runtime/limit/process"
	"aibox/runtime/limit/scope"
)

// machineLimits returns the limits that depend on this machine's size, as settings.
func machineLimits() map[string]string {
	limits := limit.ThisMachine().Default()
	return map[string]string{
		"disk":   strconv.Itoa(int(growthLimit())),
		"memory": strconv.FormatInt(limits.Memory>>20, 10),
		"cpus":   strconv.FormatFloat(limits.CPUs, 'f', -1, 64),
	}
}

// growthLimit returns the default limit of a workspace's growth: a part of the free space on
// the disk of the workspaces, so that several sessions can share it.
func growthLimit() amount.MiB {
	dirs, err := paths.Default()
	if err != nil {
		return config.MaxGrowth
	}
	for _, folder := range []string{dirs.Workspace, dirs.Home} { // the first one may not exist yet
		if free, err := diskuse.Free(folder); err == nil {
			return max(1, min(config.MaxGrowth, amount.MiB(free/4>>20)))
		}
	}
	return config.MaxGrowth
}

// limitEnforcer returns the mechanism that enforces the limits of sandboxes on this
// machine: a scope of the user's systemd, or otherwise aibox.
func limitEnforcer() limit.Enforcer {
	enforcer, _ := openLimits()
	return enforcer
}

// openLimits opens the enforcer once. The error is the reason why it is not a scope.
var openLimits = sync.OnceValues(func() (limit.Enforcer, error) {
	enforcer, err := scope.Open()
	if err != nil {
		return process.Enforcer{}, err
	}
	return enforcer, nil
})

// limitReport describes the mechanism that enforces limits, for the report about this
// machine.
func limitReport() doctor.LimitEnforcer {
	enforcer, err := openLimits()
	return doctor.LimitEnforcer{Name: enforcer.Name(), NoScope: err}
}
