package scan

import (
	"bytes"
	"path/filepath"
	"strings"

	"aibox/internal/git"
	"aibox/internal/gitname"
	"aibox/internal/lazyregexp"
	"aibox/workspace"
)

// An ordinary change of .gitmodules is reported as a risk, since git follows it on the
// user's machine. One with a name, a path, an address or a command that has been used to
// trick git is refused, and so is one under a name that a file system treats as
// .gitmodules.

const maxGitmodules = 64 << 10

var (
	moduleSection = lazyregexp.New(`^\[submodule "([^"\\]+)"\]$`)
	moduleSetting = lazyregexp.New(`^([A-Za-z][A-Za-z0-9-]*)\s*=\s*([^"\\#;]*)$`)
	relativeURL   = lazyregexp.New(`^\.\.?/[^:%]*$`)
)

// moduleRules define the valid values of a submodule's settings.
var moduleRules = map[string]func(value string) bool{
	"path":                   isModulePath,
	"url":                    isModuleURL,
	"branch":                 func(value string) bool { return !strings.HasPrefix(value, "-") },
	"update":                 oneOf("checkout", "rebase", "merge", "none"),
	"ignore":                 oneOf("none", "dirty", "untracked", "all"),
	"shallow":                oneOf("true", "false"),
	"fetchrecursesubmodules": oneOf("true", "false", "on-demand"),
}

func oneOf(allowed ...string) func(string) bool {
	return func(value string) bool {
		for _, one := range allowed {
			if value == one {
				return true
			}
		}
		return false
	}
}

// isModulePath reports whether a submodule may be at path, or have it as its name.
func isModulePath(path string) bool {
	if !filepath.IsLocal(path) || strings.HasPrefix(path, "-") {
		return false
	}
	for name := range strings.SplitSeq(path, "/") {
		if name == "" || name == "." || name == ".." || gitname.IsDotGit(name) {
			return false
		}
	}
	return true
}

// isModuleURL reports whether an address is one that aibox would clone, or a plain path
// relative to the repository's own.
func isModuleURL(url string) bool {
	if strings.Contains(url, "/-") || strings.Contains(strings.ToLower(url), "%0a") || strings.Contains(url, "::") {
		return false
	}
	return relativeURL.MatchString(url) || workspace.IsURL(url) && workspace.CheckURL(url) == nil
}

// refuseGitmodules returns the reason why a .gitmodules named name is refused, as a text
// that refers to the file; "" if it is not refused.
func refuseGitmodules(name string, mode git.Mode, content *content) string {
	const not = "says where submodules come from; aibox does not bring this back: "
	switch {
	case name != ".gitmodules":
		return not + "a file system may take its name for .gitmodules"
	case mode == git.Symlink:
		return not + "it is a symlink"
	case content.large != nil || len(content.small) > maxGitmodules:
		return not + "it is too large"
	}
	inside := false
	for line := range bytes.Lines(content.small) {
		text := strings.TrimSpace(string(line))
		if text == "" || text[0] == '#' || text[0] == ';' {
			continue
		}
		if section := moduleSection.FindStringSubmatch(text); section != nil {
			if inside = isModulePath(section[1]); !inside {
				return not + "a submodule has a name that leads elsewhere"
			}
			continue
		}
		setting := moduleSetting.FindStringSubmatch(text)
		if setting == nil || !inside {
			return not + "it has a line that is no plain setting of a submodule"
		}
		key := strings.ToLower(setting[1])
		allowed, known := moduleRules[key]
		if !known || !allowed(strings.TrimSpace(setting[2])) {
			return not + "its setting " + key + " may be a trick"
		}
	}
	return ""
}
