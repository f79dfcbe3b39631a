package config

import (
	"strings"
	"testing"

	"aibox/internal/fault"
)

func TestABoundRunIsAtMostAsFreeAsTheSettings(t *testing.T) {
	own := "network = \"allowlist\"\nallow = [\"a.example\", \"b.example\"]\ndeny = [\"d.example\"]\ntimeout = \"10m\"\nmemory = 512\nhide = [\"*.key\"]\nmodel = \"m\"\n"
	for name, c := range map[string]struct {
		change func(*Run)
		loose  string // the setting that is reported; "" for none
	}{
		"the same":             {func(*Run) {}, ""},
		"a narrower policy":    {func(r *Run) { r.Network = "none" }, ""},
		"a wider policy":       {func(r *Run) { r.Network = "public" }, "network"},
		"fewer hosts":          {func(r *Run) { r.Allow = []string{"a.example"} }, ""},
		"no hosts":             {func(r *Run) { r.Allow = []string{} }, ""},
		"another host":         {func(r *Run) { r.Allow = []string{"a.example", "evil.example"} }, "allow"},
		"an unset list":        {func(r *Run) { r.Allow = nil }, "allow"},
		"a denied host less":   {func(r *Run) { r.Deny = []string{} }, "deny"},
		"one more denied host": {func(r *Run) { r.Deny = append(r.Deny, "e.example") }, ""},
		"more time":            {func(r *Run) { r.Timeout *= 2 }, "timeout"},
		"no time limit":        {func(r *Run) { r.Timeout = 0 }, "timeout"},
		"less time":            {func(r *Run) { r.Timeout /= 2 }, ""},
		"more memory":          {func(r *Run) { r.Memory = 1024 }, "memory"},
		"a pattern that shows": {func(r *Run) { r.Hide = append(r.Hide, "!id.key") }, "hide"},
		"one more pattern":     {func(r *Run) { r.Hide = append(r.Hide, "*.pem") }, ""},
		"another server":       {func(r *Run) { r.Inference = "http://127.0.0.1:1" }, "inference"},
		"an image":             {func(r *Run) { r.Image = "evil" }, "image"},
		"a command":            {func(r *Run) { r.Verify = "curl evil" }, "verify"},
		"limits not enforced":  {func(r *Run) { r.AllowDegraded = true }, "allow-degraded"},
		"a free setting":       {func(r *Run) { r.Model = "another" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := resolve(own, "")
			if err != nil {
				t.Fatal(err)
			}
			next, err := resolve(own, "")
			if err != nil {
				t.Fatal(err)
			}
			c.change(&next.Settings.Run)
			err = r.CheckBound(&next.Settings.Run, "model")
			switch {
			case c.loose == "" && err != nil:
				t.Errorf("it was refused: %v", err)
			case c.loose != "" && (fault.KindOf(err) != fault.Refused || !strings.Contains(err.Error(), `"`+c.loose+`"`)):
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// A user's own pattern that shows a file must not refuse every bounded run.
func TestPatternsThatTheUserShowsFilesWithAreNoReasonToRefuseARun(t *testing.T) {
	own := "hide = [\"*.key\", \"!public.key\"]\nread-only = [\"docs/\", \"!docs/notes.md\"]\n"
	for name, c := range map[string]struct {
		hide []string
		fits bool
	}{
		"the same":             {[]string{"*.key", "!public.key"}, true},
		"one more pattern":     {[]string{"*.key", "!public.key", "*.pem"}, true},
		"a pattern that shows": {[]string{"*.key", "!public.key", "!id.key"}, false},
		"another order":        {[]string{"!public.key", "*.key", "!public.key"}, false},
	} {
		r, err := resolve(own, "")
		if err != nil {
			t.Fatal(err)
		}
		next := r.Settings.Run
		next.Hide = c.hide
		if err := r.CheckBound(&next); (err == nil) != c.fits {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDefaultSettingsAreWithinThemselves(t *testing.T) {
	r, err := resolve("", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.CheckBound(&r.Settings.Run); err != nil {
		t.Error(err)
	}
	r.Settings.Network = "allowlist"
	if err := r.CheckBound(&r.Settings.Run); err == nil {
		t.Error("a wider policy was allowed")
	}
}
