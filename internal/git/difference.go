package git

import (
	"context"
	"iter"
	"strings"

	"aibox/internal/slashpath"
)

// Difference is one file that differs between two trees. A side without a path is missing.
type Difference struct {
	Path     string
	Old, Now Entry
	Known    int // length of the longest folder above it that the first tree has
}

// Differences compares two trees file by file, in the order of paths and in constant memory:
// git diff-tree keeps the whole difference in memory before it prints it.
func Differences(ctx context.Context, repo *Repo, from, to string) iter.Seq2[Difference, error] {
	return func(yield func(Difference, error) bool) {
		m := treeMerge{ctx: ctx}
		var stopA, stopB func()
		m.nextA, stopA = iter.Pull2(repo.Entries(ctx, from))
		defer stopA()
		m.nextB, stopB = iter.Pull2(repo.Entries(ctx, to))
		defer stopB()
		m.stepA()
		m.stepB()
		for m.err == nil && (m.moreA || m.moreB) {
			if d, differs := m.next(); differs && !yield(d, nil) {
				return
			}
		}
		if m.err != nil {
			yield(Difference{}, m.err)
		}
	}
}

// treeMerge iterates over the files of two trees side by side.
type treeMerge struct {
	ctx          context.Context //nolint:containedctx // used within one call
	nextA, nextB func() (Entry, error, bool)
	a, b         Entry
	moreA, moreB bool
	before       string // the path in the first tree before a
	err          error
}

func (m *treeMerge) stepA() {
	m.before = m.a.Path
	m.a, m.moreA = m.step(m.nextA)
}

func (m *treeMerge) stepB() { m.b, m.moreB = m.step(m.nextB) }

func (m *treeMerge) step(next func() (Entry, error, bool)) (Entry, bool) {
	e, err, more := next()
	if err == nil {
		err = m.ctx.Err()
	}
	if err != nil {
		m.err = err
	}
	return e, more
}

// next advances to the next file of either tree.
func (m *treeMerge) next() (d Difference, differs bool) {
	order := 0
	switch {
	case !m.moreA:
		order = 1
	case !m.moreB:
		order = -1
	default:
		order = strings.Compare(m.a.Path, m.b.Path)
	}
	switch {
	case order < 0:
		d = Difference{Path: m.a.Path, Old: m.a, Known: len(slashpath.Parent(m.a.Path))}
		m.stepA()
		return d, true
	case order > 0:
		d = Difference{Path: m.b.Path, Now: m.b, Known: shared(m.b.Path, m.before)}
		if m.moreA {
			d.Known = max(d.Known, shared(m.b.Path, m.a.Path))
		}
		m.stepB()
		return d, true
	}
	d = Difference{Path: m.a.Path, Old: m.a, Now: m.b, Known: len(slashpath.Parent(m.a.Path))}
	m.stepA()
	m.stepB()
	return d, d.Old != d.Now
}

// shared returns the length of the longest folder that contains both paths.
func shared(a, b string) int {
	folder := 0
	for i := 0; i < len(a) && i < len(b) && a[i] == b[i]; i++ {
		if a[i] == '/' {
			folder = i
		}
	}
	return folder
}
