package review

import (
	"context"
	"encoding/hex"
	"errors"
	"iter"
	"strings"

	"aibox/internal/git"
	"aibox/internal/sorting"
	"aibox/review/risk"
	"aibox/workspace"
)

// maxCallers limits the files of the baseline that are searched for names of changed files.
const maxCallers = 500

// callers are the texts that can run other files: the user's git settings, and files
// such as scripts and build files.
type callers struct {
	repo     *git.Repo
	settings []risk.Caller
	files    []git.Entry
}

// gitSettings returns the user's git settings that run programs, none when git fails.
func gitSettings(ctx context.Context, repo string) []risk.Caller {
	records, err := git.User(repo).Records(ctx, "config", "--list", "-z", "--includes")
	if err != nil {
		return nil
	}
	var all []risk.Caller
	for _, record := range records {
		key, value, _ := strings.Cut(record, "\n")
		if c, ok := risk.GitSetting(key, value); ok {
			all = append(all, c)
		}
	}
	return all
}

// callerFiles returns the files that can run others, both in the baseline and in the
// agent's version.
func callerFiles(ctx context.Context, repo *git.Repo, cs *ChangeSet) ([]git.Entry, error) {
	entries := cs.Callers
	if entries == nil { // a change set read from disk
		entries = []git.Entry{}
		var search risk.Search
		for e, err := range repo.Entries(ctx, cs.BaseTree) {
			if err != nil {
				return nil, err
			}
			if len(entries) < maxCallers && e.Mode != git.Submodule && e.Mode != git.Symlink && search.Calls(e.Path) {
				entries = append(entries, e)
			}
		}
	}
	for i := range cs.Changes {
		c := &cs.Changes[i]
		if c.NewBlob != "" && c.Size <= risk.MaxCaller && risk.Calls(c.Path.Raw()) {
			entries = append(entries, git.Entry{ID: c.NewBlob, Path: c.Path.Raw()})
		}
	}
	return entries[:min(len(entries), 2*maxCallers)], nil
}

// each visits the callers one at a time. An error ends the iteration and is stored in failed.
func (a *callers) each(ctx context.Context, failed *error) iter.Seq[risk.Caller] {
	return func(yield func(risk.Caller) bool) {
		for _, c := range a.settings {
			if !yield(c) {
				return
			}
		}
		if len(a.files) == 0 {
			return
		}
		blobs := a.repo.Blobs(ctx)
		defer func() { *failed = errors.Join(*failed, blobs.Close()) }()
		for _, e := range a.files {
			content, _, err := blobs.ReadWithin(e.ID, risk.MaxCaller)
			if err != nil {
				*failed = err
				return
			}
			if c, ok := risk.CallerOf(e.Path, content); ok && !yield(c) {
				return
			}
		}
	}
}

// called adds the risks of changed files that other files run.
func (a *assessment) called(ctx context.Context) error {
	var paths []string
	var changes []*Change
	var executable []bool
	for i := range a.set.Changes {
		if c := &a.set.Changes[i]; c.NewBlob != "" && c.Kind != Folded {
			paths, changes, executable = append(paths, c.Path.Raw()), append(changes, c), append(executable, c.NewMode == string(git.Executable))
		}
	}
	err := a.calledFolded(ctx, func(fold *Change, d git.Difference) {
		paths, changes, executable = append(paths, d.Path), append(changes, fold), append(executable, d.Now.Mode == git.Executable)
	})
	if err != nil {
		return err
	}
	for i, found := range risk.Called(paths, func(i int) bool { return executable[i] }, a.callers.each(ctx, &err)) {
		c := changes[i]
		if c.Kind == Folded {
			a.fold(c, paths[i], []risk.Risk{found})
			continue
		}
		c.Risks = append(c.Risks, found)
		sorting.StableFunc(c.Risks, func(x, y *risk.Risk) int { return int(x.Severity) - int(y.Severity) })
	}
	return err
}

// CallersOf returns the files of the baseline that can run others.
func CallersOf(b *workspace.Baseline) []git.Entry {
	found := []git.Entry{}
	var search risk.Search
	for i := range b.Files {
		f := &b.Files[i]
		if f.Mode == git.Symlink || !search.Calls(f.Path) {
			continue
		}
		found = append(found, git.Entry{Mode: f.Mode, ID: hex.EncodeToString([]byte(f.Stored)), Path: f.Path})
		if len(found) == maxCallers {
			break
		}
	}
	return found
}
