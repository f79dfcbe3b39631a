package decision

import (
	"context"

	"aibox/review"
)

// Scope is the part of a change set that the user named, or all of it.
type Scope struct {
	Whole *review.ChangeSet

	selection *review.Selection
	paths     map[review.Path]bool // nil means all
}

// NewScope finds the changes that paths (files, folders, globs) or hunk ids name; if there
// are none of either, it contains everything. It includes files with risks, since viewing
// them is safe.
func NewScope(ctx context.Context, set *review.ChangeSet, paths, hunks []string) (*Scope, error) {
	s := &Scope{Whole: set}
	if len(paths)+len(hunks) == 0 {
		return s, nil
	}
	var err error
	all := make([]string, len(set.Changes)) // a part can have risks that its file does not have
	for i, c := range set.Changes {
		all[i] = c.Path.String()
	}
	s.selection, err = set.Select(ctx, review.Choice{Files: paths, Hunks: hunks, Risky: all})
	if err != nil {
		return nil, err
	}
	if len(hunks) > 0 { // some hunks of a file form a separate change set
		whole, err := set.Part(ctx, s.selection)
		return &Scope{Whole: whole}, err
	}
	s.paths = map[review.Path]bool{}
	for _, taken := range s.selection.Taken {
		s.paths[taken.Path] = true
	}
	return s, nil
}

// Has reports whether something of the file with a path is in the scope.
func (s *Scope) Has(path review.Path) bool { return s.paths == nil || s.paths[path] }

// Set returns the change set with the files of the scope only, to list them.
func (s *Scope) Set() *review.ChangeSet {
	if s.paths == nil {
		return s.Whole
	}
	set := *s.Whole
	set.Changes = nil
	for _, c := range s.Whole.Changes {
		if s.Has(c.Path) {
			set.Changes = append(set.Changes, c)
		}
	}
	return &set
}

// Standalone returns the scope as a change set whose patch can be applied. It returns a
// Conflict if the scope cannot be applied by itself.
func (s *Scope) Standalone(ctx context.Context) (*review.ChangeSet, error) {
	if s.selection == nil || s.Whole.Tree == s.Whole.BaseTree {
		return s.Whole, nil
	}
	return s.Whole.Part(ctx, s.selection)
}

// Files gives visit each file of the scope with its hunks, as review.ChangeSet.Files
// does.
func (s *Scope) Files(ctx context.Context, visit func(review.FileDiff) error) error {
	set := s.Set()
	if set.Empty() {
		return nil
	}
	paths := make([]review.Path, len(set.Changes))
	for i, c := range set.Changes {
		paths[i] = c.Path
	}
	return s.Whole.Files(ctx, visit, paths...)
}

// RiskyPaths returns the paths of the files that a plain accept leaves out.
func RiskyPaths(set *review.ChangeSet) []string {
	var paths []string
	for _, c := range set.Changes {
		if c.Risky() {
			paths = append(paths, c.Path.String())
		}
	}
	return paths
}
