package run

import (
	"slices"
	"strings"

	"aibox/internal/fault"
)

// MaxBatch is the maximum number of sessions that one request starts.
const MaxBatch = 32

// Members returns the requests for the single sessions that the request asks for: each of
// its agents with each of its models, Times times. Agent and the setting model hold several
// names if they are separated by commas. A request for one session returns itself.
func (r Request) Members() ([]Request, error) {
	agents, err := splitNames("agent", r.Agent)
	if err != nil {
		return nil, err
	}
	models, err := splitNames("model", r.Settings.Text("model"))
	if err != nil {
		return nil, err
	}
	if r.Times < 0 {
		return nil, fault.New(fault.Usage, "--times must be at least 1, not %d", r.Times)
	}
	times := max(r.Times, 1)
	count := len(agents) * len(models)
	if times > MaxBatch || count*times > MaxBatch {
		return nil, fault.New(fault.Usage, "one command starts at most %d sessions, not %d × %d × %d", MaxBatch, len(agents), len(models), times).
			Hint("with --detach, several commands can run side by side; --max-parallel queues their sessions")
	}
	members := make([]Request, 0, count*times)
	for _, agent := range agents {
		for _, model := range models {
			for range times {
				member := r.Clone()
				member.Agent, member.Times = agent, 0
				if model != "" {
					if err := member.Settings.Set("model", model); err != nil {
						return nil, err
					}
				}
				members = append(members, member)
			}
		}
	}
	if len(members) > 1 {
		return members, r.checkBatch()
	}
	return members, nil
}

// IsBatch reports whether the request asks for several sessions.
func (r Request) IsBatch() bool {
	return r.Times > 1 || strings.Contains(r.Agent, ",") || strings.Contains(r.Settings.Text("model"), ",")
}

// checkBatch refuses options that only a single session can have.
func (r Request) checkBatch() error {
	switch accept := r.Settings.Text("accept"); {
	case r.Interactive && !r.Detached:
		return fault.New(fault.Usage, "several sessions cannot share one terminal, so -i starts one session").
			Hint("with --detach they start without a terminal, and `aibox attach` opens one of them")
	case r.Resumes != "":
		return fault.New(fault.Usage, "--resume continues a workspace, which only one session can do").
			Hint("`aibox fork %s` copies it for a new session, as often as you like", r.Resumes)
	case accept != "" && accept != "none":
		return fault.New(fault.Usage, "--accept delivers one result, and several sessions would deliver as many").
			Hint("leave it out: `aibox compare` shows the results side by side, and `aibox accept` delivers one")
	}
	return nil
}

// splitNames splits the value of a flag at its commas.
func splitNames(flag, value string) ([]string, error) {
	if !strings.Contains(value, ",") {
		return []string{value}, nil
	}
	names := strings.Split(value, ",")
	for i, name := range names {
		names[i] = strings.TrimSpace(name)
		if names[i] == "" {
			return nil, fault.New(fault.Usage, "--%s %q has an empty name", flag, value).Hint("separate the names by single commas")
		}
		if slices.Contains(names[:i], names[i]) {
			return nil, fault.New(fault.Usage, "--%s names %q twice", flag, names[i]).Hint("--times runs each of them several times")
		}
	}
	return names, nil
}
