package review

import (
	"bytes"
	"context"
	"errors"
	"runtime"

	"golang.org/x/sync/errgroup"

	"aibox/internal/git"
	"aibox/review/risk"
)

// maxJudging is how many bytes of contents are judged at a time, not counting those read
// next.
const maxJudging = 8 << 20

// job is one changed file to be judged.
type job struct {
	change *Change // gets the risks; a folder gets those of many files
	file   risk.File
}

// bytes returns how much of a.room the job takes.
func (j *job) bytes() int64 {
	return min(maxJudging, int64(len(j.file.Old.Content)+len(j.file.New.Content)))
}

// judge reads the changed files one by one and judges them concurrently.
func (a *assessment) judge(ctx context.Context) error {
	blobs := a.repo.Blobs(ctx)
	g, within := errgroup.WithContext(ctx) // ends with Wait, and git must run longer
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

// feed makes a job with the content of each change: first the listed ones, then the folded
// ones.
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

// send makes a job of c. Its risks belong to the change to.
func (f *feeder) send(ctx context.Context, to, c *Change) error {
	c.Aliases, c.OldAliases = f.links.aliases(c.Path.Raw()), f.links.aliases(c.OldPath.Raw())
	if isLink(c.NewMode) {
		c.Aliases = append(c.Aliases, f.links.through(c.Path.Raw())...)
	}
	j := &job{change: to, file: risk.File{
		Path: c.Path.Raw(), OldPath: c.OldPath.Raw(), Size: max(0, c.Size), Binary: c.Binary,
		Old: risk.Side{Mode: c.OldMode}, New: risk.Side{Mode: c.NewMode}, Effort: f.effort,
		Aliases: c.Aliases, OldAliases: c.OldAliases,
		Covers: f.covers(c.Path.Raw()) || c.OldPath != "" && f.covers(c.OldPath.Raw()),
	}}
	switch {
	case c.NewBlob != "":
		if c.Size <= risk.MaxContent {
			f.total += max(0, c.Size)
		}
		if err := fill(f.blobs, &j.file, c, f.total > maxAssessed); err != nil {
			return err
		}
		if c.Size < 0 { // of a folded folder
			f.total += int64(len(j.file.New.Content))
			j.file.Binary = !isLink(c.NewMode) && looksBinary(j.file.New.Content) || !isLink(c.OldMode) && looksBinary(j.file.Old.Content)
		}
	case risk.NeedsOld(c.Path.Raw()):
		var err error
		if j.file.Old.Content, j.file.Old.Cut, err = f.blobs.ReadWithin(c.OldBlob, risk.MaxContent); err != nil {
			return err
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
	if f.New.Content, f.Size, err = blobs.ReadSized(c.NewBlob, risk.MaxContent); err != nil {
		return err
	}
	f.New.Cut = f.Size > risk.MaxContent
	switch c.OldBlob {
	case "":
	case c.NewBlob:
		f.Old.Content = f.New.Content
	default:
		f.Old.Content, f.Old.Cut, err = blobs.ReadWithin(c.OldBlob, risk.MaxContent)
	}
	return err
}

// looksBinary reports whether git takes a content for binary, where no attribute says so.
func looksBinary(content []byte) bool {
	return bytes.IndexByte(content[:min(len(content), 8000)], 0) >= 0
}

func isLink(mode string) bool { return mode == string(git.Symlink) }

// maxAssessed is how many bytes of changed files the rules read in one review. A file
// beyond that is a risk by itself.
const maxAssessed = 256 << 20

// take keeps the risks of a file.
func (a *assessment) take(j *job, risks []risk.Risk) {
	if j.change.Kind != Folded {
		j.change.Risks = risks
		return
	}
	a.fold(j.change, j.file.Path, risks)
}
