package gitignore

import "strings"

// glob is the compiled pattern after its literal beginning.
type glob struct{ steps []step }

// step is one part of a glob.
type step struct {
	kind kind
	char byte
	set  *[256]bool
}

type kind int

const (
	char     kind = iota // this byte
	inSet                // one byte of the set
	many                 // any bytes but slashes, perhaps none
	all                  // any bytes, perhaps none
	anyDepth             // either skips the next step, or continues with it
	depth                // any bytes and a slash
)

// compile reads a glob. With slashes, it matches paths, in which ** is special. ok is false
// if no name can match.
func compile(text string, slashes bool) (*glob, bool) {
	g := &glob{}
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			if i++; i == len(text) {
				return nil, false
			}
			g.steps = append(g.steps, step{kind: char, char: text[i]})
		case '?':
			set := everything(true)
			g.steps = append(g.steps, step{kind: inSet, set: &set})
		case '[':
			set, end, ok := class(text, i)
			if !ok {
				return nil, false
			}
			set['/'] = false
			g.steps = append(g.steps, step{kind: inSet, set: &set})
			i = end
		case '*':
			last := i
			for last+1 < len(text) && text[last+1] == '*' {
				last++
			}
			skip := g.stars(text, i, last, slashes)
			i = last + skip
		default:
			g.steps = append(g.steps, step{kind: char, char: text[i]})
		}
	}
	return g, true
}

// stars adds the run of stars from first to last. It returns how many bytes after the run
// belong to it.
func (g *glob) stars(text string, first, last int, slashes bool) (skip int) {
	rest := text[last+1:]
	folders := slashes && last > first && (first == 0 || text[first-1] == '/') &&
		(rest == "" || rest[0] == '/' || strings.HasPrefix(rest, `\/`))
	switch {
	case !folders:
		g.steps = append(g.steps, step{kind: many})
	case strings.HasPrefix(rest, "/"):
		g.steps = append(g.steps, step{kind: anyDepth}, step{kind: depth})
		return 1
	default:
		g.steps = append(g.steps, step{kind: all})
	}
	return 0
}

// everything returns the set of all bytes, or of none.
func everything(in bool) (set [256]bool) {
	for i := range set {
		set[i] = in && i != '/'
	}
	return set
}

// match follows all ways of matching in parallel. reached[i] is set if the steps before i
// can match the bytes read so far.
func (g *glob) match(name string) bool {
	var room [2][64]bool
	reached, next := room[0][:], room[1][:]
	if len(g.steps) >= len(reached) {
		reached, next = make([]bool, len(g.steps)+1), make([]bool, len(g.steps)+1)
	}
	reached, next = reached[:len(g.steps)+1], next[:len(g.steps)+1]
	reached[0] = true
	g.skip(reached)
	for i := range len(name) {
		clear(next)
		alive := false
		for at := range g.steps {
			if reached[at] {
				alive = g.steps[at].take(name[i], at, next) || alive
			}
		}
		if !alive {
			return false
		}
		g.skip(next)
		reached, next = next, reached
	}
	return reached[len(g.steps)]
}

// skip adds the steps that are reached without reading a byte.
func (g *glob) skip(reached []bool) {
	for at, s := range g.steps {
		if !reached[at] {
			continue
		}
		switch s.kind {
		case many, all:
			reached[at+1] = true
		case anyDepth:
			reached[at+1], reached[at+2] = true, true
		case char, inSet, depth:
		}
	}
}

// take makes the step at that index read one byte, and reports whether it can.
func (s *step) take(c byte, at int, next []bool) bool {
	fits, stays := false, true
	switch s.kind {
	case char:
		fits, stays = c == s.char, false
	case inSet:
		fits, stays = s.set[c], false
	case many:
		stays = c != '/'
	case depth:
		fits = c == '/'
	case anyDepth:
		stays = false
	case all:
	}
	next[at] = next[at] || stays
	next[at+1] = next[at+1] || fits
	return stays || fits
}
