package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/internal/paths"
)

// HostGit writes into the folder dir, which it makes where needed, a git directory
// for the workspace that is the host's own: its index is what the agent started
// from, and its HEAD the commit under that. It returns the variables, NAME=VALUE,
// under which every git that a person starts uses it, wherever that is started, and
// neither reads nor writes the .git in the workspace, which is the agent's. No
// filter, hook or monitor that the workspace names runs, and git does not look into
// the folders of submodules, where the agent may have put one with its own settings.
//
// A dir that was used before is written anew: commits made there are forgotten.
func (w *Workspace) HostGit(ctx context.Context, dir string) ([]string, error) {
	baseline, err := LoadBaseline(w.Baseline)
	if err != nil {
		return nil, err
	}
	entries, err := w.startIndex(ctx, baseline)
	if err != nil {
		return nil, err
	}
	for _, sub := range []string{"objects/info", "refs/heads", "info"} {
		if err := paths.MakePrivate(filepath.Join(dir, sub)); err != nil {
			return nil, err
		}
	}
	for name, content := range map[string]string{
		"HEAD":                    w.BaseCommit() + "\n",
		"config":                  hostConfig(baseline.Format),
		"info/attributes":         "* !filter !diff !merge !working-tree-encoding\n",
		"objects/info/alternates": git.Quote(filepath.Join(w.GitDir, "objects")) + "\n",
	} {
		if err := paths.WriteFile(filepath.Join(dir, name), []byte(content)); err != nil {
			return nil, err
		}
	}
	if err := w.shareShallow(dir); err != nil {
		return nil, err
	}
	fresh := filepath.Join(dir, "index.new")
	if err := writeIndex(fresh, baseline.Format, entries); err != nil {
		return nil, err
	}
	return []string{"GIT_DIR=" + dir, "GIT_WORK_TREE=" + w.Path}, os.Rename(fresh, filepath.Join(dir, "index"))
}

// hostConfig is stricter than what a person may have set for all repositories.
func hostConfig(format git.Format) string {
	return coreConfig(format, "hooksPath = /dev/null", "fsmonitor = false", "untrackedCache = false", "sparseCheckout = false") +
		"[submodule]\n\trecurse = false\n[status]\n\tsubmoduleSummary = false\n[gc]\n\tauto = 0\n"
}

// startIndex is the index of what the agent started from. What it was not given is
// marked as not there; a file that has not been touched since need not be read.
func (w *Workspace) startIndex(ctx context.Context, baseline *Baseline) ([]indexEntry, error) {
	tree, err := git.Owned(w.GitDir).Tree(ctx, w.BaseTree)
	if err != nil {
		return nil, fault.New(fault.Internal, "reading what the agent started from: %s", git.Message(err))
	}
	given := make(map[string]*File, len(baseline.Files))
	for i := range baseline.Files {
		given[baseline.Files[i].Path] = &baseline.Files[i]
	}
	entries := make([]indexEntry, 0, len(tree))
	for _, e := range tree {
		file := given[e.Path]
		switch {
		case file == nil: // submodules, too
			entries = append(entries, indexEntry{Entry: e, Skip: true})
		case baseline.racy(file):
			entries = append(entries, indexEntry{Entry: e})
		default:
			entries = append(entries, indexEntry{Entry: e, Stat: file.Stat, UID: uint32(os.Getuid()), GID: uint32(os.Getgid())})
		}
	}
	slices.SortFunc(entries, func(a, b indexEntry) int { return strings.Compare(a.Path, b.Path) })
	return entries, nil
}

// racy reports whether git, which looks at whole seconds, may take a change of the
// file for none. It could not tell from its content whether a file has changed that
// is stored otherwise than it stands there.
func (b *Baseline) racy(f *File) bool {
	return f.Stored == f.Raw && (b.HashAll || f.Stat.Ctime/1e9 >= b.Taken.Add(-b.Racy).Unix())
}

// shareShallow tells git where the history ends.
func (w *Workspace) shareShallow(dir string) error {
	commits, err := os.ReadFile(filepath.Join(w.GitDir, "shallow"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return paths.WriteFile(filepath.Join(dir, "shallow"), commits)
}
