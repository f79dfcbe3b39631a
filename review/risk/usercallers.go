package risk

import (
	"path"
	"slices"
	"strings"
)

// Roots are the folders of the disk from which names in the user's settings and hooks start.
type Roots struct {
	Tops []string // names of the repository's top, absolute
	Home string   // of the user, absolute
}

// absolute reports whether a name starts from a root.
func absolute(name string) bool { return strings.HasPrefix(name, "/") || strings.HasPrefix(name, "~/") }

// relative is the name in the repository of an absolute one; ok is false if it leads elsewhere.
func (r *Roots) relative(name string) (inside string, ok bool) {
	if rest, home := strings.CutPrefix(name, "~/"); home {
		name = path.Join(r.Home, rest)
	}
	for _, top := range r.Tops {
		if name == top {
			return ".", true
		}
		if rest, ok := strings.CutPrefix(name, strings.TrimSuffix(top, "/")+"/"); ok {
			return rest, true
		}
	}
	return "", false
}

// Inside is the name in the repository of an absolute path; ok is false if it leads elsewhere.
func (r *Roots) Inside(name string) (inside string, ok bool) { return r.relative(path.Clean(name)) }

// gitSetting describes a setting of the user's git that runs programs.
var gitSetting = rule{
	name: "called", severity: High, runs: "the file itself", when: "on git commands in your repository", by: "git, by your own settings",
}

// settings are those that run programs, by the section.
var settings = map[string][]string{
	"core": {"hookspath", "fsmonitor", "pager", "editor", "sshcommand", "askpass", "attributesfile", "gitproxy", "alternaterefscommand"},
	"gpg":  {"program", "defaultkeycommand"}, "include": {"path"}, "includeif": {"path"}, "credential": {"helper"},
	"filter": {"clean", "smudge", "process"}, "diff": {"command", "textconv", "external"}, "merge": {"driver"}, "hook": {"command"},
	"mergetool": {"cmd", "path"}, "difftool": {"cmd", "path"}, "guitool": {"cmd"}, "man": {"cmd", "path"}, "browser": {"cmd", "path"},
	"sequence": {"editor"}, "interactive": {"difffilter"}, "init": {"templatedir"}, "tar": {"command"}, "submodule": {"update"},
	"sendemail": {"sendmailcmd", "tocmd", "cccmd"}, "trailer": {"command", "cmd"}, "uploadpack": {"packobjectshook"}, "remote": {"vcs", "uploadpack", "receivepack"}, "blame": {"ignorerevsfile"},
	"lfs": {"path", "args", "clean", "smudge"}, "imap": {"tunnel"},
}

// GitSetting makes a Caller of a setting of the user's own git; ok is false for
// settings that run nothing.
func GitSetting(key, value string, at *Roots) (c Caller, ok bool) {
	section, name, _ := strings.Cut(strings.ToLower(key), ".")
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		name = name[i+1:]
	}
	annex := (section == "annex" || strings.HasPrefix(name, "annex-")) && (strings.HasSuffix(name, "-command") || strings.HasSuffix(name, "-hook"))
	switch {
	case section == "submodule" && !strings.HasPrefix(value, "!"): // a word of git
		return Caller{}, false
	case section != "alias" && section != "pager" && !annex && !slices.Contains(settings[section], name):
		return Caller{}, false
	}
	folder := name == "hookspath" || name == "templatedir"
	return Caller{Name: key + " of your git settings", Text: []byte(value), rule: &gitSetting, at: at, isFolder: folder}, true
}

// userHook describes a hook that is no file of the repository.
var userHook = rule{
	name: "called", severity: High, runs: "the file itself", when: "on git commit, checkout, merge or push", by: "git, through your own hook",
}

// Hook makes a Caller of the text of a hook that is no file of the repository.
func Hook(name string, text []byte, at *Roots) Caller {
	return Caller{Name: name, Text: text, rule: &userHook, at: at}
}

// HookFolder makes a Caller of a folder of the repository from which git runs hooks.
func HookFolder(name, dir string, at *Roots) Caller {
	return Caller{Name: name, Text: []byte(dir), rule: &userHook, at: at, isFolder: true}
}

// UnreadHook makes a Caller of a hook whose text is not known: it may name any script.
func UnreadHook(name string) Caller { return Caller{Name: name, rule: &userHook, unread: true} }

// UnreadFile makes a Caller of a file of the repository that was not searched: it may name any
// script. Files of this name must be callers.
func UnreadFile(name string) Caller { return Caller{Name: name, rule: callerRule(name), unread: true} }
