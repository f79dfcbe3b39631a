package supervisor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"aibox/audit"
	"aibox/internal/lifeline"
	"aibox/internal/termtext"
	"aibox/netguard"
	"aibox/netguard/preset"
	"aibox/session"
)

// queryTimeout is the time limit of a program that prints the hosts of a preset. Under
// gVisor, on a busy machine with an image that is not in the page cache, pip took 18 seconds.
const queryTimeout = 30 * time.Second

// resolvePresets asks the image's own tools for the hosts of the presets in the allow list,
// and allows them. No agent runs yet, and the tools run outside the workspace, so that only
// the image decides.
func (s *sandbox) resolvePresets(ctx context.Context) error {
	names := s.policy.unresolved()
	if len(names) == 0 {
		return nil
	}
	done := s.report.step(session.StagePresets)
	s.addRegistries(ctx, names)
	resolved := s.askImage(ctx, names)
	for i, r := range resolved {
		if err := s.policy.addPreset(r); err != nil {
			return err
		}
		if found, _ := preset.Find(r.Preset); found.AsksAgain() && len(r.Rules) > 0 {
			resolved[i] = s.askImage(ctx, names[i:i+1])[0]
			if err := s.policy.addPreset(resolved[i]); err != nil {
				return err
			}
		}
	}
	var lines []string
	for _, r := range resolved {
		for _, refused := range r.Refused {
			s.report.warn("presets", termtext.Escape(r.Preset+": "+refused))
		}
		lines = append(lines, termtext.Escape(r.String()))
	}
	done(strings.Join(lines, "; "))
	return ctx.Err()
}

// askImage returns the resolutions of presets, in their order. The first queries of all
// presets run at the same time; a preset that has no host after these is queried again.
func (s *sandbox) askImage(ctx context.Context, names []string) []preset.Resolution {
	resolved := make([]preset.Resolution, len(names))
	for round := 0; ; round++ {
		var programs []lifeline.Process
		var asked []int // the index in names of each program
		for i, name := range names {
			found, _ := preset.Find(name)
			resolved[i].Preset = name
			if queries := found.Queries(); len(resolved[i].Rules) == 0 && round < len(queries) {
				programs = append(programs, lifeline.Process{Argv: queries[round].Argv, Env: slices.Concat(proxyEnv(), s.registries, s.launch.Env)})
				asked = append(asked, i)
			}
		}
		if len(programs) == 0 {
			return resolved
		}
		outputs, err := s.line.Run(ctx, programs, queryTimeout, preset.MaxOutput+1)
		if err != nil {
			return resolved // the start of the agent will fail in the same way
		}
		for n, out := range outputs {
			i := asked[n]
			found, _ := preset.Find(names[i])
			answer := found.Parse(found.Queries()[round], out.Stdout)
			if why := queryTrouble(out); why != "" && len(answer.Rules) == 0 {
				answer.Refused = append(answer.Refused, why)
			}
			answer.Refused = append(resolved[i].Refused, answer.Refused...)
			resolved[i] = answer
		}
	}
}

// queryTrouble returns why a program failed, or "".
func queryTrouble(out lifeline.Output) string {
	switch {
	case out.Error != "":
		return out.Error
	case out.Late:
		return fmt.Sprintf("the program did not end within %v", queryTimeout)
	case out.Code != 0:
		first, _, _ := strings.Cut(strings.TrimSpace(string(out.Stderr)), "\n")
		return strings.TrimSuffix(fmt.Sprintf("the program ended with exit code %d: %.200s", out.Code, first), ": ")
	default:
		return ""
	}
}

// unresolved returns the presets whose hosts are not known.
func (p *policy) unresolved() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.presets
}

// addPreset allows the hosts of a preset, before the agent starts, unless the allow list was replaced
// meanwhile.
func (p *policy) addPreset(r preset.Resolution) error {
	if len(r.Rules) == 0 {
		return nil
	}
	p.changing.Lock()
	defer p.changing.Unlock()
	p.mu.Lock()
	if !slices.Contains(p.presets, r.Preset) {
		p.mu.Unlock()
		return nil
	}
	p.rules.Allow = addRules(p.rules.Allow, r.Rules)
	p.matcher = netguard.NewMatcher(p.rules)
	matcher, proxy, lists := p.matcher, p.proxy, session.ListsOf(p.rules)
	p.mu.Unlock()
	added := session.ListsOf(netguard.Policy{Allow: r.Rules})
	p.session.audit(audit.PolicyChanged, audit.PolicyChange{Allow: patterns(added.Allow), Reason: preset.Source(r.Preset)})
	if proxy != nil {
		proxy.SetPolicy(matcher)
	}
	return p.session.save(func(st *session.State) { st.Lists = lists })
}
