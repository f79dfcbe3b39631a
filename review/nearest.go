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
// at the top run for all of them. It also has the symlinks. The zero value is empty. It is not safe for concurrent use.
type Callers struct {
	search risk.Search
	kinds  map[string][]git.Entry // by the rule
	left   int                    // files that were dropped
	first  []git.Entry            // of each kind, a file that was dropped
	links  []git.Entry            // symlinks
	beyond int                    // symlinks that were dropped
}

// addLink adds a symlink.
func (c *Callers) addLink(e git.Entry) {
	if c.links = append(c.links, e); len(c.links) >= 2*maxLinks {
		c.nearestLinks()
	}
}

// nearestLinks returns the symlinks that are nearest to the top, and how many more there are.
func (c *Callers) nearestLinks() (links []git.Entry, left int) {
	sortByDepth(c.links)
	if more := len(c.links) - maxLinks; more > 0 {
		c.links = slices.Delete(c.links, maxLinks, len(c.links))
		c.beyond += more
	}
	return c.links, c.beyond
}

// sortByDepth puts entries with fewer folders above them first.
func sortByDepth(all []git.Entry) {
	depth := func(e git.Entry) int { return strings.Count(e.Path, "/") }
	slices.SortStableFunc(all, func(a, b git.Entry) int { return cmp.Compare(depth(a), depth(b)) })
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
	sortByDepth(all)
	if more := len(all) - maxCallers; more > 0 {
		if !slices.ContainsFunc(c.first, func(e git.Entry) bool { return risk.CallerKind(e.Path) == kind }) {
			c.first = append(c.first, all[maxCallers])
		}
		c.kinds[kind] = slices.Delete(all, maxCallers, len(all))
		c.left += more
	}
}

// nearest returns the files, how many more there are, and one of these of each kind.
func (c *Callers) nearest() (files []git.Entry, left int, first []git.Entry) {
	for _, kind := range slices.Sorted(maps.Keys(c.kinds)) {
		c.prune(kind)
		files = append(files, c.kinds[kind]...)
	}
	return files, c.left, c.first
}
