package workspace

import (
	"context"
	"errors"
	"strings"
	"time"

	"aibox/internal/command"
	"aibox/internal/fault"
	"aibox/internal/git"
)

// settings are what a workspace needs of git's settings for the user's repository.
type settings struct {
	who      git.Signature // the user's name and e-mail; aibox's where they are not set
	fileMode bool          // modes of files count
	excludes string        // the file of the user's own ignore rules; empty for git's default
}

// readSettings reads them with one process. If a setting is there several times, the last one counts.
func readSettings(ctx context.Context, repo *git.Repo) (settings, error) {
	s := settings{who: git.Signature{Name: "aibox", Email: "aibox@localhost", When: time.Now()}, fileMode: true}
	found, err := repo.Records(ctx, "config", "-z", "--get-regexp", `^(user\.(name|email)|core\.(filemode|excludesfile))$`)
	if failed, ok := errors.AsType[*command.Error](err); ok && failed.Code == 1 {
		return s, nil // none is set
	}
	if err != nil {
		return s, fault.New(fault.Usage, "git cannot read its settings: %s", git.Message(err))
	}
	for _, setting := range found {
		name, value, given := strings.Cut(setting, "\n")
		switch {
		case name == "core.filemode":
			s.fileMode = git.IsTrue(value, given)
		case name == "core.excludesfile":
			s.excludes = value
		case value == "":
		case name == "user.name":
			s.who.Name = value
		case name == "user.email":
			s.who.Email = value
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
