package workspace

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"aibox/internal/git"
	"aibox/internal/shellquote"
	"aibox/internal/termtext"
)

// Module is a submodule whose files are in the workspace. Its repository is the user's own
// clone, from which nothing is fetched, or aibox's clone of a URL.
type Module struct {
	Path        string `json:"path"` // of its folder, from the top of the workspace
	Repo        string `json:"repo"` // its folder in the user's working tree; empty if it is not checked out
	GitDir      string `json:"git_dir"`
	URL         string `json:"url,omitempty"`
	Head        string `json:"head"`                  // the commit that the work in it starts from
	Uncommitted string `json:"uncommitted,omitempty"` // commit on top of Head that holds the user's uncommitted work, or empty
}

// BaseCommit is the parent of the commit with the agent's work in the submodule.
func (m *Module) BaseCommit() string {
	if m.Uncommitted != "" {
		return m.Uncommitted
	}
	return m.Head
}

// Git is the submodule's repository in the user's clone. Its files need not be checked out.
func (m *Module) Git() *git.Repo { return gitAt(m.GitDir) }

// gitAt returns the user's repository with the git directory dir. It does not need the
// working tree that the repository's configuration may name.
func gitAt(dir string) *git.Repo {
	return git.User(dir).With("GIT_DIR="+dir, "GIT_WORK_TREE="+dir)
}

// In reports whether a path of the workspace is in the submodule.
func (m *Module) In(path string) bool { return strings.HasPrefix(path, m.Path+"/") }

// openModules opens the submodules of a listing. A submodule that cannot be copied stays in the
// listing, and a note has the reason and the command that helps.
func (s *source) openModules(ctx context.Context, l *listing, workspaces string) ([]*source, error) {
	var opened []*source
	var left []string
	for _, path := range l.modules {
		m, lack, err := s.openModule(ctx, path, l.index[path].ID, workspaces)
		if err != nil {
			return nil, err
		}
		if lack != "" {
			left = append(left, path)
			l.notes = append(l.notes, fmt.Sprintf("submodule %s is left out, so the agent sees an empty folder there: %s", termtext.Escape(s.prefix+path), lack))
			continue
		}
		opened = append(opened, m)
	}
	l.modules = left
	return opened, nil
}

// openModule opens the submodule at path, a path in s. lack is the reason why it cannot be
// copied, and the remedy; empty if it can.
func (s *source) openModule(ctx context.Context, path, recorded, workspaces string) (m *source, lack string, err error) {
	if !utf8.ValidString(s.prefix + path) {
		return nil, "its path is not UTF-8", nil
	}
	if s.cloner != nil {
		return s.cloneModule(ctx, path, recorded)
	}
	get := "git submodule update --init " + termtext.Escape(shellquote.Join([]string{path}))
	if s.prefix != "" {
		get = "git submodule update --init --recursive " + termtext.Escape(shellquote.Join([]string{s.outermost}))
	}
	get = "run `" + get + "` to bring it along"
	m = &source{prefix: s.prefix + path + "/", outermost: cmp.Or(s.outermost, path), asIs: s.asIs, settings: s.settings, name: s.name}
	if m.top, lack = s.checkedOut(path); lack != "" {
		return nil, lack, nil
	}
	switch {
	case m.top != "":
		m.git = git.User(m.top)
	case s.asIs:
		return nil, "it is not initialized; " + get, nil
	default:
		if m.git, err = s.storedModule(ctx, path); err != nil || m.git == nil {
			return nil, "it is not initialized; " + get, err
		}
	}
	if lack := m.own(ctx, s.format, workspaces); lack != "" {
		return nil, lack, nil
	}
	rev := recorded
	if m.asIs {
		rev = "HEAD"
		own, err := readSettings(ctx, m.git)
		if err != nil {
			return nil, "", err
		}
		m.settings.fileMode, m.settings.noLinks = own.fileMode, own.noLinks
	}
	if m.head, err = m.git.Line(ctx, "rev-parse", "--verify", "--quiet", rev+"^{commit}"); err != nil {
		if ctx.Err() != nil {
			return nil, "", ctx.Err()
		}
		return nil, fmt.Sprintf("your clone of it has no commit %s; %s", recorded[:min(len(recorded), 12)], get), nil
	}
	return m, "", nil
}

// checkedOut returns the folder of the submodule at path if it has a repository; otherwise "".
func (s *source) checkedOut(path string) (top, lack string) {
	if s.top == "" {
		return "", ""
	}
	root, err := unix.Open(s.top, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", "its folder cannot be opened: " + termtext.Escape(err.Error())
	}
	defer unix.Close(root)
	fd, err := unix.Openat2(root, path+"/.git", &unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: confined})
	if err == unix.ELOOP {
		return "", "a symlink is in its path"
	}
	if absent(err) {
		return "", ""
	}
	if err != nil {
		return "", "its folder cannot be opened: " + termtext.Escape(err.Error())
	}
	unix.Close(fd)
	return filepath.Join(s.top, path), ""
}

// storedModule returns the repository that git keeps for a submodule that is not checked
// out; nil if there is none.
func (s *source) storedModule(ctx context.Context, path string) (*git.Repo, error) {
	names, _ := s.moduleSettings(ctx, path)
	for _, name := range names {
		if !filepath.IsLocal(name) {
			continue
		}
		dir := filepath.Join(s.gitDir, "modules", name)
		if _, err := os.Stat(filepath.Join(dir, "HEAD")); err == nil {
			return gitAt(dir), nil
		}
	}
	return nil, ctx.Err()
}

// moduleSettings returns the names that .gitmodules has for the submodule at path, usually
// one, and its addresses.
func (s *source) moduleSettings(ctx context.Context, path string) (names, addresses []string) {
	settings, err := s.git.Records(ctx, "config", "-z", "--blob="+s.head+":.gitmodules", "--get-regexp", `^submodule\..*\.(path|url)$`)
	if err != nil {
		return nil, nil // there are none
	}
	urls := map[string]string{}
	for _, setting := range settings {
		key, value, _ := strings.Cut(setting, "\n")
		key = strings.TrimPrefix(key, "submodule.")
		if name, ok := strings.CutSuffix(key, ".url"); ok {
			urls[name] = value
		} else if name, ok := strings.CutSuffix(key, ".path"); ok && value == path {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if urls[name] != "" {
			addresses = append(addresses, urls[name])
		}
	}
	return names, addresses
}

// own reads the identity of the submodule's repository. lack is the reason to refuse it:
// it belongs to another folder, or aibox cannot read it.
func (s *source) own(ctx context.Context, format git.Format, workspaces string) (lack string) {
	questions := identifying
	if s.top != "" {
		questions = append(slices.Clip(identifying), "--show-toplevel")
	}
	answers, err := ask(ctx, s.git, questions)
	if err != nil {
		return "git cannot read it: " + git.Message(err)
	}
	if s.top != "" && answers[len(identifying)] != s.top {
		return "the .git in its folder leads elsewhere"
	}
	if found := git.Format(answers[0]); found != format {
		return fmt.Sprintf("its objects have the format %s, and those of the repository around it %s", found, format)
	}
	if err := s.keepIdentity(s.git.Dir(), answers); err != nil {
		return err.Error()
	}
	if err := notBelow(s.common, workspaces); err != nil {
		return err.Error()
	}
	return ""
}
