package workspace

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"aibox/internal/git"
)

// agentGit is the .git that an agent finds in its workspace. It shares nothing
// with any other repository, and the host writes it once and never reads it.
type agentGit struct {
	dir     string // …/.git
	format  git.Format
	head    string // commit
	headRef string // its branch, or empty
	shallow []string
	who     git.Signature
	exclude []string // folders at the top that git ignores
	entries []indexEntry
}

// write creates the repository from packs, which are paths without the extension. The folder
// exists and is empty, so that no symlink is in it.
func (a *agentGit) write(packs ...string) error {
	for _, dir := range []string{"objects/pack", "objects/info", "refs/heads", "refs/tags", "info"} {
		if err := os.MkdirAll(filepath.Join(a.dir, dir), 0o755); err != nil { //nolint:gosec // in a private folder
			return err
		}
	}
	for _, pack := range packs {
		for _, ext := range []string{".pack", ".idx"} {
			if err := copyFile(pack+ext, filepath.Join(a.dir, "objects/pack", filepath.Base(pack)+ext)); err != nil {
				return err
			}
		}
	}
	head := a.head
	files := map[string]string{
		"config":       a.config(),
		"info/exclude": excluding(a.exclude),
		"description":  "the agent's own copy; aibox never reads it\n",
	}
	if a.headRef != "" {
		head = "ref: " + a.headRef
		files["packed-refs"] = fmt.Sprintf("# pack-refs with: peeled fully-peeled sorted \n%s %s\n", a.head, a.headRef)
	}
	files["HEAD"] = head + "\n"
	if len(a.shallow) > 0 {
		files["shallow"] = strings.Join(a.shallow, "\n") + "\n"
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(a.dir, name), []byte(content), 0o644); err != nil { //nolint:gosec // in a private folder
			return err
		}
	}
	return writeIndex(filepath.Join(a.dir, "index"), a.format, a.entries)
}

// excluding returns ignore rules for folders at the top.
func excluding(folders []string) string {
	var rules strings.Builder
	for _, folder := range folders {
		fmt.Fprintf(&rules, "/%s/\n", folder)
	}
	return rules.String()
}

// config lets git in the sandbox trust the index, although inode numbers and change times
// differ from those on the host.
func (a *agentGit) config() string {
	return coreConfig(a.format, "logallrefupdates = true", "checkStat = minimal", "trustctime = false") +
		fmt.Sprintf("[user]\n\tname = %s\n\temail = %s\n", configValue(a.who.Name), configValue(a.who.Email))
}

// coreConfig returns the section core of the configuration of a repository with a working
// tree, including the given settings.
func coreConfig(format git.Format, settings ...string) string {
	var b strings.Builder
	version := 0
	if format == git.SHA256 {
		version = 1
	}
	fmt.Fprintf(&b, "[core]\n\trepositoryformatversion = %d\n\tfilemode = true\n\tbare = false\n", version)
	for _, setting := range settings {
		b.WriteString("\t" + setting + "\n")
	}
	if format == git.SHA256 {
		b.WriteString("[extensions]\n\tobjectFormat = sha256\n")
	}
	return b.String()
}

// configValue quotes a value for git's configuration.
func configValue(value string) string {
	r := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\x00", "", "\r", "")
	return `"` + r.Replace(value) + `"`
}

// copyFile copies a file that does not change meanwhile, by reflink where possible.
// The copy shares no inode.
func copyFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return err
	}
	defer dst.Close()
	if unix.IoctlFileClone(int(dst.Fd()), int(src.Fd())) == nil {
		return nil
	}
	if _, err = io.Copy(dst, src); err != nil {
		return err
	}
	return dst.Close()
}
