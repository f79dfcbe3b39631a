package risk

// gitHooks are the names of git's hooks (githooks(5)).
var gitHooks = []string{
	"applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg",
	"post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive", "post-update", "post-rewrite",
	"push-to-checkout", "reference-transaction", "sendemail-validate", "fsmonitor-watchman", "p4-pre-submit", "post-index-change",
}

var gitRules = []rule{
	{
		name: "git-hooks", title: "a git hook", severity: High,
		runs: "the file itself", when: "on git commit, checkout, merge or push, where core.hooksPath points to its folder", by: "git",
		files: append([]string{".githooks/**", ".git-hooks/**", "githooks/**", "git-hooks/**", "git_hooks/**", ".hooks/**", "hooks/pre-*", "hooks/post-*", "hooks/update"}, gitHooks...),
	},
	{
		name: "hook-manager", title: "hooks of a hook manager", severity: High,
		runs: "the commands in it", when: "on git commit, checkout, merge or push", by: "git, through Husky, Lefthook, pre-commit or the like",
		files: []string{
			".husky/**", ".huskyrc*", "lefthook.*", ".lefthook.*", "lefthook-local.*", ".lefthook-local.*", ".lefthook/**", ".config/lefthook.*",
			".pre-commit-config.y*ml", ".pre-commit-hooks.y*ml", "prek.toml", ".overcommit.yml", ".local-overcommit.yml", "captainhook.json", "captainhook.config.json",
			".lintstagedrc*", "lint-staged.config.*", ".simple-git-hooks.*", "simple-git-hooks.*", ".nano-staged.*", ".czrc", ".commitlintrc*",
			"hk.pkl", "grumphp.y*ml", ".githooks.*", ".cargo-husky/**", ".rusty-hook.toml", ".trunk/**", "talisman.yml", ".talismanrc",
		},
	},
	{
		name: "git-attributes", title: "attributes that make git run a filter, a differ or a merger", severity: High,
		runs: "the command that your git settings give that name", when: "on git status, add, checkout, diff or merge", by: "git",
		files: []string{".gitattributes", ".gitattributes.*", "gitattributes"}, about: "lines with filter=, diff= or merge=", look: driverLines,
	},
	{
		name: "git-attributes-hide", title: "attributes that hide changes from a review", severity: Note,
		when: "when the change is looked at with git or on a hosting service", by: "git",
		files: []string{".gitattributes"}, about: "lines with -diff, binary, -text, linguist-generated or linguist-vendored", look: hidingLines,
	},
	{
		name: "git-modules", title: "where submodules come from", severity: High,
		runs: "git clone from the addresses in it", when: "on git clone --recursive or git submodule update", by: "git",
		files: []string{".gitmodules"},
	},
	{
		name: "git-config", title: "settings of git", severity: High,
		runs: "aliases, hooks, pagers, editors, signers and filters that it names", when: "on any git command, where it is included or is the configuration of a repository", by: "git",
		files: []string{".gitconfig", ".gitconfig.*", ".gitconfig-*", "gitconfig", "*.gitconfig", ".config/git/**", ".gitinclude", ".git-templates/**", ".git_template/**"},
	},
	{
		name: "embedded-repository", title: "a repository inside the folder", severity: High,
		runs: "the fsmonitor, hooks and pagers of its configuration", when: "on any git command in its folder, even one that a shell prompt runs", by: "git",
		files: []string{"config", "head", "commondir", "gitdir", "config.worktree"}, about: "files that make a folder a bare repository", look: embeddedRepository,
	},
	{
		name: "git-lfs-config", title: "settings of Git LFS", severity: High,
		runs: "git-lfs, which uploads and downloads files at the address in it, with your credentials", when: "on git checkout, pull or push", by: "git-lfs",
		files: []string{".lfsconfig"},
	},
	{
		name: "other-version-control", title: "a repository of another version control system", severity: High,
		runs: "the hooks and extensions of its configuration", when: "on any of its commands in the folder, even one that a shell prompt runs", by: "Mercurial, Jujutsu, Subversion and others",
		files: []string{".hg/**", ".hgrc", ".jj/**", ".svn/**", ".bzr/**", ".sl/**", ".fslckout", "_darcs/**", ".p4config", ".hgsub"},
	},
	{
		name: "git-ignore", title: "ignore rules that let more files in", severity: Note,
		when: "on git add", by: "git", files: []string{".gitignore", ".dockerignore", ".npmignore"}, about: "rules that were removed or inverted", look: loosened,
	},
}
