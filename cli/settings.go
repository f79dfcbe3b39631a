package cli

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"aibox/config"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/netguard"
)

// inherited are the flags that a resumed session takes from the one before.
var inherited = []string{"model", "inference", "max-upload", "max-tokens", "model-timeout", "network", "pids", "state-size", "timeout", "system", "clean", "hide", "image", "verify", "verify-timeout"}

// settled fills what the command line left open with the settings, and returns what
// a file in the repository had a part in. It comes before anything is started.
func (a *cli) settled(o *runOptions) (told string, err error) {
	resolved, err := a.app.Settings(o.repo, o.overrides()...)
	if err != nil {
		return "", err
	}
	s := resolved.Settings
	if o.network, err = netguard.ParsePolicy(s.Network); err != nil {
		return "", err
	}
	if o.agent == "" {
		o.agent = s.Agent
	}
	if o.agent == "" {
		_, err := a.app.Agents().Find("")
		return "", fault.New(fault.Usage, "%w", err).Hint("`aibox config set agent NAME` says which one to take from now on")
	}
	o.inference, o.model, o.image, o.accept = s.Inference, s.Model, s.Image, s.Accept
	o.tools, o.maxUpload, o.maxTokens = s.InferenceTools, uint64(max(s.MaxUpload, 0)), uint64(max(s.MaxTokens, 0))
	o.modelTimeout = time.Duration(s.ModelTimeout)
	o.timeout, o.pids, o.clean, o.changes = time.Duration(s.Timeout), uint64(max(s.Pids, 0)), s.Clean, s.RequireChanges
	o.stateSize, o.degraded = uint64(max(s.StateSize, 0)), s.AllowDegraded
	o.verifying = verifyFlags{command: s.Verify, timeout: time.Duration(s.VerifyTimeout)}
	o.hide, o.system, o.env = s.Hide, s.System, withNames(o.env, s.Env)
	if o.detach { // the settings speak of runs that are followed to their end
		restore(o, "accept", &o.accept, "none")
		restore(o, "require-changes", &o.changes, false)
	}
	var options []string
	for _, setting := range resolved.Agent(o.agent) {
		options = append(options, setting.Field.Key+"="+setting.Text())
	}
	o.set = append(options, o.set...) // the later one counts
	return ofRepository(resolved, o), nil
}

// overrides are the flags that are settings too.
func (o *runOptions) overrides() []config.Override {
	all := []config.Override{
		{Key: "network", Value: o.network.String()},
		{Key: "inference", Value: o.inference},
		{Key: "model", Value: o.model},
		{Key: "inference-tools", Texts: o.tools},
		{Key: "max-upload", Value: int64(min(o.maxUpload, math.MaxInt64))},
		{Key: "max-tokens", Value: int64(min(o.maxTokens, math.MaxInt64))},
		{Key: "model-timeout", Value: amount.Span(o.modelTimeout)},
		{Key: "image", Value: o.image},
		{Key: "timeout", Value: amount.Span(o.timeout)},
		{Key: "pids", Value: int64(min(o.pids, math.MaxInt64))},
		{Key: "state-size", Value: int64(min(o.stateSize, math.MaxInt64))},
		{Key: "allow-degraded", Value: o.degraded},
		{Key: "hide", Texts: o.hide},
		{Key: "system", Texts: o.system},
		{Key: "clean", Value: o.clean},
		{Key: "accept", Value: o.accept},
		{Key: "require-changes", Value: o.changes},
		{Key: "verify", Value: o.verifying.command},
		{Key: "verify-timeout", Value: amount.Span(o.verifying.timeout)},
	}
	var given []config.Override
	for _, override := range all {
		if o.given(override.Key) || o.resumes != "" && slices.Contains(inherited, override.Key) {
			override.Name = "--" + override.Key
			given = append(given, override)
		}
	}
	return given
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
		if o.resumes != "" && slices.Contains(inherited, setting.Key) || ofAgent && !strings.HasPrefix(agent, o.agent+".") {
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
