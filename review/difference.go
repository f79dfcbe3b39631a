package review

import (
	"context"
	"iter"
	"strings"

	"aibox/internal/git"
)

// difference is one file that differs between two trees. A side without a path is not
// there.
type difference struct {
	path     string
	old, now git.Entry
	known    int // length of the longest folder above it that the first tree has
}

// differences compares two trees, file by file in the order of the paths, in memory that
// does not grow with them: git would hold the whole difference before it prints it.
func differences(ctx context.Context, repo *git.Repo, from, to string) iter.Seq2[difference, error] {
	return func(yield func(difference, error) bool) {
		m := merge{ctx: ctx}
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
			yield(difference{}, m.err)
		}
	}
}

// merge goes through the files of two trees side by side.
type merge struct {
	ctx          context.Context //nolint:containedctx // of the one call that it is used in
	nextA, nextB func() (git.Entry, error, bool)
	a, b         git.Entry
	moreA, moreB bool
	before       string // the path in the first tree before a
	err          error
}

func (m *merge) stepA() {
	m.before = m.a.Path
	m.a, m.moreA = m.step(m.nextA)
}

func (m *merge) stepB() { m.b, m.moreB = m.step(m.nextB) }

func (m *merge) step(next func() (git.Entry, error, bool)) (git.Entry, bool) {
	e, err, more := next()
	if err == nil {
		err = m.ctx.Err()
	}
	if err != nil {
		m.err = err
	}
	return e, more
}

// next takes the file that comes next in either tree.
func (m *merge) next() (d difference, differs bool) {
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
		d = difference{path: m.a.Path, old: m.a, known: len(parent(m.a.Path))}
		m.stepA()
		return d, true
	case order > 0:
		d = difference{path: m.b.Path, now: m.b, known: shared(m.b.Path, m.before)}
		if m.moreA {
			d.known = max(d.known, shared(m.b.Path, m.a.Path))
		}
		m.stepB()
		return d, true
	}
	d = difference{path: m.a.Path, old: m.a, now: m.b, known: len(parent(m.a.Path))}
	m.stepA()
	m.stepB()
	return d, d.old != d.now
}

// shared is the length of the longest folder that both paths are in.
func shared(a, b string) int {
	folder := 0
	for i := 0; i < len(a) && i < len(b) && a[i] == b[i]; i++ {
		if a[i] == '/' {
			folder = i
		}
	}
	return folder
}
