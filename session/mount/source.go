package mount

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
	"aibox/internal/paths"
)

// private are paths in the user's home folder that hold keys and passwords, or files of
// programs that do.
var private = []string{
	".ssh", ".gnupg", ".password-store", ".netrc", ".git-credentials", ".local/share/keyrings",
	".vault-token", ".pgpass", ".my.cnf", // keys and passwords
	".aws", ".azure", ".config/gcloud", ".kube", ".docker", ".config/gh", ".config/glab-cli", ".config/op", ".config/rclone", // accounts
	".npmrc", ".pypirc", ".cargo/credentials.toml", ".m2/settings.xml", ".gem/credentials", // registries
	".claude", ".codex", ".gemini", ".qwen", ".cursor", ".copilot", ".config/github-copilot", // agents
	".config/opencode", ".local/share/opencode", ".config/crush", ".local/share/crush", ".config/amp", ".local/share/amp", // agents
	".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", // browsers and mail
	".local/share/docker", // files of all sandboxes
}

// system are folders of the host with devices, processes and sockets.
var system = []string{"/dev", "/proc", "/run", "/sys"}

// source returns the path of a mount's source without symlinks. It refuses one that a sandbox
// must not see.
func source(dirs paths.Dirs, name string) (string, error) {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		name = filepath.Join(dirs.Home, rest)
	}
	found, err := filepath.EvalSymlinks(name)
	if err != nil {
		return "", missing(name, err)
	}
	info, err := os.Stat(found)
	if err != nil {
		return "", missing(name, err)
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return "", fault.New(fault.Usage, "%q is neither a folder nor a regular file, so it cannot be mounted", name)
	}
	if unix.Access(found, unix.R_OK) != nil {
		return "", fault.New(fault.Usage, "you cannot read %q, so it cannot be mounted", name)
	}
	return found, check(dirs, found, info)
}

func missing(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Usage, "%q does not exist, so it cannot be mounted", name).
			Hint(without)
	}
	return fault.New(fault.Usage, "%q cannot be mounted: %w", name, err)
}

// check refuses a source that is one of the protected paths, is inside one, or contains one.
func check(dirs paths.Dirs, found string, info fs.FileInfo) error {
	for _, name := range protected(dirs) {
		if resolved, err := filepath.EvalSymlinks(name); err == nil {
			name = resolved
		}
		other, err := os.Stat(name)
		var relation string
		switch {
		case found == name || err == nil && os.SameFile(info, other):
			return fault.New(fault.Refused, "%q cannot be mounted: no sandbox may see it", found).Hint(elsewhere)
		case within(found, name):
			relation = "is inside"
		case within(name, found):
			relation = "contains"
		default:
			continue
		}
		return fault.New(fault.Refused, "%q cannot be mounted: it %s %q, which no sandbox may see", found, relation, name).Hint(elsewhere)
	}
	return nil
}

// checkRepository refuses a source that is the session's repository or contains it: the hidden
// files are there.
func checkRepository(found, repository string) error {
	if !filepath.IsAbs(repository) { // a URL, or none
		return nil
	}
	if resolved, err := filepath.EvalSymlinks(repository); err == nil {
		repository = resolved
	}
	if !within(repository, found) {
		return nil
	}
	return fault.New(fault.Refused, "%q cannot be mounted: the repository %q is there, with the files that are hidden from the agent", found, repository).
		Hint("the agent has its copy of the repository in /workspace; mount the folders beside it one by one").
		Hint(without)
}

const (
	elsewhere = "put what the agent needs in a folder of its own"
	without   = "--mount= starts a session without the mounts of your settings or of an earlier session"
)

// protected returns the paths that no sandbox may see: those of the system, the user's keys,
// and aibox's own folders, with the workspaces of other sessions.
func protected(dirs paths.Dirs) []string {
	all := append([]string{}, system...)
	for _, name := range private {
		all = append(all, filepath.Join(dirs.Home, name))
	}
	for _, own := range []string{dirs.Config, dirs.State, dirs.Data, dirs.Cache, dirs.Runtime, dirs.Workspace} {
		if own != "" {
			all = append(all, own)
		}
	}
	return all
}
