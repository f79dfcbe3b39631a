package review

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"aibox/internal/amount"
	"aibox/internal/git"
	"aibox/internal/slashpath"
	"aibox/review/risk"
)

const (
	maxLinks     = 2000   // symlinks of the baseline that are followed
	maxLinkText  = 4096   // bytes of a target
	maxLinkHops  = 40     // symlinks on the way to a target, as in Linux
	maxAliases   = 16     // other names of one file
	maxLinkTrees = 100    // folders that are searched for files that can run others
	maxLinkFiles = 20_000 // files in them
)

// links are the symlinks of the baseline by the path in the repository that they lead to. Programs
// reach a file by the names of symlinks, too: .vscode/tasks.json can be config/vscode/tasks.json.
type links map[string][]string

// resolveLinks finds what symlinks lead to, given their texts. Those that lead out of the repository,
// or to its top, are left out.
func resolveLinks(texts map[string]string) links {
	found := links{}
	for link := range texts {
		if target, ok := resolveLink(texts, link); ok && target != "" {
			found[target] = append(found[target], link)
		}
	}
	for _, all := range found {
		slices.Sort(all)
	}
	return found
}

// resolveLink is the path that a symlink leads to, through other symlinks.
func resolveLink(texts map[string]string, link string) (target string, ok bool) {
	at, rest := link, []string(nil) // rest are the parts still to follow, the next one last
	for hops := 0; ; {
		if text, isLink := texts[at]; isLink {
			if hops++; hops > maxLinkHops || strings.HasPrefix(text, "/") || strings.Contains(text, "\x00") {
				return "", false
			}
			parts := strings.Split(text, "/")
			slices.Reverse(parts)
			at, rest = slashpath.Parent(at), append(rest, parts...)
		}
		if len(rest) == 0 {
			return at, true
		}
		part := rest[len(rest)-1]
		rest = rest[:len(rest)-1]
		switch part {
		case "", ".":
		case "..":
			if at == "" {
				return "", false
			}
			at = slashpath.Parent(at)
		default:
			at = path.Join(at, part)
		}
	}
}

// aliases are the other names by which symlinks lead to a path.
func (l links) aliases(name string) []string {
	if len(l) == 0 || name == "" {
		return nil
	}
	names := []string{name}
	for i := 0; i < len(names) && len(names) <= maxAliases; i++ {
		for _, above := range append(slashpath.Parents(names[i]), names[i]) {
			for _, link := range l[above] {
				alias := link + names[i][len(above):]
				if len(names) <= maxAliases && len(alias) <= maxLinkText && !slices.Contains(names, alias) {
					names = append(names, alias)
				}
			}
		}
	}
	return names[1:]
}

// through are the symlinks that lead to something below a path. Another symlink there changes where
// they lead.
func (l links) through(name string) []string {
	var found []string
	for target, all := range l {
		if strings.HasPrefix(target, name+"/") {
			found = append(found, all...)
		}
	}
	slices.Sort(found)
	return found[:min(len(found), maxAliases)]
}

// baselineCallers are the files of the baseline that can run others, and its symlinks.
func (a *assessment) baselineCallers(ctx context.Context) (*Callers, error) {
	if a.set.Callers != nil {
		return a.set.Callers, nil
	}
	found := &Callers{} // of a change set read from disk
	for e, err := range a.repo.Entries(ctx, a.set.BaseTree) {
		if err != nil {
			return nil, err
		}
		switch e.Mode {
		case git.Submodule:
		case git.Symlink:
			found.addLink(e)
		default:
			found.add(e.Path, func() git.Entry { return e })
		}
	}
	return found, nil
}

// readLinks reads the symlinks of the baseline. It returns a note if there are too many.
func (a *assessment) readLinks(ctx context.Context, old *Callers) (notes []string, err error) {
	all, left := old.nearestLinks()
	if left > 0 {
		notes = append(notes, fmt.Sprintf("%s are not followed, only the %d that are nearest to the top", amount.Of(left, "other symlink"), maxLinks))
	}
	if len(all) == 0 {
		return notes, nil
	}
	texts := map[string]string{}
	blobs := a.repo.Blobs(ctx)
	defer func() { err = errors.Join(err, blobs.Close()) }()
	for _, e := range all {
		text, cut, err := blobs.ReadWithin(e.ID, maxLinkText)
		if err != nil {
			return nil, err
		}
		if !cut {
			texts[e.Path] = string(text)
		}
	}
	a.links = resolveLinks(texts)
	return notes, nil
}

// behindLinks visits the files of the baseline that can run others by the name of a symlink, under that name.
// It returns a note if there are too many.
func (a *assessment) behindLinks(ctx context.Context, visit func(e git.Entry)) (notes []string, err error) {
	var targets []string
	for target, all := range a.links {
		if slices.ContainsFunc(all, func(link string) bool { return risk.Calls(link) || risk.CallsBelow(link) }) {
			targets = append(targets, target)
		}
	}
	slices.Sort(targets)
	trees, files := 0, 0
	tooMany := []string{fmt.Sprintf("symlinks lead to more than %d folders or %d files that may run changed files, too; the others were not searched", maxLinkTrees, maxLinkFiles)}
	for e, err := range a.repo.EntriesAt(ctx, a.set.BaseTree, targets) {
		if err != nil {
			return nil, err
		}
		for _, link := range a.links[e.Path] {
			switch {
			case e.Mode == git.File || e.Mode == git.Executable:
				visit(git.Entry{Mode: e.Mode, ID: e.ID, Path: link})
			case e.Mode == git.Folder && risk.CallsBelow(link):
				if trees++; trees > maxLinkTrees {
					return tooMany, nil
				}
				for inner, err := range a.repo.Entries(ctx, e.ID) {
					if err != nil {
						return nil, err
					}
					if files++; files > maxLinkFiles {
						return tooMany, nil
					}
					if inner.Mode == git.File || inner.Mode == git.Executable {
						visit(git.Entry{Mode: inner.Mode, ID: inner.ID, Path: path.Join(link, inner.Path)})
					}
				}
			}
		}
	}
	return nil, nil
}
