package session

import (
	"cmp"
	"encoding/json"
	"slices"

	"aibox/agents/spec"
	"aibox/netguard"
)

// decodeSpec reads a spec, unless a newer version of aibox wrote it. A setting that did not
// exist when the record was written gets its default.
func decodeSpec(data []byte) (Spec, error) {
	if err := checkFormat(data); err != nil {
		return Spec{}, err
	}
	var s Spec
	if err := json.Unmarshal(data, &s); err != nil {
		return Spec{}, err
	}
	var recorded map[string]json.RawMessage
	if err := json.Unmarshal(data, &recorded); err != nil {
		return Spec{}, err
	}
	fields, err := spec.Of(s.Run)
	if err != nil {
		return Spec{}, err
	}
	for _, field := range fields {
		if _, ok := recorded[field.Record.Key]; field.Record.Always && !ok {
			if err := field.Set(&s.Run, field.Default); err != nil {
				return Spec{}, err
			}
			s.unrecorded = append(s.unrecorded, field.Key)
		}
	}
	// Earlier versions wrote a negative number for no limit.
	s.StateSize, s.ModelTimeout = max(s.StateSize, 0), max(s.ModelTimeout, 0)
	return s, nil
}

// Inherits reports whether a new session may take over the setting, which means that the
// record holds it. A restored record holds few of them. It does not say which hosts were
// denied, so the policy public is not inherited from it. If the log does not say how many sandboxes
// the agent could create, the new session gets none.
func (spec *Spec) Inherits(key string) bool {
	if !spec.Restored {
		return !slices.Contains(spec.unrecorded, key)
	}
	switch key {
	case "network":
		return spec.Mode() != netguard.Public
	case "inference":
		return spec.Inference != ""
	case "image":
		return spec.Image != ""
	default:
		return key == "hide" || key == "read-only" || key == "sandboxes"
	}
}

// Continues returns the session whose work and conversation this one continues: the one
// that it resumes or forks. It is empty if there is none.
func (spec *Spec) Continues() ID { return cmp.Or(spec.Resumes, spec.Forks) }

// Task returns the agent's prompt: the feedback on its work, if any, followed by the user's
// prompt.
func (spec Spec) Task() string {
	if spec.Feedback == "" || spec.Prompt == "" {
		return spec.Feedback + spec.Prompt
	}
	return spec.Feedback + "\n# And now\n\n" + spec.Prompt
}
