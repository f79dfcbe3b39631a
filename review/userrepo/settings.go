// Package userrepo reads the user's own repository: its configuration, index and
// attributes, and how line endings are converted. It changes nothing and runs no filter. It
// queries git itself, because configuration has includes and conditions, which go-git does
// not follow.
package userrepo

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/internal/gitname"
	"aibox/internal/slashpath"
	"aibox/internal/termtext"
	"aibox/workspace"
)

// Settings holds the index, attributes and configuration of the user's repository before a
// delivery.
type Settings struct {
	Git *git.Repo

	autocrlf   string // "true", "input" or "false"
	eolCRLF    bool   // core.eol is crlf
	ignoreCase bool
	fileMode   bool              // whether the executable bit on disk counts
	symlinks   bool              // whether symlinks are kept as such
	Filters    map[string]bool   // by name: those that have a program
	Programs   map[string]string // of the filters, by setting (filter.NAME.clean, filter.NAME.process): a command line for a shell

	sparse     map[string]bool   // marked skip-worktree
	assumed    map[string]bool   // marked assume-unchanged: git does not look for changes there
	unmerged   map[string]bool   // in conflict
	Modules    map[string]bool   // submodules
	caseFolded map[string]string // in lower case: every path of the index and each folder; when ignoreCase
	Attrs      map[string]attributes

	Inner []Inner // submodules whose files may be changed, each one before those in it
}

// Inner returns the settings of the submodule at path.
type Inner struct {
	Path string
	*Settings
}

// ReadModules reads the settings of the included submodules. It skips those that have
// changed.
func (u *Settings) ReadModules(ctx context.Context, modules []workspace.Module) error {
	for _, m := range modules {
		inner := &Settings{}
		if m.Repo == "" || inner.Read(ctx, m.Repo) != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			continue
		}
		u.Inner = append(u.Inner, Inner{m.Path, inner})
	}
	return nil
}

// at returns the settings that apply to path, and path relative to their repository.
func (u *Settings) at(path string) (*Settings, string) {
	for _, in := range slices.Backward(u.Inner) {
		if rest, ok := strings.CutPrefix(path, in.Path+"/"); ok {
			return in.Settings, rest
		}
	}
	return u, path
}

// attributes are those that affect the conversion of a file's bytes, by name:
// "unspecified", "set", "unset" or a value.
type attributes map[string]string

// asked has the attributes to read.
var asked = []string{"text", "crlf", "eol", "filter", "ident", "working-tree-encoding", "merge"}

// Read reads, with the user's git, the settings of the repository whose working tree is at top.
func (u *Settings) Read(ctx context.Context, top string) error {
	u.Git = git.User(top)
	out, err := u.Git.Line(ctx, "rev-parse", "--is-inside-work-tree", "--show-toplevel")
	if err != nil {
		return fault.New(fault.Usage, "git cannot read your repository at %s: %s", termtext.Escape(top), git.Message(err))
	}
	if inside, found, _ := strings.Cut(out, "\n"); inside != "true" || found != top {
		return fault.New(fault.Usage, "%s is not the top of a working tree any more", termtext.Escape(top)).
			Hint("put your repository back where it was; the work is kept, and `aibox recover` lists it")
	}
	if err := u.ReadConfig(ctx); err != nil {
		return err
	}
	return u.readIndex(ctx)
}

func (u *Settings) ReadConfig(ctx context.Context) error {
	u.autocrlf, u.fileMode, u.symlinks, u.Filters = "false", true, true, map[string]bool{}
	u.Programs = map[string]string{}
	settings, err := u.Git.Settings(ctx, `^(core\.(autocrlf|eol|ignorecase|filemode|symlinks)|filter\..*\.(clean|process|required))$`)
	if err != nil {
		return fault.New(fault.Usage, "git cannot read its settings: %s", git.Message(err))
	}
	for _, setting := range settings {
		value, yes := setting.Value, setting.IsTrue()
		switch setting.Name {
		case "core.autocrlf":
			u.autocrlf = fmt.Sprint(yes)
			if strings.EqualFold(value, "input") {
				u.autocrlf = "input"
			}
		case "core.eol":
			u.eolCRLF = strings.EqualFold(value, "crlf")
		case "core.ignorecase":
			u.ignoreCase = yes
		case "core.filemode":
			u.fileMode = yes
		case "core.symlinks":
			u.symlinks = yes
		default:
			filter := strings.TrimPrefix(setting.Name, "filter.")
			end := strings.LastIndexByte(filter, '.')
			u.Filters[filter[:end]] = u.Filters[filter[:end]] || value != "" && (yes || filter[end:] != ".required")
			if filter[end:] != ".required" {
				u.Programs[setting.Name] = value
			}
		}
	}
	return nil
}

// readIndex reads the index and does not write it.
func (u *Settings) readIndex(ctx context.Context) error {
	records, err := u.Git.Records(ctx, "ls-files", "-s", "-v", "-z", "--cached")
	if err != nil {
		return fault.New(fault.Usage, "git cannot read the index of your repository: %s", git.Message(err))
	}
	u.sparse, u.unmerged, u.Modules, u.caseFolded = map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]string{}
	u.assumed = map[string]bool{}
	for _, record := range records {
		meta, path, ok := strings.Cut(record, "\t")
		fields := strings.Fields(meta)
		if !ok || len(fields) != 4 {
			return fmt.Errorf("unexpected line from git ls-files: %q", record)
		}
		switch {
		case fields[3] != "0":
			u.unmerged[path] = true
		case strings.EqualFold(fields[0], "S"):
			u.sparse[path] = true
		case fields[0] == strings.ToLower(fields[0]):
			u.assumed[path] = true
		}
		if git.Mode(fields[1]) == git.Submodule {
			u.Modules[path] = true
		}
		if u.ignoreCase {
			for _, name := range append(slashpath.Parents(path), path) {
				u.caseFolded[strings.ToLower(name)] = name
			}
		}
	}
	return nil
}

// ReadAttributes reads the attributes of paths. That runs no filter.
func (u *Settings) ReadAttributes(ctx context.Context, paths []string) error {
	byRepo := map[*Settings][]string{}
	for _, path := range paths {
		in, rest := u.at(path)
		byRepo[in] = append(byRepo[in], rest)
	}
	for in, paths := range byRepo {
		if err := in.askAttributes(ctx, paths); err != nil {
			return err
		}
	}
	return nil
}

// askAttributes reads git's answer as it arrives: it repeats each path for each attribute,
// and paths can be long.
func (u *Settings) askAttributes(ctx context.Context, paths []string) error {
	u.Attrs = make(map[string]attributes, len(paths))
	args := append([]string{"check-attr", "-z", "--stdin"}, asked...)
	var triple []string // path, attribute and value
	for record, err := range u.Git.EachRecordOf(ctx, strings.NewReader(strings.Join(paths, "\x00")), args...) {
		if err != nil {
			return fmt.Errorf("reading the attributes of your files: %s", git.Message(err))
		}
		if triple = append(triple, record); len(triple) < 3 {
			continue
		}
		of := u.Attrs[triple[0]]
		if of == nil {
			of = attributes{}
			u.Attrs[triple[0]] = of
		}
		of[triple[1]] = triple[2]
		triple = triple[:0]
	}
	return nil
}

// KeepsModes reports whether the executable bit of path on disk counts.
func (u *Settings) KeepsModes(path string) bool {
	u, _ = u.at(path)
	return u.fileMode
}

// KeepsSymlinks reports whether a symlink at path is kept as such.
func (u *Settings) KeepsSymlinks(path string) bool {
	u, _ = u.at(path)
	return u.symlinks
}

// Transforms reports whether the user's git may store anything other than a file's bytes,
// apart from line endings: through a filter that is set up, in another encoding, or without
// the ids that it inserts.
func (u *Settings) Transforms(path string) bool {
	u, path = u.at(path)
	attrs := u.Attrs[path]
	return u.Filters[attrs["filter"]] || attrs["ident"] == "set" || u.Encoding(path) != ""
}

// Encoding returns the encoding in the working tree if git stores another one, or "".
func (u *Settings) Encoding(path string) string {
	u, path = u.at(path)
	if name := u.Attrs[path]["working-tree-encoding"]; name != "unspecified" && name != "unset" {
		return name
	}
	return ""
}

// Forbids returns the reason why the user's settings do not allow a change of path; "" if
// they do.
func (u *Settings) Forbids(path string) string {
	u, path = u.at(path)
	switch {
	case u.unmerged[path]:
		return "it is in conflict from a merge that you have not finished"
	case u.sparse[path]:
		return "it is not checked out (sparse checkout, or marked skip-worktree)"
	}
	for _, name := range append(slashpath.Parents(path), path) {
		if u.Modules[name] {
			return "it lies in a submodule that is not checked out as it was"
		}
	}
	for _, name := range strings.Split(path, "/") {
		if name == "" || name == "." || name == ".." || gitname.IsDotGit(name) {
			return "its name means something else to git or to the disk"
		}
	}
	return ""
}

// TransformedBy returns the attribute that makes Transforms true.
func (u *Settings) TransformedBy(path string) string {
	u, path = u.at(path)
	if name := u.Attrs[path]["filter"]; u.Filters[name] {
		return "filter=" + termtext.Escape(name)
	}
	if name := u.Encoding(path); name != "" {
		return "working-tree-encoding=" + termtext.Escape(name)
	}
	return "ident"
}

// MergeDriver returns the merge driver in the attributes of path.
func (u *Settings) MergeDriver(path string) string {
	u, path = u.at(path)
	return u.Attrs[path]["merge"]
}

// CaseConflict returns a path of the user that the disk cannot distinguish from path, or
// "". Paths that the same delivery removes count, too, since that would remove the new
// file.
func (u *Settings) CaseConflict(path string) string {
	u, path = u.at(path)
	if !u.ignoreCase {
		return ""
	}
	for _, name := range append(slashpath.Parents(path), path) {
		if other := u.caseFolded[strings.ToLower(name)]; other != "" && other != name {
			return other
		}
	}
	return ""
}
