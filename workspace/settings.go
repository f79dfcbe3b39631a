package workspace

import (
	"context"
	"strings"
	"time"

	"aibox/internal/fault"
	"aibox/internal/git"
)

// settings are what a workspace needs of git's settings for the user's repository.
type settings struct {
	who      git.Signature // the user's name and e-mail; aibox's where they are not set
	fileMode bool          // modes of files count
	noLinks  bool          // git writes symlinks as files with their targets
	excludes string        // the file of the user's own ignore rules; empty for git's default
}

// readSettings reads them with one process.
func readSettings(ctx context.Context, repo *git.Repo) (settings, error) {
	s := settings{who: git.Signature{Name: "aibox", Email: "aibox@localhost", When: time.Now()}, fileMode: true}
	found, err := repo.Settings(ctx, `^(user\.(name|email)|core\.(filemode|symlinks|excludesfile))$`)
	if err != nil {
		return s, fault.New(fault.Usage, "git cannot read its settings: %s", git.Message(err))
	}
	for _, setting := range found {
		switch {
		case setting.Name == "core.filemode":
			s.fileMode = setting.IsTrue()
		case setting.Name == "core.symlinks":
			s.noLinks = !setting.IsTrue()
		case setting.Name == "core.excludesfile":
			s.excludes = setting.Value
		case setting.Value == "":
		case setting.Name == "user.name":
			s.who.Name = setting.Value
		case setting.Name == "user.email":
			s.who.Email = setting.Value
		}
	}
	if strings.HasPrefix(s.excludes, "~") || strings.HasPrefix(s.excludes, "%(") { // git replaces these
		if s.excludes, err = repo.Line(ctx, "config", "--type=path", "core.excludesFile"); err != nil {
			return s, fault.New(fault.Usage, "git cannot read its settings: %s", git.Message(err))
		}
	}
	return s, nil
}

// Identity returns the committer for ws's repository: the user's name and e-mail from git's
// configuration, else aibox's.
func Identity(ctx context.Context, ws *Workspace) git.Signature {
	s, _ := readSettings(ctx, git.User(ws.Repo)) // a name is no reason to fail
	return s.who
}
