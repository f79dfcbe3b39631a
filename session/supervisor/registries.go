package supervisor

import (
	"context"
	"slices"
	"strings"

	"aibox/internal/lifeline"
	"aibox/internal/termtext"
	"aibox/netguard/preset"
)

// addRegistries sets up the tools of presets for the registries of the user's own tools,
// where the sandbox has none. It runs before the presets' queries, which then name these
// registries, so that no other host is allowed because of them.
func (s *sandbox) addRegistries(ctx context.Context, names []string) {
	var asked []preset.Registry
	var programs []lifeline.Process
	for _, r := range s.launch.Registries {
		if found, ok := preset.Find(r.Preset); ok && slices.Contains(names, r.Preset) {
			asked = append(asked, r)
			programs = append(programs, lifeline.Process{Argv: found.OwnQuery(), Env: slices.Concat(proxyEnv(), s.launch.Env)})
		}
	}
	if len(programs) == 0 {
		return
	}
	outputs, err := s.line.Run(ctx, programs, queryTimeout, preset.MaxOutput)
	if err != nil {
		return // the start of the agent will fail in the same way
	}
	for i, out := range outputs {
		switch r := asked[i]; {
		case queryTrouble(out) != "" || !preset.HasNone(out.Stdout):
		case r.Refused != "":
			s.report.warn("presets", termtext.Escape(r.Preset+": "+r.Refused))
		default:
			s.registries = append(s.registries, r.Env...)
		}
	}
}

// registryFiles returns what the registries need besides their variables.
func registryFiles(registries []string) []lifeline.File {
	if !slices.ContainsFunc(registries, func(entry string) bool { return strings.HasPrefix(entry, preset.CargoIndex+"=") }) {
		return nil
	}
	return []lifeline.File{{Path: preset.CargoConfigFile, Mode: 0o644, Data: []byte(preset.CargoConfig), Keep: true}}
}
