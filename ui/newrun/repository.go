package newrun

import (
	"context"
	"path/filepath"
	"strings"

	"aibox/app/compose"
	"aibox/internal/termtext"
	"aibox/ui/page"
	"aibox/ui/widget/theme"
	"aibox/workspace"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// repositoryStep asks for the repository, and then for the branch.
type repositoryStep struct {
	*bindings
	ctx    context.Context //nolint:containedctx // commands outlive Update, and end with the screen
	places Places
	width  int

	list     picker
	branch   branchList
	onBranch bool // the branch is asked for
	recent   []string

	resumes string         // the session whose workspace is used; empty for a new one
	chosen  string         // raw, as the user typed or picked it
	place   *compose.Place // nil until chosen has been looked at
	err     error          // why there is no place
	lookups page.Latest

	folders  foldersFound
	searches page.Latest
}

func newRepositoryStep(ctx context.Context, places Places, b *bindings) repositoryStep {
	s := repositoryStep{
		bindings: b, ctx: ctx, places: places,
		list: newPicker("repository, path or URL"), branch: branchList{picker: newPicker("branch, tag or commit")},
	}
	s.list.filtered, s.branch.filtered = true, true
	return s
}

type (
	placeFound struct {
		place compose.Place
		err   error
	}
	branchesFound struct {
		names []string
		err   error
	}
	// foldersFound brings the facts about a typed path.
	foldersFound struct {
		path    string           // raw, as typed
		folders []compose.Folder // that begin with it
		exists  bool             // it is a folder itself
	}
)

// choose looks at a repository and its branches. Answers about earlier ones are dropped.
func (s *repositoryStep) choose(repository string) tea.Cmd {
	s.chosen, s.place, s.err = repository, nil, nil
	s.branch.names, s.branch.err = nil, nil
	ctx, places := s.ctx, s.places
	return tea.Batch(
		s.lookups.Replace(func() tea.Msg {
			place, err := places.Look(ctx, repository)
			return placeFound{place, err}
		}),
		s.lookups.Continue(func() tea.Msg {
			names, err := places.Branches(ctx, repository)
			return branchesFound{names, err}
		}),
	)
}

// setPlace sets the result of the lookup, and reports whether the repository exists.
func (s *repositoryStep) setPlace(msg placeFound) bool {
	if s.err = msg.err; s.err == nil {
		s.place = &msg.place
		s.refreshBranches()
	}
	s.refresh()
	return s.err == nil
}

func (s *repositoryStep) setBranches(msg branchesFound) {
	s.branch.names, s.branch.err = msg.names, msg.err
	s.refreshBranches()
}

func (s *repositoryStep) setFolders(msg foldersFound) {
	s.folders = msg
	s.refresh()
}

// path is the chosen repository as a request names it: a path within the repository, or
// a URL.
func (s *repositoryStep) path() string {
	switch {
	case s.place == nil:
		return s.chosen
	case s.place.Start == "":
		return s.place.Top
	}
	return filepath.Join(s.place.Top, s.place.Start)
}

// isChosen reports whether a value of the list is the repository that was chosen.
func (s *repositoryStep) isChosen(value string) bool {
	return s.place != nil && (value == s.place.Top || value == s.chosen)
}

// picker is the one that has the keyboard.
func (s *repositoryStep) picker() *picker {
	if s.onBranch {
		return &s.branch.picker
	}
	return &s.list
}

func (s *repositoryStep) focus() tea.Cmd {
	s.blur()
	if s.onBranch {
		s.refreshBranches()
	} else {
		s.refresh()
	}
	return s.picker().input.Focus()
}

func (s *repositoryStep) blur() {
	s.list.input.Blur()
	s.branch.input.Blur()
}

func (s *repositoryStep) setSize(width, height int) {
	s.width = width
	s.list.setSize(width, height-1) // a row for the question
	s.branch.setSize(width, height-1)
}

func (s *repositoryStep) update(msg tea.Msg) (outcome, tea.Cmd) {
	if s.resumes != "" {
		return s.updateResumed(msg), nil
	}
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return s.press(msg)
	case tea.MouseClickMsg:
		if s.picker().click(msg.Y - 2) {
			return s.pick()
		}
		return stay, nil
	case tea.MouseWheelMsg:
		s.picker().cursor.Wheel(msg)
		return stay, nil
	}
	return stay, s.edit(msg)
}

// updateResumed handles a message where there is nothing to choose.
func (s *repositoryStep) updateResumed(msg tea.Msg) outcome {
	if msg, ok := msg.(tea.KeyPressMsg); ok {
		switch msg.String() {
		case "enter", "tab":
			return forward
		case "shift+tab":
			return backward
		}
	}
	return stay
}

func (s *repositoryStep) press(msg tea.KeyPressMsg) (outcome, tea.Cmd) {
	switch {
	case s.picker().move(msg):
		return stay, nil
	case msg.String() == "enter":
		return s.pick()
	case msg.String() == "tab" && !s.onBranch && s.place != nil:
		s.onBranch = true
		return stay, s.focus()
	case msg.String() == "tab":
		return forward, nil
	case msg.String() == "shift+tab" && s.onBranch:
		s.onBranch = false
		return stay, s.focus()
	case msg.String() == "shift+tab":
		return backward, nil
	}
	return stay, s.edit(msg)
}

// pick takes the selected row.
func (s *repositoryStep) pick() (outcome, tea.Cmd) {
	it, ok := s.picker().selected()
	switch {
	case !ok:
		return stay, nil
	case s.onBranch:
		s.branch.choose(it.value)
		s.refreshBranches()
		return forward, nil
	case it.folder:
		s.list.setText(it.value + "/")
		return stay, s.search()
	case s.isChosen(it.value):
		s.onBranch = true
		return stay, s.focus()
	}
	s.branch.chosen = ""
	s.list.setText(it.value)
	s.chosen = it.value
	return pick, nil
}

// edit passes a message to the text.
func (s *repositoryStep) edit(msg tea.Msg) tea.Cmd {
	changed, cmd := s.picker().edit(msg)
	switch {
	case changed && s.onBranch:
		s.refreshBranches()
	case changed:
		return tea.Batch(cmd, s.search())
	}
	return cmd
}

// search lists the repositories that match the text, and asks for the folders of a path.
func (s *repositoryStep) search() tea.Cmd {
	typed := s.list.text()
	s.refresh()
	if !isPath(typed) || workspace.IsURL(typed) {
		return nil
	}
	ctx, places := s.ctx, s.places
	return s.searches.Replace(func() tea.Msg {
		folders, exists := places.Folders(ctx, typed)
		return foldersFound{typed, folders, exists}
	})
}

func (s *repositoryStep) view(t theme.Theme, active bool) []string {
	if s.resumes != "" {
		return []string{
			"Session " + termtext.Escape(s.resumes) + " is resumed.",
			t.Faint.Render("It keeps its workspace, a copy of " + termtext.Escape(s.path()) + "."),
		}
	}
	head := "Which repository?"
	if s.onBranch {
		text, _ := s.status()
		head = "Which branch to start from? (" + text + ")"
	}
	out := append([]string{t.Faint.Render(head)}, s.picker().view(t, s.width, active)...)
	switch {
	case !s.onBranch && s.err != nil:
		out = append(out, t.Bad.Render("✗ "+termtext.Escape(s.err.Error())))
	case !s.onBranch && s.chosen != "" && s.place == nil:
		out = append(out, t.Faint.Render("looking at "+termtext.Escape(s.chosen)+"…"))
	case s.onBranch && s.branch.err != nil:
		out = append(out, t.Warn.Render("! "+termtext.Escape(s.branch.err.Error())))
	case s.onBranch && s.branch.names == nil:
		out = append(out, t.Faint.Render("loading branches…"))
	}
	return out
}

func (s *repositoryStep) keys() []key.Binding {
	if s.resumes != "" {
		return []key.Binding{s.next, s.toStart, s.toSteps, s.copyCommand}
	}
	return s.inList()
}

func (*repositoryStep) takesEsc() bool { return false }

func (s *repositoryStep) status() (text string, complete bool) {
	if s.path() == "" {
		return "none yet", false
	}
	name := strings.TrimSuffix(filepath.Base(s.path()), ".git")
	if s.branch.chosen != "" {
		name += " " + s.branch.chosen
	}
	return termtext.Escape(name), s.place != nil
}
