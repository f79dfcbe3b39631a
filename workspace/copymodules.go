package workspace

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/internal/sorting"
	"aibox/internal/termtext"
)

// copyModules copies the files of the submodules, and of the submodules in them.
func (p *preparation) copyModules(ctx context.Context) error {
	sources, err := p.src.openModules(ctx, p.list, p.req.Dirs.Workspace)
	if err != nil {
		return err
	}
	for _, src := range sources {
		m := &preparation{
			req: p.req, src: src, store: p.store, hide: p.hide,
			ws: &Workspace{Session: p.ws.Session, Path: join(p.ws.Path, strings.TrimPrefix(strings.TrimSuffix(src.prefix, "/"), p.src.prefix))},
		}
		if m.list, err = src.list(ctx, p.hide, aiboxFolders(p.req.Dirs)); err != nil {
			return fmt.Errorf("submodule %s: %w", termtext.Escape(src.prefix), err)
		}
		if _, err := p.store.copyHistory(ctx, src, &Globs{}, 1); err != nil {
			return fmt.Errorf("submodule %s: %w", termtext.Escape(src.prefix), err)
		}
		err := p.makeModuleFolder(strings.TrimPrefix(src.prefix, p.src.prefix))
		if absent(err) {
			return fault.New(fault.Usage, "the repository has the submodule %s, and something else in the place of a folder above it", termtext.Escape(src.prefix))
		}
		if err != nil {
			return fmt.Errorf("submodule %s: %w", termtext.Escape(src.prefix), err)
		}
		if err := m.copyFiles(ctx); err != nil {
			return err
		}
		if err := m.copyModules(ctx); err != nil {
			return err
		}
		p.ws.Hide = append(slices.Clip(p.ws.Hide), m.ws.Hide...) // of private keys
		p.modules = append(p.modules, m)
	}
	return nil
}

// makeModuleFolder makes the folder of a submodule, a path with a slash at its end.
func (p *preparation) makeModuleFolder(folder string) error {
	root, err := unix.Open(p.ws.Path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(root)
	return makeFolders(root, []string{folder})
}

// hidesKeys is Globs.hidesKeys for a path in p's source.
func (p *preparation) hidesKeys(path string) bool { return p.hide.hidesKeys(p.src.prefix + path) }

// eachModule calls visit for every submodule, the outer ones first.
func (p *preparation) eachModule(visit func(m *preparation)) {
	for _, m := range p.modules {
		visit(m)
		m.eachModule(visit)
	}
}

// allFiles returns all copied files, sorted by their paths in the workspace, including
// those of submodules.
func (p *preparation) allFiles() []copied {
	if len(p.modules) == 0 {
		return p.files
	}
	all := slices.Clone(p.files)
	p.eachModule(func(m *preparation) {
		for _, f := range m.files {
			f.Path = m.src.prefix + f.Path
			all = append(all, f)
		}
	})
	sorting.Func(all, func(a, b *copied) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// allVisible returns the paths of all files that the agent gets, including submodules.
func (p *preparation) allVisible() []string {
	return p.allPaths(func(l *listing) []string { return l.visible })
}

// allHidden returns the sorted paths of all hidden files, including submodules.
func (p *preparation) allHidden() []string {
	return p.allPaths(func(l *listing) []string { return l.hidden })
}

func (p *preparation) allPaths(of func(*listing) []string) []string {
	all := slices.Clone(of(p.list))
	p.eachModule(func(m *preparation) {
		for _, path := range of(m.list) {
			all = append(all, m.src.prefix+path)
		}
	})
	slices.Sort(all)
	return all
}

// commitModules records the user's uncommitted work in the submodules.
func (p *preparation) commitModules(ctx context.Context) (err error) {
	p.eachModule(func(m *preparation) {
		if err == nil {
			err = m.commitUncommitted(ctx)
		}
	})
	return err
}

// joinModules creates the commit that changes are compared with. It holds the starting
// files, and the submodules' files in place of their commits. Its parents are the commits
// that it is made of, so that one ref keeps all of them.
func (p *preparation) joinModules(ctx context.Context) error {
	if len(p.modules) == 0 {
		return nil
	}
	c := git.Commit{
		Ref: ref(p.ws.Session, "files"), Parent: p.ws.BaseCommit(), Tree: p.ws.BaseTree, Who: p.src.settings.who,
		Message: "Files of aibox session " + p.ws.Session + ", with those of submodules\n",
	}
	p.eachModule(func(m *preparation) {
		path := strings.TrimSuffix(m.src.prefix, "/")
		made := Module{Path: path, Repo: m.src.top, URL: m.src.url, GitDir: m.src.gitDir, Head: m.src.head, Uncommitted: m.ws.Uncommitted}
		p.ws.Modules = append(p.ws.Modules, made)
		c.Put = append(c.Put, git.Entry{Mode: git.Folder, ID: m.ws.BaseTree, Path: path})
		c.Merge = append(c.Merge, made.BaseCommit())
	})
	slices.Sort(c.Merge)
	c.Merge = slices.Compact(c.Merge)
	commit, tree, err := p.store.git.ImportCommit(ctx, c)
	if err != nil {
		return fmt.Errorf("joining the files of submodules: %s", git.Message(err))
	}
	p.ws.Joined, p.ws.BaseTree = commit, tree
	return nil
}

// startModules adds a commit with the visible files of the submodules on top of parent, in
// the store, and packs its new objects: git in the sandbox sees a single repository.
func (p *preparation) startModules(ctx context.Context, parent string) (pack, commit string, err error) {
	c := git.Commit{
		Ref: ref(p.ws.Session, "modules"), Parent: parent, Who: p.src.settings.who,
		Message: "Files of submodules\n\nIn this copy submodules are plain folders.\n",
	}
	brought := make(map[string]bool, len(p.ws.Modules))
	for _, m := range p.ws.Modules {
		brought[m.Path] = true
		c.Remove = append(c.Remove, m.Path)
	}
	hidden := p.hide.Matcher()
	keys := make(map[string][]string, len(p.ws.Modules))
	for _, m := range p.ws.Modules {
		entries, err := p.store.git.Tree(ctx, m.Head)
		if err != nil {
			return "", "", err
		}
		entries = slices.DeleteFunc(entries, func(e git.Entry) bool { return hidden(m.Path+"/"+e.Path) || brought[m.Path+"/"+e.Path] })
		isKey, err := p.formerKeys(ctx, &m, entries)
		if err != nil {
			return "", "", err
		}
		for _, e := range entries {
			if isKey[e.ID] && p.checksFormerKey(&m, e) {
				keys[m.Path] = append(keys[m.Path], e.Path)
				continue
			}
			e.Path = m.Path + "/" + e.Path
			c.Put = append(c.Put, e)
		}
	}
	if err := p.hideFormerModuleKeys(keys); err != nil {
		return "", "", err
	}
	if commit, _, err = p.store.git.ImportCommit(ctx, c); err != nil {
		return "", "", err
	}
	pack, err = packObjects(ctx, p.store.git, commit, []string{"^" + parent}, filepath.Join(p.store.dir, "objects", "pack", "pack"), nil)
	return pack, commit, err
}

// checksFormerKey reports whether a file of a submodule's commit is hidden if it is a private key.
func (p *preparation) checksFormerKey(m *Module, e git.Entry) bool {
	path := m.Path + "/" + e.Path
	return e.Mode != git.Submodule && isKeyName(path) && p.hide.hidesFormerKeys(path)
}

// formerKeys returns the ids of the private keys among these files of a submodule's commit. It checks
// those that the store has: a partial clone lacks the others, and git would fetch them.
func (p *preparation) formerKeys(ctx context.Context, m *Module, entries []git.Entry) (map[string]bool, error) {
	check, keys := map[string]bool{}, map[string]bool{}
	for _, e := range entries {
		if p.checksFormerKey(m, e) {
			check[e.ID] = true
		}
	}
	if len(check) == 0 {
		return keys, nil
	}
	out, err := p.store.git.Output(ctx, "rev-list", "--objects", "--no-walk", "--missing=allow-promisor", m.Head)
	if err != nil {
		return nil, err
	}
	var there []string
	for line := range strings.Lines(string(out)) { // "ID PATH"
		if id, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); check[id] {
			there = append(there, id)
		}
	}
	return keys, p.store.git.EachObject(ctx, there, largestKey, func(o git.Object, _ func(string)) error {
		keys[o.ID] = isPrivateKey(o.Content)
		return nil
	})
}

// hideFormerModuleKeys is hideFormerKeys for the submodules, by their paths.
func (p *preparation) hideFormerModuleKeys(keys map[string][]string) (err error) {
	p.eachModule(func(m *preparation) {
		if err != nil {
			return
		}
		known := len(m.ws.Hide)
		err = m.hideFormerKeys(keys[strings.TrimSuffix(m.src.prefix, "/")])
		p.ws.Hide = append(slices.Clip(p.ws.Hide), m.ws.Hide[known:]...)
	})
	return err
}

// leftModules returns the submodules that are empty folders in the workspace.
func (p *preparation) leftModules() []string {
	left := []string{}
	brought := make(map[string]bool, len(p.ws.Modules))
	for _, m := range p.ws.Modules {
		brought[m.Path] = true
	}
	for _, path := range p.list.modules {
		if !brought[path] { // a rebuilt workspace has them in its record
			left = append(left, path)
		}
	}
	p.eachModule(func(m *preparation) {
		for _, path := range m.list.modules {
			left = append(left, m.src.prefix+path)
		}
	})
	return left
}

// allSparse returns the files that sparse checkouts leave out, by path in the workspace.
func (p *preparation) allSparse() map[string]bool {
	all := maps.Clone(p.list.sparse)
	p.eachModule(func(m *preparation) {
		for path := range m.list.sparse {
			all[m.src.prefix+path] = true
		}
	})
	return all
}
