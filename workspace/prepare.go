package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"aibox/internal/diskerr"
	"aibox/internal/git"
	"aibox/internal/lazyregexp"
	"aibox/internal/paths"
	"aibox/internal/sorting"
	"aibox/internal/termtext"
	"aibox/internal/undo"
)

// sessionID matches ids that are safe as names of refs, folders and files.
var sessionID = lazyregexp.New(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// Prepare creates the workspace of one session. If it refuses a repository it returns a
// fault of kind Usage with a hint. On error it removes everything it has created.
func Prepare(ctx context.Context, req Request) (_ *Workspace, err error) {
	if !sessionID.MatchString(req.Session) {
		return nil, fmt.Errorf("%q is not a session id", req.Session)
	}
	if req.Hide == nil {
		req.Hide = DefaultHide()
	}
	hide, err := ParseGlobs(req.Hide)
	if err != nil {
		return nil, err
	}
	readOnly, err := ParseGlobs(req.ReadOnly)
	if err != nil {
		return nil, err
	}
	src, err := openSource(ctx, req)
	if err != nil {
		return nil, err
	}
	var steps undo.Stack
	defer func() {
		if err = explainFull(err, req.Dirs); err != nil {
			if undone := steps.Run(ctx, 5*time.Minute); undone != nil {
				err = fmt.Errorf("%w (and cleaning up: %w)", err, undone)
			}
		}
	}()
	st, err := openStore(ctx, src, req.Dirs.Repos(), &steps)
	if err != nil {
		return nil, err
	}
	if src.unborn {
		if err := st.begin(ctx, src); err != nil {
			return nil, err
		}
	}
	p := &preparation{
		req: req, src: src, store: st, hide: hide, readOnly: readOnly,
		ws: &Workspace{
			Session: req.Session, Name: src.name, Repo: src.top, URL: src.url, GitDir: st.dir,
			Baseline: filepath.Join(st.dir, "aibox", req.Session+".baseline"),
			Head:     src.head, HeadRef: src.headRef, Hide: req.Hide, ReadOnly: req.ReadOnly, Scratch: req.Scratch, AsStored: !src.asIs,
		},
	}
	steps.Add(func(ctx context.Context) error { return forget(ctx, p.ws) })
	if err := p.ws.makeFolder(req.Dirs, []string{src.name, src.name + "-" + req.Session}, req.Observer, &steps); err != nil {
		return nil, err
	}
	if err := p.run(ctx); err != nil {
		return nil, err
	}
	st.unlock()
	return p.ws, nil
}

// preparation is one run of Prepare.
type preparation struct {
	req   Request
	src   *source
	store *store
	hide  *Globs
	// readOnly selects the files that no change set changes; nil if the workspace is being rebuilt.
	readOnly *Globs
	keys     int // files that are hidden by their content
	ws       *Workspace

	list     *listing
	modules  []*preparation // of the included submodules, each with a part of this one
	files    []copied
	history  *history
	baseline Baseline
	agent    *agentGit
}

// run copies history and files concurrently, and then takes the steps that need both.
func (p *preparation) run(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	hide := *p.hide // without those that hideKeys adds
	g.Go(func() (err error) {
		p.history, err = p.store.copyHistory(gctx, p.src, &hide, p.depth())
		return err
	})
	g.Go(func() error {
		p.baseline.Racy, p.baseline.HashAll = trustCtime(p.ws.Path)
		return nil
	})
	g.Go(func() error {
		report(p.req, Progress{Stage: "reading"})
		var err error
		if p.list, err = p.src.list(gctx, p.hide, aiboxFolders(p.req.Dirs)); err != nil {
			return err
		}
		if err := p.copyFiles(gctx); err != nil {
			return err
		}
		return p.copyModules(gctx)
	})
	if err := g.Wait(); err != nil {
		return err
	}
	p.history.hidden = p.history.hidden || p.keys > 0 || slices.ContainsFunc(p.list.hidden, func(path string) bool { return p.list.head[path].ID != "" })
	if err := errors.Join(p.commitModules(ctx), p.commitUncommitted(ctx)); err != nil {
		return fmt.Errorf("recording your uncommitted work: %w", err)
	}
	if err := p.joinModules(ctx); err != nil {
		return err
	}
	if err := p.writeAgentGit(ctx); err != nil {
		return fmt.Errorf("making the agent's .git: %w", err)
	}
	p.summarize()
	p.findUnmatched()
	if err := p.startFolder(); err != nil {
		return fmt.Errorf("making the folder to start in: %w", err)
	}
	return p.saveBaseline(ctx)
}

// depth returns how many commits of history to copy; 0 means all.
func (p *preparation) depth() int {
	switch {
	case p.req.Depth < 0:
		return 0
	case p.req.Depth == 0:
		return defaultDepth
	}
	return p.req.Depth
}

// explainFull names the full disk: that of the repositories if err mentions their folder,
// else that of the workspaces.
func explainFull(err error, dirs paths.Dirs) error {
	if err != nil && strings.Contains(err.Error(), dirs.Repos()) {
		return diskerr.Explain(err, dirs.Repos())
	}
	return diskerr.Explain(err, dirs.Workspace)
}

// copyFiles copies the visible files into the workspace.
func (p *preparation) copyFiles(ctx context.Context) error {
	if !p.src.asIs {
		return p.extractFiles(ctx)
	}
	from, err := unix.Open(p.src.top, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening %s: %w", termtext.Escape(p.src.top), err)
	}
	defer unix.Close(from)
	to, err := unix.Open(p.ws.Path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(to)
	count := &counter{now: Progress{Stage: "copying", Total: len(p.list.visible)}, relay: p.req.Progress}
	c := &copier{
		from: from, to: to, format: p.src.format, filemode: p.src.settings.fileMode, noLinks: p.src.settings.noLinks,
		index: p.list.index, prefix: p.src.prefix, progress: count.add, keys: p.hidesKeys,
	}
	if p.files, err = c.copyTree(ctx, p.list.visible); err != nil {
		return err
	}
	return p.hideKeys(to)
}

// writeAgentGit creates the agent's .git.
func (p *preparation) writeAgentGit(ctx context.Context) error {
	p.agent = &agentGit{
		dir: filepath.Join(p.ws.Path, ".git"), format: p.src.format,
		head: p.src.head, headRef: p.src.headRef, shallow: p.history.shallow, who: p.src.settings.who,
		exclude: p.ws.Scratch,
	}
	report(p.req, Progress{Stage: "history", Files: len(p.files), Total: len(p.files)})
	if p.history.hidden {
		h, commit, err := p.store.onlyVisible(ctx, p.src, p.history, p.hide)
		if err != nil {
			return fmt.Errorf("taking hidden files out of the history: %w", err)
		}
		p.agent.head, p.agent.shallow, p.history = commit, h.shallow, h
		if err := p.hideFormerKeys(h.keys); err != nil {
			return err
		}
		switch {
		case h.alone:
			p.ws.Notes = append(p.ws.Notes, "the agent gets no history, because it is too large to take hidden files out of it")
		case commit != p.src.head:
			p.ws.Notes = append(p.ws.Notes, "the agent's history is without the hidden files, so that its commits have ids of their own")
		}
	}
	if p.history.cut {
		p.ws.Notes = append(p.ws.Notes, fmt.Sprintf("the agent gets the last %d commits", p.depth()))
	}
	if p.history.partial && !p.history.alone {
		p.ws.Notes = append(p.ws.Notes, "the agent's history lacks what your partial clone has not fetched")
	}
	packs := slices.Clone(p.history.packs)
	if len(p.ws.Modules) > 0 {
		pack, commit, err := p.startModules(ctx, p.agent.head)
		if err != nil {
			return fmt.Errorf("bringing submodules along: %s", git.Message(err))
		}
		packs, p.agent.head = append(packs, pack), commit
	}
	var err error
	if p.agent.entries, err = p.indexEntries(ctx); err != nil {
		return err
	}
	for _, module := range p.leftModules() {
		// A symlink of the user may be on the way.
		if err := p.makeModuleFolder(module + "/"); err != nil && !absent(err) {
			return err
		}
	}
	p.ws.AgentHead = p.agent.head
	if err := os.Mkdir(p.agent.dir, 0o755); err != nil { //nolint:gosec // in a private folder
		return err
	}
	return p.agent.write(packs...)
}

// indexEntries returns the index of the starting commit. Files that are unchanged since
// have their stat in it, so that git in the sandbox need not read them.
func (p *preparation) indexEntries(ctx context.Context) ([]indexEntry, error) {
	head, sparse := p.list.head, p.list.sparse
	if len(p.ws.Modules) > 0 {
		var err error
		at := *p.src
		at.git, at.head = p.store.git, p.agent.head
		if head, err = at.readTree(ctx); err != nil {
			return nil, err
		}
		sparse = p.allSparse()
	}
	files := p.allFiles()
	unchanged := make(map[string]Stat, len(files))
	for _, f := range files {
		if !f.gone && hexID(f.Stored) == head[f.Path].ID {
			unchanged[f.Path] = f.Stat
		}
	}
	entries := make([]indexEntry, 0, len(head))
	hidden := p.hide.Matcher()
	formerKey := make(map[string]bool, len(p.history.keys))
	for _, path := range p.history.keys {
		formerKey[path] = true
	}
	for path, e := range head {
		if hidden(path) || formerKey[path] {
			continue
		}
		entries = append(entries, indexEntry{Entry: e, Stat: unchanged[path], Skip: sparse[path]})
	}
	slices.SortFunc(entries, func(a, b indexEntry) int { return strings.Compare(a.Path, b.Path) })
	return entries, nil
}

// summarize fills in the counts, notes and hidden files that the run shows.
func (p *preparation) summarize() {
	for _, f := range p.allFiles() {
		if !f.gone {
			p.ws.Files++
			p.ws.Bytes += int64(f.Stat.Size)
		}
	}
	p.ws.Notes = append(p.ws.Notes, p.list.notes...)
	p.eachModule(func(m *preparation) { p.ws.Notes = append(p.ws.Notes, m.list.notes...) })
	if p.ws.Hidden == nil { // else the workspace is being rebuilt
		hidden := p.allHidden()
		for _, path := range hidden[:min(len(hidden), 1000)] {
			p.ws.Hidden = append(p.ws.Hidden, termtext.Escape(path))
		}
		p.ws.HiddenFiles = len(hidden)
	}
}

// findUnmatched notes the user's globs that match nothing.
func (p *preparation) findUnmatched() {
	for _, word := range p.hide.idle(p.allVisible(), p.allHidden()) {
		p.ws.Unmatched = append(p.ws.Unmatched, termtext.Escape(word))
	}
	if p.readOnly == nil {
		return
	}
	for _, word := range p.readOnly.idle(p.allVisible()) {
		p.ws.UnmatchedReadOnly = append(p.ws.UnmatchedReadOnly, termtext.Escape(word))
	}
}

// saveBaseline records the copy as it is now.
func (p *preparation) saveBaseline(ctx context.Context) error {
	b := &p.baseline
	b.Format = p.src.format
	b.Ignore = p.ignoreFiles()
	for _, module := range p.leftModules() {
		b.Modules = append(b.Modules, []byte(module))
	}
	files := p.allFiles()
	b.Files = make([]File, 0, len(files))
	for _, f := range files {
		if !f.gone {
			b.Files = append(b.Files, f.File)
		}
	}
	hidden := p.allHidden()
	b.Hidden = make([][]byte, 0, len(hidden))
	for _, path := range hidden {
		b.Hidden = append(b.Hidden, []byte(path))
	}
	b.Taken = time.Now()
	p.ws.Prepared = b.Taken.UTC()
	return b.Save(p.ws.Baseline)
}

// ignoreFiles collects the user's ignore rules, weakest first, in git's order of
// precedence: the user's own, the repository's, then each folder's.
func (p *preparation) ignoreFiles() []IgnoreFile {
	var rules []IgnoreFile
	global := p.src.settings.excludes
	if global == "" {
		dir := os.Getenv("XDG_CONFIG_HOME")
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(p.req.Dirs.Home, ".config")
		}
		global = filepath.Join(dir, "git", "ignore")
	}
	for _, file := range []string{global, filepath.Join(p.src.common, "info", "exclude")} {
		if data, err := os.ReadFile(file); err == nil && len(data) < smallFile {
			rules = append(rules, IgnoreFile{Data: data})
		}
	}
	p.eachModule(func(m *preparation) {
		if data, err := os.ReadFile(filepath.Join(m.src.common, "info", "exclude")); err == nil && len(data) < smallFile {
			rules = append(rules, IgnoreFile{Dir: []byte(strings.TrimSuffix(m.src.prefix, "/")), Data: data})
		}
	})
	for _, f := range p.allFiles() {
		if f.content == nil || f.Mode == git.Symlink {
			continue
		}
		if dir, ok := strings.CutSuffix(f.Path, ".gitignore"); ok && (dir == "" || strings.HasSuffix(dir, "/")) {
			rules = append(rules, IgnoreFile{Dir: []byte(strings.TrimSuffix(dir, "/")), Data: f.content})
		}
	}
	sorting.StableFunc(rules, func(a, b *IgnoreFile) int {
		return strings.Count(string(a.Dir), "/") - strings.Count(string(b.Dir), "/")
	})
	return rules
}

// report calls req.Progress if it is set.
func report(req Request, now Progress) {
	if req.Progress != nil {
		req.Progress(now)
	}
}
