package compose

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aibox/agents/spec"
	"aibox/app"
	"aibox/app/run"
	"aibox/config"
	"aibox/internal/paths"
	"aibox/internal/prompts"
	"aibox/session/manager"
	"aibox/workspace"
)

// Repositories finds and describes repositories.
type Repositories struct {
	app      *app.App
	sessions *manager.Manager
	runner   *run.Runner
	dirs     paths.Dirs
}

// NewRepositories returns the repositories of this user.
func NewRepositories(a *app.App, sessions *manager.Manager, runner *run.Runner, dirs paths.Dirs) Repositories {
	return Repositories{a, sessions, runner, dirs}
}

// Place is a repository, with its settings and remembered choices.
type Place struct {
	workspace.Place
	Settings *config.Resolved
	Last     *run.Request     // the last choices for it; nil for none
	Prompts  []prompts.Prompt // the library, including the repository's own
	// Resumed is the request of the session that this request resumes; nil for a new run.
	// Settings include its settings.
	Resumed *run.Request
}

// CheckSetting reports an error in a list of hosts or patterns of draft, a pointer to
// settings.
func (p *Place) CheckSetting(draft any, field spec.Field) error {
	if !config.IsProxySetting(field.Key) && field.Key != "hide" {
		return nil
	}
	setting, err := p.Settings.Find(field.Key)
	if err != nil {
		return nil //nolint:nilerr // no setting of the files
	}
	return setting.Check(field.Value(draft))
}

// Folder is a folder whose path begins with the typed text.
type Folder struct {
	Path       string // in the typed form, raw
	Repository bool
}

// maxRecent bounds the recent repositories.
const maxRecent = 50

// Recent returns the repository that contains the current directory, followed by those of
// the sessions, newest first.
func (r Repositories) Recent(context.Context) ([]string, error) {
	var all []string
	add := func(repository string) {
		if repository != "" && len(all) < maxRecent && !slices.Contains(all, repository) {
			all = append(all, repository)
		}
	}
	if workspace.WorkingTree(".") != "" {
		add(currentDirectory())
	}
	summaries, err := r.sessions.Summaries()
	for _, summary := range slices.Backward(summaries) {
		add(summary.Repository)
	}
	return all, err
}

// currentDirectory returns the current directory without symlinks; "." if it is unknown.
func currentDirectory() string {
	here, err := os.Getwd()
	if err == nil {
		here, err = filepath.EvalSymlinks(here)
	}
	if err != nil {
		return "."
	}
	return here
}

// Look returns the known facts about a repository, without cloning it.
func (r Repositories) Look(ctx context.Context, repository string) (Place, error) {
	at, err := workspace.Look(ctx, r.expand(repository), r.dirs)
	if err != nil {
		return Place{}, err
	}
	place := Place{Place: at}
	if place.Settings, err = r.app.Settings(at.Top); err != nil {
		return Place{}, err
	}
	store := storeIn(r.dirs)
	last, ok := store.Last(filepath.Join(at.Top, at.Start))
	if !ok {
		last, ok = store.Last(at.Top) // a URL is not a path that can be joined
	}
	if ok {
		last = r.runner.WithoutDefaults(last, place.Settings)
		place.Last = &last
	}
	place.Prompts, err = r.Prompts(ctx, at.Top)
	return place, err
}

// Prompts returns the library of prompts for the repository at top. It leaves out those
// that cannot be read.
func (Repositories) Prompts(_ context.Context, top string) ([]prompts.Prompt, error) {
	library, err := app.Prompts(top)
	if err != nil {
		return nil, err
	}
	all, _ := library.All()
	return all, nil
}

// expand replaces a leading ~ in typed text.
func (r Repositories) expand(typed string) string {
	if typed == "~" || strings.HasPrefix(typed, "~/") {
		return r.dirs.Home + typed[1:]
	}
	return typed
}

// Branches returns the branches of a repository. For a URL it reads them over the network.
func (r Repositories) Branches(ctx context.Context, repository string) ([]string, error) {
	return workspace.Branches(ctx, r.expand(repository), r.dirs)
}

// maxFolders bounds the number of folders that complete a path.
const maxFolders = 200

// Folders returns the folders whose paths begin with typed. exists reports whether typed is
// itself a folder.
func (r Repositories) Folders(_ context.Context, typed string) (folders []Folder, exists bool) {
	begin, prefix := filepath.Split(typed)
	exists = isFolder(r.expand(typed))
	dir := r.expand(begin)
	if dir == "" {
		dir = "."
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, exists
	}
	for _, entry := range entries {
		name := entry.Name()
		if len(folders) == maxFolders || !strings.HasPrefix(name, prefix) || strings.HasPrefix(name, ".") && prefix == "" {
			continue
		}
		full := filepath.Join(dir, name)
		if !isFolder(full) {
			continue
		}
		_, err := os.Lstat(filepath.Join(full, ".git"))
		folders = append(folders, Folder{Path: begin + name, Repository: err == nil})
	}
	return folders, exists
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
