package review

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"aibox/internal/git"
	"aibox/review/risk"
)

// maxCallers limits the files of each rule that are searched for names of changed files.
const maxCallers = 500

// Callers are files that can run others. Of each rule it keeps the files nearest to the top: a
// repository can hold thousands of one kind, such as a package.json for each package, and those
// at the top run for all of them. The zero value is empty. It is not safe for concurrent use.
type Callers struct {
	search risk.Search
	kinds  map[string][]git.Entry // by the rule
	left   int                    // files that were dropped
}

// add adds a file if files of its name can run others.
func (c *Callers) add(path string, entry func() git.Entry) {
	if !c.search.Calls(path) {
		return
	}
	kind := risk.CallerKind(path)
	if c.kinds == nil {
		c.kinds = map[string][]git.Entry{}
	}
	c.kinds[kind] = append(c.kinds[kind], entry())
	if len(c.kinds[kind]) >= 2*maxCallers {
		c.prune(kind)
	}
}

// prune drops the files of a kind beyond the limit.
func (c *Callers) prune(kind string) {
	all := c.kinds[kind]
	depth := func(e git.Entry) int { return strings.Count(e.Path, "/") }
	slices.SortStableFunc(all, func(a, b git.Entry) int { return cmp.Compare(depth(a), depth(b)) })
	if more := len(all) - maxCallers; more > 0 {
		c.kinds[kind] = slices.Delete(all, maxCallers, len(all))
		c.left += more
	}
}

// nearest returns the files, and how many more there are.
func (c *Callers) nearest() (files []git.Entry, left int) {
	for _, kind := range slices.Sorted(maps.Keys(c.kinds)) {
		c.prune(kind)
		files = append(files, c.kinds[kind]...)
	}
	return files, c.left
}
