package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"aibox/internal/lifeline"
)

// startIdle prepares a sandbox without an agent. The sandbox runs until it is stopped.
func (srv *server) startIdle(s lifeline.Start) {
	home, err := srv.prepareIdle(s)
	if err != nil {
		srv.send(lifeline.TypeError, lifeline.Error{Text: errorText(err)})
		srv.exit(lifeline.Exit{Code: 125})
		return
	}
	srv.mu.Lock()
	defer srv.mu.Unlock()
	srv.idle = true // before the supervisor can send requests
	srv.send(lifeline.TypeStarted, lifeline.Started{Home: home})
	go srv.others.launchers.prepare()
	go srv.watchTasks(s.Nproc)
	if srv.stopped {
		go srv.endIdle()
	}
}

// prepareIdle writes the files, adds the user, and sets the environment of all processes. It
// returns the user's home.
func (srv *server) prepareIdle(s lifeline.Start) (home string, err error) {
	env, err := trustAuthority("/", environment(os.Environ(), s.Env), s.Authority)
	if err != nil {
		return "", fmt.Errorf("adding the session's certificate authority: %w", err)
	}
	user, err := setUpAccount("/", s.Account)
	if err != nil {
		return "", fmt.Errorf("adding the user %q: %w", s.Account.Name, err)
	}
	home = lookup(env, "HOME")
	srv.files.setHome(home)
	if user != nil {
		home = user.home
		env = environment(env, []string{"HOME=" + home, "USER=" + s.Account.Name, "LOGNAME=" + s.Account.Name})
	}
	if s.Account != nil && len(s.Account.Hidden) > 0 {
		srv.others.setHides()
	}
	if s.Dir != "" {
		if err := makeFolder(s.Dir, user, s.Account); err != nil {
			return "", err
		}
	}
	if err := writeFiles(lookup(env, "HOME"), s.Files); err != nil {
		return "", err
	}
	srv.others.setEnvironment(env)
	return home, nil
}

// makeFolder makes the folder in which processes start. It belongs to the user, unless the
// user's access is confined to other folders.
func makeFolder(path string, user *identity, account *lifeline.Account) error {
	if user == nil || account.Confine {
		return os.MkdirAll(path, 0o755)
	}
	return makeOwned("/", path, user)
}

// endIdle ends all processes of a sandbox without an agent, and reports its end.
func (srv *server) endIdle() {
	if srv.others.end() {
		srv.reaper.waitNone(leftoverGrace, nil)
	}
	exit := lifeline.Exit{Code: 128 + int(unix.SIGTERM), Signal: int(unix.SIGTERM)}
	if !srv.reaper.collect() {
		exit.Left = true
		srv.reaper.killAll(leftoverGrace, killLimit)
	}
	srv.exit(exit)
}
