package app

import (
	"path/filepath"

	"aibox/internal/paths"
	"aibox/internal/prompts"
	"aibox/session"
	"aibox/workspace"
)

// Prompts returns the system prompts of the user and of the repository at path. A
// repository with a URL has none before it was cloned.
func Prompts(path string) (prompts.Library, error) {
	dirs, err := paths.Default()
	if err != nil {
		return prompts.Library{}, err
	}
	if workspace.IsURL(path) {
		path = ""
	}
	return prompts.Open(filepath.Join(dirs.Config, "prompts"), workspace.WorkingTree(path)), nil
}

// SystemPrompts reads the named prompts for a run in repo, in this order, each once.
func SystemPrompts(repo string, names []string) ([]session.SystemPrompt, error) {
	if len(names) == 0 {
		return nil, nil
	}
	library, err := Prompts(repo)
	if err != nil {
		return nil, err
	}
	var chosen []session.SystemPrompt
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			continue
		}
		seen[name] = true
		prompt, err := library.Find(name)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, session.SystemPrompt{Name: name, Text: prompt.Text})
	}
	return chosen, nil
}
