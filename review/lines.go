package review

import (
	"slices"
	"strconv"
	"strings"

	"aibox/internal/fault"
	"aibox/internal/sorting"
	"aibox/internal/termtext"
)

// BlockLines are the taken lines of a block that is not taken completely.
type BlockLines struct {
	Block HunkID `json:"block"`
	Lines []int  `json:"lines"` // numbers of its changed lines, from 1, sorted
	Of    int    `json:"of"`    // how many changed lines it has
}

// lineSet records for each changed line of a block whether it is taken. A block without
// text counts as one line.
type lineSet []bool

func (s lineSet) setAll(to bool) {
	for i := range s {
		s[i] = to
	}
}

// numbers returns the taken lines, from 1.
func (s lineSet) numbers() []int {
	var numbers []int
	for i, taken := range s {
		if taken {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

// sizedBlock is a block with the number of its changed lines.
type sizedBlock struct {
	id    HunkID
	lines int
	text  bool // so that single lines can be taken
}

func sizeOf(part *Hunk) sizedBlock {
	if n := len(part.Changed()); part.Kind == HunkText && n > 0 {
		return sizedBlock{part.ID, n, true}
	}
	return sizedBlock{id: part.ID, lines: 1}
}

// Changed returns the indexes of the added and deleted lines.
func (h *Hunk) Changed() []int {
	var at []int
	for i := range h.Lines {
		if h.Lines[i].Op != ' ' {
			at = append(at, i)
		}
	}
	return at
}

// LineChoices names single lines of a hunk for Choice.Hunks. numbers count its changed
// lines, from 1.
func LineChoices(id HunkID, numbers []int) []string {
	var names []string
	for i := 0; i < len(numbers); {
		end := i
		for end+1 < len(numbers) && numbers[end+1] == numbers[end]+1 {
			end++
		}
		name := string(id) + ":" + strconv.Itoa(numbers[i])
		if end > i {
			name += "-" + strconv.Itoa(numbers[end])
		}
		names = append(names, name)
		i = end + 1
	}
	return names
}

// lineRange is a range of changed lines, from 1. The zero value is all of them.
type lineRange struct{ from, to int }

func (r lineRange) has(n int) bool { return r.from == 0 || r.from <= n && n <= r.to }

// parseHunkChoice parses the id of a hunk or a prefix of it, followed by a colon and a
// line or a range of lines if only these are chosen.
func parseHunkChoice(text string) (id string, lines lineRange, err error) {
	id, spec, some := strings.Cut(strings.ToLower(text), ":")
	if some {
		first, last, ranged := strings.Cut(spec, "-")
		var fromErr, toErr error
		lines.from, fromErr = strconv.Atoi(first)
		lines.to = lines.from
		if ranged {
			lines.to, toErr = strconv.Atoi(last)
		}
		if fromErr != nil || toErr != nil || lines.from < 1 || lines.to < lines.from {
			return "", lines, fault.New(fault.Usage, "%s does not name lines of a hunk", termtext.Escape(text)).
				Hint("write ID:3 or ID:3-5, which counts the changed lines of the hunk")
		}
	}
	return id, lines, nil
}

// only returns the block with some of its changed lines: other deleted lines stay, other
// added lines are dropped. An added line follows the deleted one that it would replace.
func (b block) only(numbers []int) block {
	var deleted, added []Line
	for i, line := range b.lines {
		_, taken := slices.BinarySearch(numbers, i+1)
		switch {
		case line.Op == '-' && !taken:
			line.Op = ' '
			deleted = append(deleted, line)
		case line.Op == '-':
			deleted = append(deleted, line)
		case taken:
			added = append(added, line)
		default:
			line.Op = 0
			added = append(added, line)
		}
	}
	some := block{at: b.at, old: b.old, partial: true}
	for i := range max(len(deleted), len(added)) {
		if i < len(deleted) {
			some.lines = append(some.lines, deleted[i])
		}
		if i < len(added) && added[i].Op == '+' {
			some.lines = append(some.lines, added[i])
		}
	}
	return some
}

// addLines adds lines of blocks to the taken ones. A block with all of its lines is taken
// as a whole.
func (t *Taken) addLines(more []BlockLines) {
	byBlock := map[HunkID]BlockLines{}
	for _, b := range append(slices.Clone(t.Lines), more...) {
		sum := append(slices.Clone(b.Lines), byBlock[b.Block].Lines...)
		slices.Sort(sum)
		byBlock[b.Block] = BlockLines{b.Block, slices.Compact(sum), b.Of}
	}
	t.Lines = nil
	for id, b := range byBlock {
		switch {
		case slices.Contains(t.Blocks, id):
		case len(b.Lines) >= b.Of:
			t.Blocks = append(t.Blocks, id)
		default:
			t.Lines = append(t.Lines, b)
		}
	}
	slices.Sort(t.Blocks)
	t.sortLines()
}

func (t *Taken) sortLines() {
	sorting.Func(t.Lines, func(a, b *BlockLines) int { return strings.Compare(string(a.Block), string(b.Block)) })
}

// hasLines reports whether t holds the lines of a block.
func (t *Taken) hasLines(of BlockLines) bool {
	return slices.Contains(t.Blocks, of.Block) || slices.ContainsFunc(t.Lines, func(b BlockLines) bool {
		return b.Block == of.Block && !slices.ContainsFunc(of.Lines, func(n int) bool {
			_, there := slices.BinarySearch(b.Lines, n)
			return !there
		})
	})
}

// linesIn returns which lines of a block are taken.
func (t *Taken) linesIn(part *Hunk) lineSet {
	lines := make(lineSet, sizeOf(part).lines)
	_, whole := slices.BinarySearch(t.Blocks, part.ID)
	lines.setAll(whole)
	for _, b := range t.Lines {
		if b.Block == part.ID && b.Of == len(lines) {
			for i := range lines {
				_, taken := slices.BinarySearch(b.Lines, i+1)
				lines[i] = lines[i] || taken
			}
		}
	}
	return lines
}
