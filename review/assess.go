package review

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

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
// rules; when they are not, Assess finds them again.
func (cs *ChangeSet) Assessed() bool { return cs.Rules == risk.RulesVersion }

// Assess looks at every change with the rules of package risk and fills in the
// risks. It reads the owned repository and the settings of the user's own git, never
// the workspace. Its cost follows the changes.
func Assess(ctx context.Context, ws *workspace.Workspace, cs *ChangeSet) error {
	a := &assessment{set: cs, repo: git.Owned(cs.GitDir), room: semaphore.NewWeighted(maxJudging), folds: map[Path]*foldRisks{}}
	for i := range cs.Changes {
		cs.Changes[i].Risks = nil
	}
	g, within := errgroup.WithContext(ctx)
	if len(cs.Changes) > 0 {
		covers, err := ws.Covers()
		if err != nil {
			return fmt.Errorf("looking for hidden files: %w", err)
		}
		a.covers = covers
		g.Go(func() error { a.settings = gitSettings(within, ws.Repo); return nil })
		g.Go(func() (err error) { a.named, err = a.callers(within); return err })
		g.Go(func() error { return a.judge(within) })
	}
	err := g.Wait()
	if err == nil && len(cs.Changes) > 0 {
		err = a.called(ctx)
	}
	if err != nil {
		return fmt.Errorf("looking for risks: %w", err)
	}
	a.sumUp()
	cs.Rules = risk.RulesVersion
	return nil
}

// assessment is one run of Assess.
type assessment struct {
	set      *ChangeSet
	repo     *git.Repo
	settings []risk.Caller
	named    []git.Entry // files that have others run
	covers   func(path string) bool
	room     *semaphore.Weighted

	mu    sync.Mutex
	folds map[Path]*foldRisks
}

// maxJudging is how many bytes of contents are judged at once, beside those that are
// read next.
const maxJudging = 8 << 20

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
				a.take(j, risk.Judge(&j.file))
				a.room.Release(j.bytes())
			}
			return nil
		})
	}
	return errors.Join(g.Wait(), blobs.Close())
}

// job is one changed file to be judged.
type job struct {
	change *Change // that gets the risks; a folder gets those of many files
	file   risk.File
}

// bytes is how much of a.room the job takes.
func (j *job) bytes() int64 {
	return min(maxJudging, int64(len(j.file.Old.Content)+len(j.file.New.Content)))
}

// take keeps the risks of a file.
func (a *assessment) take(j *job, risks []risk.Risk) {
	if j.change.Kind != Folded {
		j.change.Risks = risks
		return
	}
	a.fold(j.change, j.file.Path, risks)
}

// feed makes a job of each change, with the content that was read for it: of those that
// are listed first, and then of those that are folded.
func (a *assessment) feed(ctx context.Context, blobs *git.Blobs, jobs chan<- *job) error {
	f := &feeder{assessment: a, effort: risk.NewEffort(), blobs: blobs, jobs: jobs}
	for i := range a.set.Changes {
		c := &a.set.Changes[i]
		if c.Kind == Folded {
			continue
		}
		if err := f.send(ctx, c, c); err != nil {
			return err
		}
	}
	return a.set.EachFolded(ctx, a.repo, func(fold *Change, d git.Difference) error {
		c := &Change{
			Path: Path(d.Path), Kind: KindOf(d), OldMode: string(d.Old.Mode), NewMode: string(d.Now.Mode),
			OldBlob: d.Old.ID, NewBlob: d.Now.ID, Size: -1,
		}
		return f.send(ctx, fold, c)
	})
}

// feeder makes jobs.
type feeder struct {
	*assessment
	effort *risk.Effort
	blobs  *git.Blobs
	jobs   chan<- *job
	total  int64
}

// send makes the job of c, whose risks are to's.
func (f *feeder) send(ctx context.Context, to, c *Change) error {
	j := &job{change: to, file: risk.File{
		Path: c.Path.Raw(), OldPath: c.OldPath.Raw(), Size: max(0, c.Size), Binary: c.Binary,
		Old: risk.Side{Mode: c.OldMode}, New: risk.Side{Mode: c.NewMode}, Effort: f.effort,
		Covers: f.covers(c.Path.Raw()) || c.OldPath != "" && f.covers(c.OldPath.Raw()),
	}}
	if c.NewBlob != "" {
		if c.Size <= risk.MaxContent {
			f.total += max(0, c.Size)
		}
		if err := fill(f.blobs, &j.file, c, f.total > maxAssessed); err != nil {
			return err
		}
		if c.Size < 0 { // the size is not known before
			f.total += int64(len(j.file.New.Content))
			j.file.Size = int64(len(j.file.New.Content))
		}
	}
	if err := f.room.Acquire(ctx, j.bytes()); err != nil {
		return err
	}
	select {
	case f.jobs <- j:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
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
func (a *assessment) callers(ctx context.Context) ([]git.Entry, error) {
	entries := a.set.Callers
	if entries == nil { // a change set from the disk
		entries = []git.Entry{}
		var search risk.Search
		for e, err := range a.repo.Entries(ctx, a.set.BaseTree) {
			if err != nil {
				return nil, err
			}
			if len(entries) < maxCallers && e.Mode != git.Submodule && e.Mode != git.Symlink && search.Calls(e.Path) {
				entries = append(entries, e)
			}
		}
	}
	for i := range a.set.Changes {
		c := &a.set.Changes[i]
		if c.NewBlob != "" && c.Size <= risk.MaxCaller && risk.Calls(c.Path.Raw()) {
			entries = append(entries, git.Entry{ID: c.NewBlob, Path: c.Path.Raw()})
		}
	}
	return entries[:min(len(entries), 2*maxCallers)], nil
}

// eachCaller visits the texts that have others run, one at a time. An error ends it.
func (a *assessment) eachCaller(ctx context.Context, failed *error) iter.Seq[risk.Caller] {
	return func(yield func(risk.Caller) bool) {
		for _, c := range a.settings {
			if !yield(c) {
				return
			}
		}
		if len(a.named) == 0 {
			return
		}
		blobs := a.repo.Blobs(ctx)
		defer func() { *failed = errors.Join(*failed, blobs.Close()) }()
		for _, e := range a.named {
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

// called adds the risk of being run by another file.
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
	for i, found := range risk.Called(paths, func(i int) bool { return executable[i] }, a.eachCaller(ctx, &err)) {
		c := changes[i]
		if c.Kind == Folded {
			a.fold(c, paths[i], []risk.Risk{found})
			continue
		}
		c.Risks = append(c.Risks, found)
		slices.SortStableFunc(c.Risks, func(x, y risk.Risk) int { return int(x.Severity) - int(y.Severity) })
	}
	return err
}

// CallersOf are the files of the baseline that have others run.
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
