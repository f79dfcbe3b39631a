package newrun

import (
	"path/filepath"
	"slices"
	"strings"

	"aibox/internal/termtext"
	"aibox/workspace"

	tea "charm.land/bubbletea/v2"
)

// whereStep is the repository, and then the branch.
type whereStep struct {
	repository picker
	branch     picker
	second     bool     // the branch is asked for
	branches   []string // raw
	unknown    error    // why there are none
	typing     int      // how often folders were asked for
	typed      foldersKnown
}

func newWhere() whereStep {
	w := whereStep{repository: newPicker("repository, a path or an address"), branch: newPicker("branch, tag or commit")}
	w.repository.fixed, w.branch.fixed = true, true
	return w
}

type (
	placeKnown struct {
		of    *Model
		asked int
		place Place
		err   error
	}
	branchesKnown struct {
		of       *Model
		asked    int
		branches []string
		err      error
	}
	// foldersKnown is what is known of a typed path.
	foldersKnown struct {
		of      *Model
		typing  int
		path    string   // raw, as typed
		folders []Folder // that it can go on to
		there   bool     // it is a folder itself
	}
)

// choose looks at a repository.
func (m *Model) choose(repository string) tea.Cmd {
	m.asked++
	if m.box.of != nil { // what was chosen so far goes along
		args := m.from.Args
		m.from = m.draft.Clone()
		m.from.Args = args
	}
	m.chosen, m.place, m.looked = repository, nil, nil
	m.where.branches, m.where.unknown = nil, nil
	m.files = files{}
	ctx, places, asked := m.ctx, m.services.Places, m.asked
	return tea.Batch(
		func() tea.Msg {
			place, err := places.Look(ctx, repository)
			return placeKnown{m, asked, place, err}
		},
		func() tea.Msg {
			names, err := places.Branches(ctx, repository)
			return branchesKnown{m, asked, names, err}
		},
	)
}

// takePlace takes over what is known of the repository. The first one brings its last
// choices, and the person to the first thing that is not chosen.
func (m *Model) takePlace(msg placeKnown) tea.Cmd {
	if msg.err != nil {
		m.looked = msg.err
		m.listRepositories()
		return nil
	}
	place := msg.place
	m.place = &place
	m.listBranches()
	m.listRepositories()
	again := m.prefills() && (m.from.Repository == m.repository() || m.from.Repository == m.chosen)
	if !again && place.Last != nil && m.task.prompt() == "" {
		m.begins(*place.Last)
	}
	if m.draft.Agent == "" {
		m.draft.Agent = place.Settings.Settings.Agent
	}
	m.options.of, m.box.of = "", nil
	cmd := m.refill()
	if m.step == where && !m.where.second && m.inside {
		switch {
		case m.where.repository.input.Value() != "":
			m.where.second = true
		case m.draft.Agent != "":
			return tea.Batch(cmd, m.enter(task))
		default:
			return tea.Batch(cmd, m.enter(agent))
		}
		return tea.Batch(cmd, m.enter(where))
	}
	return cmd
}

func (m *Model) takeBranches(msg branchesKnown) {
	m.where.branches, m.where.unknown = msg.branches, msg.err
	m.listBranches()
}

// isPath reports whether what was typed is meant as a path.
func isPath(typed string) bool {
	return strings.HasPrefix(typed, "/") || strings.HasPrefix(typed, "~") || strings.HasPrefix(typed, ".") || strings.Contains(typed, "/")
}

// listRepositories makes the list below the repository.
func (m *Model) listRepositories() {
	w := &m.where
	typed := strings.TrimSpace(w.repository.input.Value())
	var items []item
	mark := func(value string) string {
		if m.place != nil && (value == m.place.Top || value == m.chosen) {
			return "✓"
		}
		return ""
	}
	for _, r := range m.recent {
		if typed != "" && !strings.Contains(strings.ToLower(r), strings.ToLower(typed)) {
			continue
		}
		name, detail := strings.TrimSuffix(filepath.Base(r), ".git"), r
		items = append(items, item{value: r, label: termtext.Escape(name), detail: termtext.Escape(detail), mark: mark(r)})
	}
	if typed != "" && workspace.IsURL(typed) {
		items = append(items, item{value: typed, label: termtext.Escape(typed), detail: "clone this address"})
	}
	if isPath(typed) {
		for _, f := range w.typed.folders {
			if !strings.HasPrefix(f.Path, typed) || slices.ContainsFunc(items, func(it item) bool { return it.value == f.Path }) {
				continue // for what was typed before, or there already
			}
			detail := "folder"
			if f.Repository {
				detail = "repository"
			}
			items = append(items, item{value: f.Path, label: termtext.Escape(f.Path), detail: detail, mark: mark(f.Path)})
		}
		if !slices.ContainsFunc(items, func(it item) bool { return it.value == typed }) {
			items = append(items, item{value: typed, label: termtext.Escape(typed), detail: w.asItIs(typed)})
		}
	}
	at := m.chosen
	if typed != "" {
		at = ""
	}
	w.repository.offer(items, at)
}

// asItIs says what a typed path is, as far as it is known.
func (w *whereStep) asItIs(typed string) string {
	switch {
	case w.typed.path != typed:
		return "" // not looked at yet
	case !w.typed.there:
		return missing
	default:
		return "current files"
	}
}

// missing is said of a typed path that leads nowhere.
const missing = "✗ there is no such folder"

// listBranches makes the list below the branch.
func (m *Model) listBranches() {
	w := &m.where
	typed := strings.TrimSpace(w.branch.input.Value())
	var items []item
	mark := func(branch string) string {
		if branch == m.draft.Branch {
			return "✓"
		}
		return ""
	}
	if typed == "" {
		label, detail := "what is checked out", "with the uncommitted work"
		switch {
		case workspace.IsURL(m.repository()):
			label, detail = "the default branch", ""
		case m.place != nil && m.place.Unborn:
			detail = "no commit yet"
		case m.place != nil && m.place.Branch != "":
			detail = termtext.Escape(m.place.Branch) + ", " + detail
		}
		items = append(items, item{label: label, detail: detail, mark: mark("")})
	}
	exact := false
	for _, name := range w.branches {
		exact = exact || name == typed
		if strings.Contains(strings.ToLower(name), strings.ToLower(typed)) {
			items = append(items, item{value: name, label: termtext.Escape(name), mark: mark(name)})
		}
	}
	if typed != "" && !exact {
		items = append(items, item{value: typed, label: termtext.Escape(typed), detail: "a tag or a commit"})
	}
	w.branch.offer(items, m.draft.Branch)
}

// pressWhere is a key of the step.
func (m *Model) pressWhere(msg tea.KeyPressMsg) tea.Cmd {
	w := &m.where
	p := &w.repository
	if w.second {
		p = &w.branch
	}
	switch {
	case p.move(msg):
		return nil
	case msg.String() == "enter":
		return m.pickWhere()
	case msg.String() == "tab":
		if !w.second && m.place != nil {
			w.second = true
			return m.enter(where)
		}
		return m.enter(agent)
	case msg.String() == "shift+tab":
		if w.second {
			w.second = false
			return m.enter(where)
		}
		m.inside = false
		return nil
	}
	return m.typed(msg)
}

// pickWhere takes the line that a person is at.
func (m *Model) pickWhere() tea.Cmd {
	w := &m.where
	if w.second {
		it, ok := w.branch.at()
		if !ok {
			return nil
		}
		m.draft.Branch = it.value
		w.branch.input.SetValue("")
		m.listBranches()
		return m.enter(agent)
	}
	it, ok := w.repository.at()
	if !ok {
		return nil
	}
	if it.detail == "folder" { // go on into it
		w.repository.input.SetValue(it.value + "/")
		w.repository.input.CursorEnd()
		return m.typedWhere()
	}
	if m.place != nil && (it.value == m.place.Top || it.value == m.chosen) {
		w.second = true
		return m.enter(where)
	}
	m.draft.Branch = ""
	w.repository.input.SetValue(it.value)
	w.repository.input.CursorEnd()
	return m.choose(it.value)
}

// typedWhere follows what was typed.
func (m *Model) typedWhere() tea.Cmd {
	w := &m.where
	if w.second {
		m.listBranches()
		return nil
	}
	typed := strings.TrimSpace(w.repository.input.Value())
	m.listRepositories()
	if !isPath(typed) || workspace.IsURL(typed) {
		return nil
	}
	w.typing++
	ctx, places, typing := m.ctx, m.services.Places, w.typing
	return func() tea.Msg {
		folders, there := places.Folders(ctx, typed)
		return foldersKnown{m, typing, typed, folders, there}
	}
}

func (m *Model) takeFolders(msg foldersKnown) {
	if msg.typing != m.where.typing {
		return // for what was typed before
	}
	m.where.typed = msg
	m.listRepositories()
}
