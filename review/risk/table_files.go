package risk

// lockFiles are the files in which package managers record the packages that they install,
// and those that define from where a build tool is downloaded.
var lockFiles = []string{
	"package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.y*ml", "bun.lock", "bun.lockb", "deno.lock", "cargo.lock", "poetry.lock", "uv.lock", "pylock*.toml", "pipfile.lock", "pdm.lock", "pixi.lock", "conda-lock*.yml",
	"gemfile.lock", "gems.locked", "composer.lock", "gradle.lockfile", "*.lockfile", "verification-metadata.xml", "mix.lock", "rebar.lock", "pubspec.lock", "podfile.lock", "cartfile.resolved", "package.resolved", "packages.lock.json", "paket.lock", "project.assets.json",
	"flake.lock", "devenv.lock", "devbox.lock", "conan.lock", "chart.lock", ".terraform.lock.hcl", "module.bazel.lock", "*_install.json", "gopkg.lock", "glide.lock", "go.work.sum", "cabal.project.freeze", "stack.yaml.lock", "shard.lock", "manifest.toml", "mint.lock", "aqua-checksums.json", "mise.lock", "cpanfile.snapshot", "berksfile.lock", "puppetfile.lock", "requirements.yml", "soldeer.lock", "foundry.lock", "move.lock", "scarb.lock", "lake-manifest.json", "elm-stuff/**", "renv.lock",
	"gradle-wrapper.properties", "maven-wrapper.properties", "requirements*.txt", "vcpkg-configuration.json", "*.wrap",
}

var lockRules = []rule{
	{
		name: "lock-elsewhere", title: "a lock file that points elsewhere than before", severity: High,
		runs: "packages from a host that the file did not name before", when: "on the next install", by: "the package manager",
		files: lockFiles, about: "new host names", look: newHosts,
	},
	{
		name: "lock-file", title: "what the next install uses", severity: Medium,
		runs: "other versions of packages, and their install scripts", when: "on the next install", by: "the package manager",
		files: lockFiles,
	},
	{
		name: "go-sum", title: "a checksum that was replaced", severity: High,
		runs: "other code under the same version", when: "on any go command that builds", by: "go",
		files: []string{"go.sum", "go.work.sum"}, about: "another checksum for a module and version that the file held", look: goSum,
	},
}

var fileRules = []rule{
	{
		name: "newly-executable", title: "a file that can be executed now", severity: Medium,
		runs: "the file itself", when: "when the user or a program starts it", by: "the kernel, or the interpreter it names",
		about: "files that were not executable", look: newlyExecutable,
	},
	{
		name: "program", title: "a program in machine code, or an archive of one", severity: Medium,
		runs: "the file itself, which cannot be read in a review", when: "when the user or a program starts or loads it", by: "the kernel, a linker or a virtual machine",
		about: "ELF, PE, Mach-O, WebAssembly, Java, Python and LLVM code, jar, wheel and other packages", look: program,
	},
	{
		name: "symlink-outside", title: "a symlink that leads out of the repository", severity: High,
		runs: "nothing by itself; files read or written through it are your own", when: "when a program follows it", by: "any program",
		about: "absolute targets, targets above the top, targets with .. in their middle", look: linkOutside,
	},
	{
		name: "symlink-into-git", title: "a symlink into .git", severity: High,
		runs: "hooks or settings written through it", when: "when a program writes to it", by: "git",
		about: "targets that hold .git", look: linkIntoGit,
	},
	{
		name: "bidi", title: "characters that change the order in which text is shown", severity: High,
		runs: "code that does not run as it reads", when: "when the file is used", by: "whatever reads the file",
		about: "added lines", look: look(bidi),
	},
	{
		name: "invisible", title: "characters that are not shown", severity: High,
		runs: "names and instructions that are invisible", when: "when the file is used, or an AI agent reads it", by: "whatever reads the file",
		about: "added lines", look: look(invisible),
	},
	{
		name: "control", title: "control characters", severity: Medium,
		runs: "commands to the terminal", when: "when the file is printed, as with cat", by: "the terminal",
		about: "added lines", look: look(control),
	},
	{
		name: "look-alike", title: "letters that look like others", severity: Medium,
		runs: "a different name or address than the one you read", when: "when the file is used", by: "whatever reads the file",
		about: "added words that mix ASCII with its twins", look: look(twin),
	},
	{
		name: "hidden-diff", title: "text that git takes for binary", severity: Medium,
		runs: "what no diff shows", when: "when the file is used", by: "whatever reads the file",
		about: "files with the name of a text, or a #! line, that hold a NUL", look: hiddenDiff,
	},
	{
		name: "lfs-pointer", title: "a pointer of Git LFS in place of content", severity: Medium,
		runs: "nothing by itself; a commit has a file of the LFS server that no review showed", when: "when the commit is checked out", by: "git-lfs",
		about: "files that are a pointer with an id that the file did not have before", look: lfsPointer,
	},
	{
		name: "large-file", title: "a file that is too large to check", severity: Medium,
		when: "when it is committed; it stays in the history permanently", about: "more than 4 MiB", look: large,
	},
	{
		name: "option-name", title: "a name that programs take for an option", severity: Medium,
		runs: "an option of the command that gets it", when: "when a command is given * in its folder", by: "tar, rsync, chown and others",
		about: "names that begin with a dash", look: optionName,
	},
	{
		name: "odd-name", title: "a name that is not what it appears to be", severity: Medium,
		when: "when the user or a script reads the name", about: "names with control, invisible or direction-changing characters, or short names of Windows (ABC~1)", look: oddName,
	},
}

// The rules that Judge applies by itself, and those of Callers.
var (
	secretRule = rule{
		name: "secret", title: "a secret", severity: High,
		when: "when the commit is pushed, or when others read it", about: "added lines that fit a rule of gitleaks",
	}
	lookAlikeName = rule{
		name: "look-alike-name", title: "a name that only looks like a known one", severity: Medium,
		runs: "nothing by itself; it is taken for the file it looks like", when: "when the user reads the name", about: "names with twins of ASCII letters",
	}
	linkForFolder = rule{
		name: "symlink-for-folder", title: "a symlink in place of a folder whose files run", severity: High,
		runs: "the files of the folder it leads to", when: "as if they were in it", by: "whatever reads the folder", about: "symlinks with the name of a folder of this table",
	}
	protectionLost = rule{
		name: "protection-lost", title: "a file that protects you is gone", severity: Note,
		when: "from the next commit or push on", about: "deleted ignore files, hooks, CI files, owners and locks; deleted settings of aibox, agents and JavaScript package managers are held back by their own rules",
	}
	calledFile = rule{
		name: "called", title: "a file that another one runs", severity: Medium,
		about: "files whose path, or whose folder, pattern or Python package as what to run, stands in a hook, an install script, a build script or backend of Cargo or Python, an editor's task or settings, an agent's settings, a CI file, your own hooks (`.git/hooks` or core.hooksPath) or the settings of your own git; scripts, if a hook of yours cannot be read",
	}
	attributesConvert = rule{
		name: "git-attributes-convert", title: "attributes that change what git stores of files", severity: High,
		runs: "nothing; but a commit has other text than you read, or plain text that a filter encrypted or stored elsewhere",
		when: "when it is accepted, and on git add", by: "git",
		about: "lines of .gitattributes that name a filter, an encoding, ident or an attribute of your own, and are added, changed, moved or taken away",
	}
	notSearched = rule{
		name: "not-searched", title: "a file that was not checked", severity: Medium,
		about: "files beyond a review's limits",
	}
)

// hiddenFile is about the file at the path, and about the user's file there.
var hiddenFile = rule{
	name: "hidden-file", title: "in place of a file of yours that was hidden from the agent", severity: High,
	runs: "nothing by itself; your file is replaced by one that was written without it", when: "when it is taken", about: "the paths of hidden files of yours",
}

// extraRules are the rules without a place in the index.
var extraRules = []*rule{&secretRule, &lookAlikeName, &linkForFolder, &protectionLost, &calledFile, &attributesConvert, &notSearched, &hiddenFile}
