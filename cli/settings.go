package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/termtext"
)

// resolveDefaults fills what the command line left open with the settings, and returns what
// a file in the repository had a part in. It comes before anything is started.
func (a *cli) resolveDefaults(o *runOptions) (told string, err error) {
	resolved, err := a.app.Settings(o.repo, o.overrides()...)
	if err != nil {
		return "", err
	}
	if o.agent == "" {
		o.agent = resolved.Settings.Agent
	}
	if o.agent == "" {
		_, err := a.app.Agents().Find("")
		return "", fault.New(fault.Usage, "%w", err).Hint("`aibox config set agent NAME` sets a default agent")
	}
	env := o.Env
	o.Run = resolved.Settings.Run
	o.Env = withNames(env, o.Env)
	if o.detach { // the settings speak of runs that are followed to their end
		if !o.given("accept") {
			o.Accept = "none"
		}
		o.RequireChanges = o.RequireChanges && o.given("require-changes")
	}
	var options []string
	for _, setting := range resolved.Agent(o.agent) {
		options = append(options, setting.Field.Key+"="+setting.Text())
	}
	o.set = append(options, o.set...) // the later one counts
	return ofRepository(resolved, o), nil
}

// withNames are the variables of the command line, and before them the names of
// those in the settings that the user has and the command line does not give.
func withNames(flags, names []string) []string {
	var all []string
	for _, name := range names {
		_, have := os.LookupEnv(name)
		given := slices.ContainsFunc(flags, func(flag string) bool {
			own, _, _ := strings.Cut(flag, "=")
			return own == name
		})
		if have && !given {
			all = append(all, name)
		}
	}
	return append(all, flags...)
}

// ofRepository says in one line what a file in the repository set, raw; empty for
// nothing. A resumed session is as its first one was.
func ofRepository(resolved *config.Resolved, o *runOptions) string {
	var told []string
	for _, setting := range resolved.OfRepository() {
		agent, ofAgent := strings.CutPrefix(setting.Key, "agents.")
		if o.resumes != "" && isInherited(setting.Key) || ofAgent && !strings.HasPrefix(agent, o.agent+".") {
			continue
		}
		value := setting.Text()
		if value == "" {
			value = "nothing"
		}
		told = append(told, setting.Key+" "+value)
	}
	return strings.Join(told, ", ")
}

// tell says what ofRepository found.
func (a *cli) tell(told string) {
	if told != "" {
		fmt.Fprintf(a.err, "%s %s: %s\n", a.errTerm.warn("!"), config.RepositoryName, firstLine(termtext.Escape(told), 400))
	}
}
