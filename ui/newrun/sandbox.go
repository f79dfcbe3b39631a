package newrun

import (
	"fmt"
	"slices"
	"strings"

	"aibox/agents/spec"
	"aibox/app/compose"
	"aibox/app/run"
	"aibox/config"
	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/ui/form"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"
	"aibox/workspace"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// sandboxStep is the form of the run's settings: the model, the sandbox and its limits.
// Below it are the files that the agent does not see.
type sandboxStep struct {
	formStep
	place     *compose.Place // whose settings these are; nil for none
	base      any            // *config.Settings without this run's; lists that a run adds to are empty
	inference string         // the model server whose models are suggested
	files     *fileLists
	globs     []string // besides the built-in ones
	rows      int      // of the form and the files
}

func newSandboxStep(b *bindings, files *fileLists) sandboxStep {
	return sandboxStep{formStep: newFormStep(b), files: files}
}

// formKeys are the settings that the form asks for. The prompts of the library are
// selected in the task, and a resumed session keeps its workspace.
func (s *sandboxStep) formKeys() []string {
	resumes := s.place != nil && s.place.Resumed != nil
	return slices.DeleteFunc(run.FormKeys(), func(key string) bool {
		return key == "system" || resumes && (key == "hide" || key == "read-only" || key == "clean")
	})
}

// fill makes the form for a repository, unless it is there already. The first answers come from
// initial, and otherwise from the settings.
func (s *sandboxStep) fill(place *compose.Place, initial run.Request) tea.Cmd {
	if s.place == place {
		return nil
	}
	base := place.Settings.Settings
	empty := config.Defaults()
	fields, _ := spec.Of(&base)
	for _, field := range fields {
		if setting, err := place.Settings.Find(field.Key); err == nil && run.AddsUp(setting) {
			_ = field.Copy(&base, &empty)
		}
	}
	values := spec.Clone(&base)
	texts := map[string]string{}
	for _, key := range initial.Settings.Keys() {
		texts[key] = initial.Settings.Text(key)
	}
	setOptions(values, texts)
	s.place, s.base, s.inference = place, &base, ""
	s.formStep.reset(form.Request{Options: values, Base: &base, Only: s.formKeys(), Check: place.CheckSetting})
	return s.part.Init()
}

// clear forgets the form, so that the next fill makes it again.
func (s *sandboxStep) clear() { s.place = nil }

// settings are the settings of the run; nil while there is no form.
func (s *sandboxStep) settings() *config.Settings {
	settings, _ := s.part.Draft().(*config.Settings)
	return settings
}

// chosen are the settings that differ from those that apply without this run, and those
// with the keys in given.
func (s *sandboxStep) chosen(given []string) config.RunOverrides {
	var chosen config.RunOverrides
	if s.base == nil {
		return chosen
	}
	keys := s.formKeys()
	given = slices.DeleteFunc(slices.Clone(given), func(key string) bool { return s.baseText(key) == "" })
	for key, text := range run.ChangedOptions(s.part.Draft(), s.base, given) {
		if slices.Contains(keys, key) {
			_ = chosen.Set(key, text) // the form reports an invalid value
		}
	}
	return chosen
}

// baseText returns the value that a setting has without this run, in the format of the form.
func (s *sandboxStep) baseText(key string) string {
	fields, _ := spec.Of(s.base)
	field, err := spec.Find(fields, key)
	if err != nil {
		return ""
	}
	return field.Text(s.base)
}

// image is the image that the user named instead of the agent's own; empty for none.
func (s *sandboxStep) image() string {
	if settings := s.settings(); settings != nil {
		return settings.Image
	}
	return ""
}

// modelServer is the model server that is chosen.
func (s *sandboxStep) modelServer() string {
	if settings := s.settings(); settings != nil {
		return settings.Inference
	}
	return config.Defaults().Inference
}

// suggest asks for suggestions, unless they were asked for with this model server.
func (s *sandboxStep) suggest(suggest func(spec.Field) []string) tea.Cmd {
	if s.place == nil || s.inference == s.modelServer() {
		return nil
	}
	s.inference = s.modelServer()
	return s.part.Suggest(suggest)
}

func (s *sandboxStep) setSize(width, height int) {
	s.rows = height
	s.formStep.setSize(width, max(1, height-s.below()))
}

// hiddenRows is the number of rows for the hidden files.
const hiddenRows = 3

// below is the number of rows below the form.
func (s *sandboxStep) below() int {
	if s.rows >= 10 {
		return hiddenRows
	}
	return 0
}

func (s *sandboxStep) view(t theme.Theme, active bool) []string {
	return append(s.part.View(active), s.hiddenView(t)...)
}

// hiddenView shows the files that the agent does not see.
func (s *sandboxStep) hiddenView(t theme.Theme) []string {
	rows := s.below()
	if rows == 0 {
		return nil
	}
	globs := strings.Join(append([]string{"hidden: .env files, private keys"}, s.globs...), ", ")
	out := []string{t.Rule.Render(heading(termtext.Escape(globs), s.width))}
	switch names := s.files.hidden; {
	case s.files.err != nil:
		out = append(out, t.Warn.Render("! "+termtext.Escape(s.files.err.Error())))
	case s.place != nil && workspace.IsURL(s.place.Top):
		out = append(out, t.Faint.Render("which files these are is known when it has been cloned"))
	case s.files.request == nil:
		out = append(out, t.Faint.Render("which files these are is known when the repository has been read"))
	case len(names) == 0:
		out = append(out, t.Faint.Render("no file of the repository"))
	default:
		out = append(out, listed(names, s.width, rows-1)...)
	}
	return frame.Fill(out, rows)
}

// heading is a rule of a width that begins with a text.
func heading(text string, width int) string {
	text = ansi.Truncate("─ "+text+" ", width, "…")
	return text + strings.Repeat("─", max(0, width-ansi.StringWidth(text)))
}

// maxListed bounds the names of a list on the screen.
const maxListed = 50

// listed is a list of names in lines of a width, at most rows of them.
func listed(names []string, width, rows int) []string {
	shown := make([]string, 0, maxListed)
	for _, name := range names[:min(len(names), maxListed)] {
		shown = append(shown, termtext.Escape(name))
	}
	lines := strings.Split(ansi.Wrap(fmt.Sprintf("%d: ", len(names))+strings.Join(shown, " · "), width, ""), "\n")
	if len(lines) > rows {
		lines = lines[:rows]
		lines[rows-1] = ansi.Truncate(lines[rows-1], width-2, "") + " …"
	}
	return lines
}

func (s *sandboxStep) status() (text string, complete bool) {
	if settings := s.settings(); settings != nil {
		text = settings.Network + ", " + timeLimit(settings)
		if n := len(s.files.hidden); n > 0 {
			text += fmt.Sprintf(", %d hidden", n)
		}
	}
	return termtext.Escape(text), s.part.Problem() == nil
}

// resourceLimits lists the limits of memory, processors and processes, each after a comma.
func resourceLimits(s *config.Settings) string {
	text := ""
	if s.Memory > 0 {
		text += ", " + amount.Bytes(s.Memory.Bytes())
	}
	if s.CPUs > 0 {
		text += ", " + s.CPUs.String() + " CPUs"
	}
	return text + fmt.Sprintf(", %d processes", s.Pids)
}

func timeLimit(s *config.Settings) string {
	if s.Timeout == 0 {
		return "no limit"
	}
	return strings.TrimSuffix(strings.TrimSuffix(s.Timeout.String(), "0s"), "0m")
}
