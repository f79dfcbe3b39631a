package review

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"aibox/internal/git"
	"aibox/review/risk"
	"aibox/workspace"
)

// maxAssessed is how many bytes of changed files the rules look at in one review.
// What is beyond is a risk by itself.
const maxAssessed = 256 << 20

// maxCallers bounds the files of the baseline that may name a changed one.
const maxCallers = 500

// Assessed reports whether the risks in the change set are those of this version's
// rules; when they are not, Assess finds them anew.
func (cs *ChangeSet) Assessed() bool { return cs.Rules == risk.RulesVersion }

// Assess looks at every change with the rules of package risk and fills in the
// risks. It reads the owned repository and the settings of the user's own git, never
// the workspace. Its cost follows the changes.
func Assess(ctx context.Context, ws *workspace.Workspace, cs *ChangeSet) error {
	a := &assessment{set: cs, repo: git.Owned(cs.GitDir)}
	for i := range cs.Changes {
		cs.Changes[i].Risks = nil
	}
	g, within := errgroup.WithContext(ctx)
	var settings, named []risk.Caller
	if len(cs.Changes) > 0 {
		g.Go(func() error { settings = gitSettings(within, ws.Repo); return nil })
		g.Go(func() (err error) { named, err = a.callers(within); return err })
		g.Go(func() error { return a.judge(within) })
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("looking for risks: %w", err)
	}
	a.called(slices.Concat(settings, named))
	cs.Rules = risk.RulesVersion
	return nil
}

// assessment is one run of Assess.
type assessment struct {
	set  *ChangeSet
	repo *git.Repo
}

// gitSettings are the settings of the user's git that have programs run. Without an
// answer there are none.
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

// judge reads the changed files one by one and judges them side by side.
func (a *assessment) judge(ctx context.Context) error {
	blobs := a.repo.Blobs(ctx)
	g, within := errgroup.WithContext(ctx) // ends with Wait, which git must outlive
	jobs := make(chan *job)
	g.Go(func() error {
		defer close(jobs)
		return a.feed(within, blobs, jobs)
	})
	for range runtime.GOMAXPROCS(0) {
		g.Go(func() error {
			for j := range jobs {
				a.set.Changes[j.index].Risks = risk.Judge(&j.file)
			}
			return nil
		})
	}
	return errors.Join(g.Wait(), blobs.Close())
}

// job is one changed file to be judged.
type job struct {
	index int
	file  risk.File
}

// feed makes a job of each change, with the content that was read for it.
func (a *assessment) feed(ctx context.Context, blobs *git.Blobs, jobs chan<- *job) error {
	effort, total := risk.NewEffort(), int64(0)
	for i := range a.set.Changes {
		c := &a.set.Changes[i]
		j := &job{index: i, file: risk.File{
			Path: c.Path.Raw(), OldPath: c.OldPath.Raw(), Size: c.Size, Binary: c.Binary,
			Old: risk.Side{Mode: c.OldMode}, New: risk.Side{Mode: c.NewMode}, Effort: effort,
		}}
		if c.NewBlob != "" {
			if c.Size <= risk.MaxContent {
				total += c.Size
			}
			if err := fill(blobs, &j.file, c, total > maxAssessed); err != nil {
				return err
			}
		}
		select {
		case jobs <- j:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// fill reads the contents of one change.
func fill(blobs *git.Blobs, f *risk.File, c *Change, skip bool) (err error) {
	if c.Size > risk.MaxContent || skip {
		f.New.Cut = true
		return nil
	}
	if f.New.Content, f.New.Cut, err = blobs.ReadWithin(c.NewBlob, risk.MaxContent); err != nil {
		return err
	}
	switch c.OldBlob {
	case "":
	case c.NewBlob:
		f.Old.Content = f.New.Content
	default:
		f.Old.Content, f.Old.Cut, err = blobs.ReadWithin(c.OldBlob, risk.MaxContent)
	}
	return err
}

// callers are the files that have others run, as the user had them and as the agent
// left them.
func (a *assessment) callers(ctx context.Context) ([]risk.Caller, error) {
	entries := a.set.callers
	if entries == nil { // a change set from the disk
		all, err := a.repo.Tree(ctx, a.set.BaseTree)
		if err != nil {
			return nil, err
		}
		entries = callersAmong(all)
	}
	for _, c := range a.set.Changes {
		if c.NewBlob != "" && c.Size <= risk.MaxCaller && risk.Calls(c.Path.Raw()) {
			entries = append(entries, git.Entry{ID: c.NewBlob, Path: c.Path.Raw()})
		}
	}
	entries = entries[:min(len(entries), 2*maxCallers)]
	if len(entries) == 0 {
		return nil, nil
	}
	blobs := a.repo.Blobs(ctx)
	var found []risk.Caller
	for _, e := range entries {
		content, _, err := blobs.ReadWithin(e.ID, risk.MaxCaller)
		if err != nil {
			return nil, errors.Join(err, blobs.Close())
		}
		if c, ok := risk.CallerOf(e.Path, content); ok {
			found = append(found, c)
		}
	}
	return found, blobs.Close()
}

// callersAmong are the files of a tree that have others run, at most maxCallers.
func callersAmong(all []git.Entry) []git.Entry {
	found := []git.Entry{}
	var search risk.Search
	for _, e := range all {
		if e.Mode != git.Submodule && e.Mode != git.Symlink && search.Calls(e.Path) {
			if found = append(found, e); len(found) == maxCallers {
				break
			}
		}
	}
	return found
}

// called adds the risk of being run by another file.
func (a *assessment) called(all []risk.Caller) {
	var paths []string
	var index []int
	for i, c := range a.set.Changes {
		if c.NewBlob != "" {
			paths, index = append(paths, c.Path.Raw()), append(index, i)
		}
	}
	executable := func(i int) bool { return a.set.Changes[index[i]].NewMode == string(git.Executable) }
	for i, found := range risk.Called(paths, executable, all) {
		c := &a.set.Changes[index[i]]
		c.Risks = append(c.Risks, found)
		slices.SortStableFunc(c.Risks, func(x, y risk.Risk) int { return int(x.Severity) - int(y.Severity) })
	}
}

// callersOf are the files of the baseline that have others run.
func callersOf(b *workspace.Baseline) []git.Entry {
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
