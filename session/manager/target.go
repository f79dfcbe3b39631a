package manager

import (
	"encoding/json"
	"path/filepath"

	"aibox/internal/paths"
	"aibox/review/accept"
	"aibox/session"
)

const (
	targetsFile    = "targets.json" // file in the state folder
	maxTargets     = 1000           // number of repositories
	maxTargetsFile = 8 << 20        // bytes
)

// LastTarget returns the target to which the user last delivered work for a repository; a
// branch if it is unknown.
func (s *workReader) LastTarget(repo string) accept.Target { return targets(s.store)[repo] }

// RememberTarget stores the target for the next review in a repository. If two processes
// write at the same time, the last write is kept.
func (s *deliveries) RememberTarget(repo string, target accept.Target) error {
	all := targets(s.store)
	if all[repo] == target {
		return nil
	}
	if target == accept.ToBranch {
		delete(all, repo)
	} else if all[repo] = target; len(all) > maxTargets {
		all = map[string]accept.Target{repo: target}
	}
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return paths.WriteFile(targetsPath(s.store), data)
}

func targetsPath(store session.Store) string { return filepath.Join(store.Dirs().State, targetsFile) }

// targets returns the remembered targets by repository; none if they cannot be read.
func targets(store session.Store) map[string]accept.Target {
	all := map[string]accept.Target{}
	data, err := paths.ReadSmall(targetsPath(store), maxTargetsFile)
	if err != nil || json.Unmarshal(data, &all) != nil {
		return map[string]accept.Target{}
	}
	return all
}
