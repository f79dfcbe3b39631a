package app

import (
	"os"
	"path/filepath"

	"aibox/internal/paths"
	"aibox/internal/prompts"
	"aibox/session"
	"aibox/workspace"
)

// Prompts are the system prompts of the user and of the repository at path. A
// repository that is a URL has none before it was cloned.
func Prompts(path string) (prompts.Library, error) {
	dirs, err := paths.Default()
	if err != nil {
		return prompts.Library{}, err
	}
	if workspace.IsURL(path) {
		path = ""
	}
	return prompts.Open(filepath.Join(dirs.Config, "prompts"), WorkingTree(path)), nil
}

// WorkingTree returns the top of the working tree that holds path, with symlinks
// resolved, or "" for none. As for git, a folder .git without a HEAD is no repository.
func WorkingTree(path string) string {
	if path == "" {
		return ""
	}
	absolute, err := filepath.Abs(path)
	if err == nil {
		absolute, err = filepath.EvalSymlinks(absolute)
	}
	for dir := absolute; err == nil; dir = filepath.Dir(dir) {
		info, missing := os.Lstat(filepath.Join(dir, ".git"))
		if missing == nil && info.IsDir() {
			_, missing = os.Lstat(filepath.Join(dir, ".git", "HEAD"))
		}
		if missing == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return ""
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
