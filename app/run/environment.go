package run

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/session/mount"
	"aibox/workspace"
)

// addNames returns the variables of a run, after the names in the settings that are set and
// that the run does not override.
func addNames(names, given []string) []string {
	var all []string
	for _, name := range names {
		_, set := os.LookupEnv(name)
		replaced := slices.ContainsFunc(given, func(variable string) bool {
			own, _, _ := strings.Cut(variable, "=")
			return own == name
		})
		if set && !replaced {
			all = append(all, name)
		}
	}
	return append(all, given...)
}

// readVariables returns variables, each NAME or NAME=VALUE, as NAME=VALUE, and only the
// names for the record.
func readVariables(variables []string) (env, names []string, err error) {
	for _, variable := range variables {
		name, _, given := strings.Cut(variable, "=")
		if name == "" || strings.ContainsAny(name, " \t\n\x00") {
			return nil, nil, fault.New(fault.Usage, "--env %q is not NAME or NAME=VALUE", variable)
		}
		if !given {
			value, ok := os.LookupEnv(name)
			if !ok {
				return nil, nil, fault.New(fault.Usage, "--env %s: the variable is not set", name).
					Hint("set it, or write --env %s=VALUE", name)
			}
			variable = name + "=" + value
		}
		env, names = append(env, variable), append(names, name)
	}
	return env, names, nil
}

// absoluteRepository makes a path absolute. A URL stays unchanged.
func absoluteRepository(name string) (string, error) {
	if workspace.IsURL(name) {
		return name, nil
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return "", fault.New(fault.Usage, "the repository %q cannot be found: %w", name, err)
	}
	return path, nil
}

// resolveMounts returns the mounts with absolute paths without symlinks, or why one is not
// possible.
func resolveMounts(repository string, words []string) ([]string, error) {
	if len(words) == 0 {
		return words, nil
	}
	dirs, err := paths.Default()
	if err != nil {
		return nil, err
	}
	mounts, err := mount.Resolve(dirs, repository, words)
	return mount.Words(mounts), err
}

// absoluteScript makes the path in scripted:PATH absolute. A name without a slash is a
// built-in script.
func absoluteScript(inference string) (string, error) {
	file, ok := strings.CutPrefix(inference, "scripted:")
	if !ok || !strings.ContainsRune(file, '/') {
		return inference, nil
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return "", fault.New(fault.Usage, "the script %q cannot be found: %w", file, err)
	}
	return "scripted:" + path, nil
}
