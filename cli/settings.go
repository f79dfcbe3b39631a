package cli

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aibox/agents"
	"aibox/bakery"
	"aibox/config"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/health"
	"aibox/internal/paths"
	"aibox/internal/termtext"
	"aibox/netguard"
	"aibox/workspace"
)

// catalog is what settings can be about.
func (a *app) catalog() config.Catalog {
	catalog := config.Catalog{Version: func(text string) error {
		_, err := bakery.ParseVersion(text)
		return err
	}}
	for _, agent := range a.agents().All() {
		info := agent.Info()
		catalog.Agents = append(catalog.Agents, config.Agent{Name: info.Name, Options: agents.Options(agent)})
		if info.Version != "" && info.Image != bakery.Base && !slices.Contains(catalog.Images, info.Image) {
			catalog.Images = append(catalog.Images, info.Image)
		}
	}
	for _, broken := range a.guests().broken {
		catalog.Unread = append(catalog.Unread, strings.TrimSuffix(filepath.Base(broken.path), ".toml"))
	}
	return catalog
}

// userFile is the user's own file of settings, which need not be there.
func userFile() (string, error) {
	dirs, err := paths.Default()
	return filepath.Join(dirs.Config, config.UserName), err
}

// settings are what holds for the repository at repo, a path or a URL; "" is none.
// A repository has settings where it has a working tree.
func (a *app) settings(repo string, flags ...config.Override) (*config.Resolved, error) {
	in := config.Input{Environment: os.Environ(), Flags: flags}
	file, err := userFile()
	if err != nil {
		return nil, err
	}
	if in.User, err = config.ReadUser(file); err != nil {
		return nil, brokenSettings(err)
	}
	if repo != "" && !workspace.IsURL(repo) {
		if top := topOf(repo); top != "" {
			if in.Repository, err = config.ReadRepository(top); err != nil {
				return nil, brokenSettings(err)
			}
		}
	}
	resolved, err := a.catalog().Resolve(in)
	return resolved, brokenSettings(err)
}

// brokenSettings adds to an error of a file how to mend it.
func brokenSettings(err error) error {
	if err == nil {
		return nil
	}
	file, _ := userFile()
	switch place, _, _ := strings.Cut(err.Error(), "\n"); {
	case strings.HasPrefix(place, file):
		return fault.New(fault.KindOf(err), "%w", err).Hint("`aibox config edit` opens it")
	case strings.Contains(place, "/"+config.RepositoryName):
		return fault.New(fault.KindOf(err), "%w", err).Hint("mend or remove it: an agent may have written it")
	default:
		return err
	}
}

// ownSettings are the settings without any repository's, read once.
func (a *app) ownSettings() (*config.Resolved, error) {
	a.ownLock.Lock()
	defer a.ownLock.Unlock()
	if !a.ownRead {
		a.own, a.ownErr = a.settings("")
		a.ownRead = true
	}
	return a.own, a.ownErr
}

// forgetOwnSettings has them read anew by whoever asks next.
func (a *app) forgetOwnSettings() {
	a.ownLock.Lock()
	defer a.ownLock.Unlock()
	a.ownRead = false
}

// systemDocker reports whether to use the system's Docker: what the flag says, or
// else the settings. Settings that cannot be read stop whatever needs a daemon, and
// nothing else.
func (a *app) systemDocker() (bool, error) {
	if a.rootfulGiven {
		return a.rootful, nil
	}
	own, err := a.ownSettings()
	if err != nil {
		return false, err
	}
	return own.Settings.Rootful, nil
}

// allowsDegraded reports whether the user's own settings allow a session although this
// machine cannot enforce a limit.
func (a *app) allowsDegraded() bool {
	own, err := a.ownSettings()
	return err == nil && own.Settings.AllowDegraded
}

// settingsFinding is what doctor says of the settings.
func (a *app) settingsFinding() health.Finding {
	f := health.Finding{Name: "settings", State: health.OK, Detail: "built in"}
	own, err := a.ownSettings()
	if err != nil {
		f.State, f.Mend = health.Missing, "aibox config edit"
		f.Detail, _, _ = strings.Cut(err.Error(), "\n")
		return f
	}
	set := 0
	for _, setting := range own.All() {
		if setting.Source().Kind != config.BuiltIn {
			set++
		}
	}
	if set > 0 {
		f.Detail = fmt.Sprintf("%d set; `aibox config show --changed` shows them", set)
	}
	return f
}

// recipes says how images are baked.
func (a *app) recipes() (bakery.Options, error) {
	own, err := a.ownSettings()
	if err != nil {
		return bakery.Options{}, err
	}
	options := bakery.Options{Host: bakery.ReadHost(), Base: own.Images.Base, Versions: map[string]bakery.Version{}}
	for image, text := range own.Versions {
		if options.Versions[image], err = bakery.ParseVersion(text); err != nil {
			return bakery.Options{}, err
		}
	}
	return options, nil
}

// inherited are the flags that a resumed session takes from the one before.
var inherited = []string{"model", "inference", "max-upload", "max-tokens", "model-timeout", "network", "pids", "state-size", "timeout", "system", "clean", "hide", "image", "verify", "verify-timeout"}

// settled fills what the command line left open with the settings, and returns what
// a file in the repository had a part in. It comes before anything is started.
func (a *app) settled(o *runOptions) (told string, err error) {
	resolved, err := a.settings(o.repo, o.overrides()...)
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
		_, err := a.agents().Find("")
		return "", fault.New(fault.Usage, "%w", err).Hint("`aibox config set agent NAME` says which one to take from now on")
	}
	o.inference, o.model, o.image, o.accept = s.Inference, s.Model, s.Image, s.Accept
	o.tools, o.maxUpload, o.maxTokens = s.InferenceTools, uint64(max(s.MaxUpload, 0)), uint64(max(s.MaxTokens, 0))
	o.modelTimeout = s.ModelTimeout
	o.timeout, o.pids, o.clean, o.changes = s.Timeout, uint64(max(s.Pids, 0)), s.Clean, s.RequireChanges
	o.stateSize, o.degraded = uint64(max(s.StateSize, 0)), s.AllowDegraded
	o.verifying = verifyFlags{command: s.Verify, timeout: s.VerifyTimeout}
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
func (a *app) tell(told string) {
	if told != "" {
		fmt.Fprintf(a.err, "%s %s: %s\n", a.errTerm.warn("!"), config.RepositoryName, firstLine(termtext.Escape(told), 400))
	}
}
