package run

import (
	"errors"

	"aibox/agents/spec"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/session"
)

// resume finds the session that the request resumes or forks, whose workspace is kept or copied, and takes
// over its agent.
func (s *resolution) resume() error {
	name, verb := s.request.Resumes, "resume"
	if s.request.Forks != "" {
		name, verb = s.request.Forks, "fork"
	}
	switch {
	case name == "":
		return nil
	case s.request.Resumes != "" && s.request.Forks != "":
		return fault.New(fault.Usage, "a session resumes another or forks it, not both").Hint("leave out --resume")
	}
	launched := &s.plan.Launch.Spec
	old, err := s.Sessions.Find(name)
	if verb == "fork" {
		launched.Forks = old.ID
	} else {
		launched.Resumes = old.ID
	}
	if err != nil {
		return err
	}
	if old.State.Phase != session.Ended {
		if verb == "fork" {
			return fault.New(fault.Usage, "%s is still running, and only a session that has ended can be forked", old.ID).
				Hint("`aibox stop %s` ends it; its files may be half written until then", old.ID)
		}
		return fault.New(fault.Usage, "%s is still running", old.ID).
			Hint("`aibox attach %s` follows it, `aibox stop %s` ends it", old.ID, old.ID)
	}
	for _, flag := range []struct {
		name  string
		given bool
	}{
		{"repo", s.request.Repository != ""},
		{"branch", s.request.Branch != ""},
		{"clean", s.request.Settings.Has("clean")},
		{"hide", s.request.Settings.Has("hide")},
		{"read-only", s.request.Settings.Has("read-only")},
	} {
		if flag.given {
			if verb == "fork" {
				return fault.New(fault.Usage, "--%s cannot be used with a fork, which has a copy of the workspace", flag.name).Hint("leave it out")
			}
			return fault.New(fault.Usage, "--%s cannot be used with --resume: a resumed session keeps its workspace", flag.name).
				Hint("keep one of them")
		}
	}
	s.resumed = &old
	s.request.Repository, launched.Branch = old.Repository, old.Branch
	if launched.Agent == "" {
		launched.Agent = old.Agent
	}
	feedback, err := s.Sessions.Feedback(old.ID)
	if err != nil {
		return errors.Join(fault.New(fault.Environment, "the feedback on %s cannot be read", old.ID), err)
	}
	s.feedback = !s.request.NoFeedback && !feedback.Open().Empty()
	// Read after the feedback: a session that takes over is stored before the feedback counts as
	// sent to it.
	if old, err = s.Sessions.Find(string(old.ID)); err != nil {
		return err
	}
	return old.NotContinued()
}

// inherited returns the settings of the request, which take precedence, and those of the
// resumed session. Settings that are not in its record have their default, as in the
// session. Those that a restored record has lost, and those of the egress proxy if the session
// had none, are the user's current ones.
func (s *resolution) inherited() config.RunOverrides {
	values := recordedSettings(s.resumed.Spec)
	values.Hide, values.ReadOnly = nil, nil
	if s.plan.Launch.Spec.Agent != s.resumed.Agent {
		values.Image = "" // the image belongs to the other agent
	}
	defaults := config.Defaults().Run
	all := s.request.Settings.Clone()
	for _, field := range config.RunFields() {
		if !s.isInherited(field.Key) || all.Has(field.Key) {
			continue
		}
		from := &values
		if !inherits(s.resumed.Spec, field.Key) {
			from = &defaults
		}
		_ = all.CopyFrom(from, field.Key) // both are of this type
	}
	return all
}

// isInherited reports whether the session keeps the setting of the one that it resumes or forks.
func (s *resolution) isInherited(key string) bool {
	field, ok := spec.Lookup((*config.Run)(nil), key)
	lost := s.resumed.Restored && !s.resumed.Inherits(key)
	unused := config.IsProxySetting(key) && !s.resumed.Mode().HasProxy()
	return ok && field.Inherit == spec.Always && !lost && !unused
}
