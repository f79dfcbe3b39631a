// Package mount defines the folders and files of the user that a sandbox can read besides
// the workspace: their syntax, and which paths of the host and of a sandbox they must not
// have. Every mount is read-only. The package looks at the host's files and opens none.
package mount

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/internal/shellquote"
)

// Max is the maximum number of mounts of a session.
const Max = 32

// Mount is a folder or file of the host that a sandbox sees, and cannot change.
type Mount struct {
	Source string // path on the host: absolute, or beginning with "~/"
	Target string // absolute path in the sandbox
}

// String returns the mount as Parse reads it.
func (m Mount) String() string { return m.Source + ":" + m.Target }

// Parse reads SOURCE:TARGET or SOURCE:TARGET:ro. It checks only the text; see Resolve.
func Parse(word string) (Mount, error) {
	text := strings.TrimSuffix(word, ":ro")
	if strings.HasSuffix(text, ":rw") {
		return Mount{}, fault.New(fault.Usage, "%q cannot be mounted writable: every mount is read-only", word).
			Hint("leave out :rw; the agent can change only files of the repository")
	}
	colon := strings.LastIndexByte(text, ':')
	if colon <= 0 || colon == len(text)-1 {
		return Mount{}, fault.New(fault.Usage, "%q is not SOURCE:TARGET", word).Hint("--mount ~/data:/data")
	}
	m := Mount{Source: text[:colon], Target: text[colon+1:]}
	if strings.ContainsFunc(m.Source, isControl) || strings.ContainsRune(m.Source, ',') {
		return Mount{}, fault.New(fault.Usage, "the path %q has a comma or a control character, so it cannot be mounted", m.Source)
	}
	if !filepath.IsAbs(m.Source) && !strings.HasPrefix(m.Source, "~/") {
		return Mount{}, relative(m)
	}
	return m, checkTarget(m.Target)
}

// relative refuses a relative source. The hint has the path from the current folder.
func relative(m Mount) error {
	refused := fault.New(fault.Usage, "the path %q must be absolute or begin with ~/", m.Source)
	if source, err := filepath.Abs(m.Source); err == nil {
		return refused.Hint("%s", shellquote.Join([]string{"--mount", Mount{source, m.Target}.String()}))
	}
	return refused
}

// Resolve returns the mounts of a session with absolute sources, in which no symlink is left.
// It refuses what a sandbox must not see, what does not exist, and targets that overlap.
// repository is that of the session, a path or a URL, which has files that are hidden from it.
func Resolve(dirs paths.Dirs, repository string, words []string) ([]Mount, error) {
	if len(words) > Max {
		return nil, fault.New(fault.Usage, "a session has up to %d mounts, not %d", Max, len(words))
	}
	mounts := make([]Mount, 0, len(words))
	for _, word := range words {
		m, err := Parse(word)
		if err != nil {
			return nil, err
		}
		if m.Source, err = source(dirs, m.Source); err != nil {
			return nil, err
		}
		if err := checkRepository(m.Source, repository); err != nil {
			return nil, err
		}
		for _, other := range mounts {
			if Overlap(m.Target, other.Target) {
				return nil, fault.New(fault.Usage, "the mounts at %q and %q overlap", other.Target, m.Target).
					Hint("mount one of them elsewhere")
			}
		}
		mounts = append(mounts, m)
	}
	return mounts, nil
}

// Words returns the mounts as Parse reads them.
func Words(mounts []Mount) []string {
	words := make([]string, len(mounts))
	for i, m := range mounts {
		words[i] = m.String()
	}
	return words
}

// reserved are folders of a sandbox in which nothing can be mounted: they belong to the
// system or to aibox.
var reserved = []string{"/.aibox", "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/run", "/sbin", "/sys", "/usr"}

// ofSession are further reserved folders of a session with an agent.
var ofSession = []string{"/root", "/tmp", "/workspace"}

// MaxPath is the maximum length of a path in a sandbox, in bytes.
const MaxPath = 1024

// IsPath reports whether text is a path in a sandbox as aibox accepts it: absolute, clean, not the
// root, and without characters that separate paths in settings.
func IsPath(text string) bool {
	return path.IsAbs(text) && path.Clean(text) == text && text != "/" && len(text) <= MaxPath && !strings.ContainsFunc(text, isControl) && !strings.ContainsAny(text, ":,")
}

func checkTarget(target string) error {
	if err := CheckTarget("a mount", target); err != nil {
		return err
	}
	for _, folder := range ofSession {
		if Overlap(target, folder) {
			return fault.New(fault.Usage, "a mount cannot be at %q, since %s belongs to the agent", target, folder).
				Hint("choose a folder of its own, such as /data")
		}
	}
	return nil
}

// CheckTarget refuses a path in a sandbox at which nothing can be mounted. what is the
// subject of the sentence, such as "a volume".
func CheckTarget(what, target string) error {
	if !IsPath(target) {
		return fault.New(fault.Usage, "%s is mounted at an absolute path without .., not %q", what, target)
	}
	if i := slices.IndexFunc(reserved, func(folder string) bool { return within(target, folder) }); i >= 0 {
		return fault.New(fault.Usage, "%s cannot be mounted at %q, since %s belongs to the system", what, target, reserved[i])
	}
	return nil
}

// Overlap reports whether one path is the other one, or inside it. Both are clean.
func Overlap(a, b string) bool { return within(a, b) || within(b, a) }

// within reports whether a path is the folder or inside it.
func within(name, folder string) bool {
	return name == folder || folder == "/" || strings.HasPrefix(name, folder+"/")
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }
