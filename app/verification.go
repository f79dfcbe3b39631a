package app

import (
	"os"
	"time"

	"aibox/session"
	"aibox/session/manager"
)

// VerifyRequest completes a request to verify a session's work. An empty command means the
// session's own command, or otherwise the one in the user's settings. A timeout of 0 means
// the one that belongs to the command.
func (a *App) VerifyRequest(of session.Session, request manager.VerifyRequest) (manager.VerifyRequest, error) {
	request.Env = LookupVariables(of.Env)
	if request.Command != "" || of.Verify != "" {
		return request, nil
	}
	own, err := a.UserSettings()
	if err != nil {
		return request, err
	}
	request.Command = own.Settings.Verify
	if request.Timeout == 0 && request.Command != "" {
		request.Timeout = time.Duration(own.Settings.VerifyTimeout)
	}
	return request, nil
}

// LookupVariables returns the named variables that are set, as NAME=VALUE.
func LookupVariables(names []string) []string {
	var env []string
	for _, name := range names {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
