package config

import (
	"slices"
	"strings"

	"aibox/agents/spec"
	"aibox/internal/fault"
)

// AgentPolicy are the settings under [agents.NAME] besides the agent's own options. An agent's
// network, allow and deny override those at the top of the same file.
type AgentPolicy struct {
	Network string   `label:"Network" help:"Set what this agent can reach" choices:"none local allowlist public" scope:"at-most"`
	Allow   []string `label:"Allowed hosts" help:"Allow these hosts to this agent" scope:"at-most"`
	Deny    []string `label:"Denied hosts" help:"Deny these hosts to this agent" scope:"at-least"`
	Cloud   []string `label:"Cloud" help:"Let this agent talk to these servers of its vendor, where aibox does not see its traffic" placeholder:"HOST"`

	KeyFile    string `label:"Key file" help:"The file with the key of your account at this agent's vendor, which only you can read (mode 0600)"`
	KeyCommand string `label:"Key command" help:"The command that prints the key of your account at this agent's vendor; no shell runs it"`
}

// policySection returns the section of an agent's policy, without the keys that are options
// of the agent, and without those of a login that the agent does not have.
func (c Catalog) policySection(agent Agent) (*section, error) {
	s := &section{name: "agents." + agent.Name, policy: true, defaults: new(AgentPolicy), check: c.checkSetting}
	own, err := spec.Of(agent.Options)
	if err != nil {
		return nil, err
	}
	s.taken = func(key string) bool {
		return !agent.Login && (key == keyFile || key == keyCommand) || slices.ContainsFunc(own, func(field spec.Field) bool { return field.Key == key })
	}
	return s, nil
}

// AcceptedCloud returns the hosts of the agent's vendor that the user has accepted, as
// entries of an allow list.
func (r *Resolved) AcceptedCloud(agent string) []string {
	for _, s := range r.all {
		if s.section.policy && s.Key == CloudKey(agent) {
			hosts, _ := s.Value.([]string)
			return hosts
		}
	}
	return nil
}

// withoutHosts returns the value of e in the user's file. The key cloud was true or false
// once. That named no host, so it accepts none.
func (e entry) withoutHosts(d *Document, value any) any {
	if _, isBool := value.(bool); isBool && d.kind == UserFile && e.section.policy && e.field.Key == "cloud" {
		return []any{}
	}
	return value
}

// CloudKey returns the key of the setting that accepts the agent's cloud.
func CloudKey(agent string) string { return "agents." + agent + ".cloud" }

// The keys of an agent's login under [agents.NAME].
const (
	keyFile    = "key-file"
	keyCommand = "key-command"
)

// LoginKeys returns the keys of the settings that say where the key of the user's account at
// the agent's vendor is.
func LoginKeys(agent string) (file, command string) {
	return "agents." + agent + "." + keyFile, "agents." + agent + "." + keyCommand
}

// keepLogin stores where the key of the user's account at the agent's vendor is.
func (r *Resolved) keepLogin(table string, policy *AgentPolicy) error {
	source := SecretSource{File: policy.KeyFile, Command: policy.KeyCommand}
	if source == (SecretSource{}) {
		return nil
	}
	if source.File != "" && source.Command != "" {
		return fault.New(fault.Usage, "[%s] has both a %s and a %s", table, keyFile, keyCommand).Hint("keep one of them")
	}
	r.Logins[strings.TrimPrefix(table, "agents.")] = source
	return nil
}

// layers are the values of a setting in each source, for one agent. The agent's own table
// overrides the top of the same file. A nil layer sets nothing.
type layers struct {
	builtIn        sourceValue
	user, variable []*sourceValue
	repository     []*sourceValue
}

// allowed is the value without the repository's file.
func (l layers) allowed(e entry) merged {
	return e.merge(l.builtIn, slices.Concat(l.user, l.variable)...)
}

// layers reads the sources of e and, if the agent has its own policy, of its entry own. It
// checks the repository's file against what the user allows.
func (e entry) layers(own *entry, in Input, environment map[string]string) (layers, error) {
	value, err := e.number(e.field.Value(e.section.defaults))
	if err != nil {
		return layers{}, err
	}
	l := layers{builtIn: sourceValue{value, Source{Kind: BuiltIn}}}
	tables := []entry{e}
	if own != nil {
		tables = append(tables, *own)
	}
	for _, table := range tables {
		user, err := table.inFile(in.User)
		if err != nil {
			return l, err
		}
		variable, err := table.inEnvironment(environment)
		if err != nil {
			return l, err
		}
		l.user, l.variable = append(l.user, user), append(l.variable, variable)
		// The top of the repository's file is for every agent, so it is compared with the top
		// of the user's.
		repository, err := table.inRepository(in.Repository, l.allowed(e), e)
		if err != nil {
			return l, err
		}
		l.repository = append(l.repository, repository)
	}
	return l, nil
}

// resolveFor merges the sources of e for the agent that own belongs to. own may be nil.
func (e entry) resolveFor(own *entry, in Input, environment map[string]string) (merged, error) {
	l, err := e.layers(own, in, environment)
	if err != nil {
		return merged{}, err
	}
	flag, err := e.inFlags(in.Flags)
	if err != nil {
		return merged{}, err
	}
	m := e.merge(l.builtIn, l.user...)
	for _, repository := range l.repository {
		if repository != nil {
			m = e.tighten(m, *repository)
		}
	}
	return e.mergeOver(m, append(l.variable, flag)...), nil
}

// tighten merges the value of the repository's file with m, the user's value for the agent.
// A file that names no agent may be looser than m; then only its tighter parts count.
func (e entry) tighten(m merged, repository sourceValue) merged {
	proposed := e.mergeOver(m, &repository)
	if e.tightens(m.value, proposed.value) == nil {
		return proposed
	}
	current, isList := m.value.([]string)
	wanted, _ := repository.value.([]string)
	if !isList {
		return m
	}
	kept := []string{}
	for _, word := range current {
		if slices.Contains(wanted, word) {
			kept = append(kept, word)
		}
	}
	if e.tightens(current, kept) != nil {
		return m
	}
	return merged{kept, append(slices.Clone(m.from), repository.source)}
}

// tightens is spec.Field.Tightens. Allow lists are compared by the requests that they
// allow: one word can include another, and removing a word that restricts requests can
// allow more.
func (e entry) tightens(current, proposed any) error {
	err := e.field.Tightens(current, proposed)
	next, isList := proposed.([]string)
	now, set := current.([]string)
	if !isList || !set || e.field.Key != "allow" || e.section.narrows == nil {
		return err
	}
	if e.section.narrows(next, now) {
		return nil
	}
	if err == nil {
		err = fault.New(fault.Usage, "a settings file in a repository can only tighten %q, and %v drops an entry that restricts requests", e.field.Key, next)
	}
	return err
}

// policyOf returns the entry of the agent's own policy for a setting at the top of a file;
// nil if there is none.
func policyOf(agent string, e entry, sections []*section) *entry {
	if agent == "" || e.section.name != "" {
		return nil
	}
	for _, s := range sections {
		if !s.policy || s.name != "agents."+agent {
			continue
		}
		for _, own := range s.entries() {
			if own.field.Key == e.field.Key {
				return &own
			}
		}
	}
	return nil
}

// topOf returns the entry at the top of a file that own, an entry of an agent's policy,
// overrides; nil if own is no such entry.
func topOf(own entry, sections []*section) *entry {
	if !own.section.policy {
		return nil
	}
	top := sections[0]
	for i := range top.fields {
		if top.fields[i].Key == own.field.Key {
			e := top.entry(i)
			return &e
		}
	}
	return nil
}

// resolvePolicy resolves a setting of an agent's policy by itself, for lists of settings.
// The repository's file is checked against what the user allows the agent.
func (e entry) resolvePolicy(top entry, in Input, environment map[string]string) (merged, error) {
	l, err := top.layers(&e, in, environment)
	if err != nil {
		return merged{}, err
	}
	builtIn := sourceValue{e.field.Value(e.section.defaults), Source{Kind: BuiltIn}}
	return e.merge(builtIn, l.user[1], l.repository[1], l.variable[1]), nil
}

// resolved merges the sources of a setting of any section.
func (e entry) resolved(agent string, sections []*section, in Input, environment map[string]string) (Setting, error) {
	setting := Setting{Key: e.key, Field: e.field, section: e.section}
	if e.field.Type == spec.Secret {
		return e.secret(setting, environment), nil
	}
	var m merged
	var err error
	if top := topOf(e, sections); top != nil {
		m, err = e.resolvePolicy(*top, in, environment)
	} else {
		m, err = e.resolveFor(policyOf(agent, e, sections), in, environment)
	}
	setting.Value, setting.From = m.value, m.from
	return setting, err
}

// agentOf returns the agent of the run, whose policy applies.
func agentOf(flags []Override) string {
	i := slices.IndexFunc(flags, func(o Override) bool { return o.Key == "agent" })
	if i < 0 {
		return ""
	}
	name, _ := flags[i].Value.(string)
	return name
}

// loosened returns the fault for a repository's file that loosens e.
func (e entry) loosened(d *Document, allowed merged, err error) *fault.Fault {
	it, _ := d.find(e)
	now := Setting{Value: allowed.value, Field: e.field, section: e.section}
	text := now.Text()
	if text == "" {
		text = "nothing"
	}
	return d.blame(it.keys[len(it.keys)-1], e, err).
		Hint("you allow %s (%s); see `aibox config show %s`", text, allowed.from[len(allowed.from)-1], e.key)
}
