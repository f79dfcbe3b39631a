package newrun

import (
	"path/filepath"
	"slices"
	"strings"

	"aibox/internal/termtext"
	"aibox/workspace"
)

// isPath reports whether the text looks like a path.
func isPath(typed string) bool {
	return strings.HasPrefix(typed, "/") || strings.HasPrefix(typed, "~") || strings.HasPrefix(typed, ".") || strings.Contains(typed, "/")
}

// refresh makes the list of repositories.
func (s *repositoryStep) refresh() {
	typed := s.list.text()
	items := s.recentItems(typed)
	if typed != "" && workspace.IsURL(typed) {
		items = append(items, item{value: typed, label: termtext.Escape(typed), detail: "clone this URL"})
	}
	if isPath(typed) {
		items = s.withFolders(items, typed)
	}
	selected := s.chosen
	if typed != "" {
		selected = ""
	}
	s.list.setItems(items, selected)
}

// recentItems are the recent repositories that match the text.
func (s *repositoryStep) recentItems(typed string) []item {
	var items []item
	for _, r := range s.recent {
		if typed != "" && !strings.Contains(strings.ToLower(r), strings.ToLower(typed)) {
			continue
		}
		name := strings.TrimSuffix(filepath.Base(r), ".git")
		items = append(items, item{value: r, label: termtext.Escape(name), detail: termtext.Escape(r), mark: s.mark(r)})
	}
	return items
}

// withFolders adds the folders that begin with a path, and the path itself.
func (s *repositoryStep) withFolders(items []item, typed string) []item {
	listed := func(path string) bool {
		return slices.ContainsFunc(items, func(it item) bool { return it.value == path })
	}
	for _, f := range s.folders.folders {
		if !strings.HasPrefix(f.Path, typed) || listed(f.Path) {
			continue // found for an earlier text, or listed already
		}
		detail := "folder"
		if f.Repository {
			detail = "repository"
		}
		items = append(items, item{value: f.Path, label: termtext.Escape(f.Path), detail: detail, mark: s.mark(f.Path), folder: !f.Repository})
	}
	if !listed(typed) {
		items = append(items, item{value: typed, label: termtext.Escape(typed), detail: s.pathDetail(typed)})
	}
	return items
}

func (s *repositoryStep) mark(value string) string {
	if s.isChosen(value) {
		return "✓"
	}
	return ""
}

// pathDetail describes the path that was typed, as far as it has been looked up.
func (s *repositoryStep) pathDetail(typed string) string {
	switch {
	case s.folders.path != typed:
		return ""
	case !s.folders.exists:
		return "✗ no such folder"
	default:
		return "current files"
	}
}

// branchList asks for the branch, tag or commit that the run starts from.
type branchList struct {
	picker
	names  []string // raw; nil until they are known
	err    error    // why they are not known
	chosen string   // empty for the current one
}

// choose chooses a branch.
func (b *branchList) choose(name string) {
	b.chosen = name
	b.input.SetValue("")
}

// refreshBranches makes the list of branches.
func (s *repositoryStep) refreshBranches() {
	current := item{label: "current files", detail: "with uncommitted changes"}
	switch {
	case workspace.IsURL(s.path()):
		current = item{label: "the default branch"}
	case s.place != nil && s.place.Unborn:
		current.detail = "no commit yet"
	case s.place != nil && s.place.Branch != "":
		current.detail = termtext.Escape(s.place.Branch) + ", " + current.detail
	}
	s.branch.refresh(current)
}

// refresh makes the list. current is its first row.
func (b *branchList) refresh(current item) {
	typed := b.text()
	mark := func(branch string) string {
		if branch == b.chosen {
			return "✓"
		}
		return ""
	}
	var items []item
	if typed == "" {
		current.mark = mark("")
		items = append(items, current)
	}
	exact := false
	for _, name := range b.names {
		exact = exact || name == typed
		if strings.Contains(strings.ToLower(name), strings.ToLower(typed)) {
			items = append(items, item{value: name, label: termtext.Escape(name), mark: mark(name)})
		}
	}
	if typed != "" && !exact {
		items = append(items, item{value: typed, label: termtext.Escape(typed), detail: "a tag or a commit"})
	}
	b.setItems(items, b.chosen)
}
