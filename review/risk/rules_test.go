package risk

import (
	"slices"
	"strings"
	"testing"
)

// plain is a new text file.
func plain(path, content string) *File {
	return &File{Path: path, New: Side{Mode: "100644", Content: []byte(content)}, Size: int64(len(content))}
}

// edited is a changed text file.
func edited(path, before, after string) *File {
	f := plain(path, after)
	f.Old = Side{Mode: "100644", Content: []byte(before)}
	return f
}

// binary is a file for which git shows no lines.
func binary(path, content string) *File {
	f := plain(path, content)
	f.Binary = true
	return f
}

// mode is a file whose mode has changed.
func mode(path, content, before, after string) *File {
	f := edited(path, content, content)
	f.Old.Mode, f.New.Mode = before, after
	return f
}

// link is a new symlink.
func link(path, target string) *File {
	f := plain(path, target)
	f.New.Mode = symlink
	return f
}

// removed is a removed file.
func removed(path string) *File {
	return &File{Path: path, Old: Side{Mode: "100644", Content: []byte("x\n")}}
}

// renamed is a file that was moved without another change.
func renamed(from, to string) *File {
	f := mode(to, "x\n", "100644", "100644")
	f.OldPath = from
	return f
}

// moved is a file that was moved and changed.
func moved(from, to, before, after string) *File {
	f := edited(to, before, after)
	f.OldPath = from
	return f
}

// pointer is a pointer of Git LFS.
func pointer(digits string) string {
	return "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat(digits, 32) + "\nsize 12345\n"
}

// token is a fake secret, in two parts so that no scanner of this repository finds it.
const token = "ghp_" + "R2D2c3poBB8hanLukeLeiaYodaObiWan77xQ"

// farModeline has a modeline in its last lines, and evalList a list of variables with an eval.
var (
	farModeline = strings.Repeat("x\n", 9) + "# vim: foldexpr=x\n"
	evalList    = "x\n/* Local Variables:\n * eval: (x)\n * End: */\n"
)

// cases hold files that a rule must find and files that it must not.
var cases = map[string]struct{ yes, no []*File }{
	"git-hooks": {
		[]*File{plain(".githooks/pre-commit", "x"), plain("tools/githooks/lib.sh", "x"), plain("scripts/pre-push", "x"), plain("hooks/post-receive.d", "x"), plain(".GitHooks/x", "x"), link(".githooks", "elsewhere")},
		[]*File{plain("hooks/useState.ts", "x"), plain("docs/githooks.md", "x"), plain("pre-commit.md", "x")},
	},
	"hook-manager": {
		[]*File{plain(".husky/pre-commit", "x"), plain("lefthook.yml", "x"), plain(".pre-commit-config.yaml", "x"), plain("web/.lintstagedrc.json", "x"), plain(".huskyrc", "x"), plain(".trunk/trunk.yaml", "x")},
		[]*File{plain("husky/readme", "x"), plain("pre-commit-config.txt", "x")},
	},
	"git-attributes": {
		[]*File{plain(".gitattributes", "*.psd filter=evil\n"), plain("sub/.gitattributes", "* -text diff=run\n"), plain(".GITATTRIBUTES", "* merge=mine\n")},
		[]*File{plain(".gitattributes", "*.go diff=golang text eol=lf\n# filter=x\n*.md merge=union\n"), edited(".gitattributes", "*.psd filter=lfs\n", "*.psd filter=lfs\n*.sh text\n")},
	},
	"git-attributes-convert": {
		[]*File{
			plain(".gitattributes", "*.py working-tree-encoding=UTF-7\n"), plain("sub/.gitattributes", "* -filter\n"), plain(".gitattributes", "* !filter\n"), plain(".gitattributes", "* filter\n"),
			plain(".gitattributes", "*.c ident\n"), plain(".gitattributes", "* macro-of-another-file\n"), plain(".gitattributes", "\u00a0# filter\n"), plain(".gitattributes", "\"a filter\n"), plain(".gitattributes", "\"a b\\\"\" ident\n"), plain(".gitattributes", "\"a \\q\" text\n"), plain(".gitattributes", "\"a b\"ident\n"),
			plain("sub/.GitAttributes", "*.py working-tree-encoding=UTF-7\n"), // on a disk that does not tell case apart
			edited(".gitattributes", "*.key filter=crypt\n", "\n"), edited(".gitattributes", "* -filter\n*.key filter=crypt\n", "*.key filter=crypt\n* -filter\n"),
			{Path: ".gitattributes", Old: Side{Mode: "100644", Content: []byte("*.key filter=crypt\n")}},
			{Path: "was", OldPath: ".gitattributes", Old: Side{Mode: "100644", Content: []byte("*.key filter=crypt\n")}, New: Side{Mode: "100644", Content: []byte("*.key filter=crypt\n")}},
			{Path: ".gitAttributes", OldPath: ".gitattributes", Old: Side{Mode: "100644", Content: []byte("*.key filter=crypt\n")}, New: Side{Mode: "100644", Content: []byte("*.key filter=crypt\n")}},
			{Path: "b/.gitattributes", OldPath: "a/.gitattributes", Old: Side{Mode: "100644", Content: []byte("*.key filter=crypt\n")}, New: Side{Mode: "100644", Content: []byte("*.key filter=crypt\n")}},
			{Path: ".gitattributes", Old: Side{Mode: "100644", Content: []byte("*.key filter=crypt\n")}, New: Side{Mode: symlink, Content: []byte("elsewhere")}},
		},
		[]*File{
			plain(".gitattributes", "\"my file.txt\" text\n\"a \\303\\251 b\" -text\n"),
			plain(".gitattributes", "* text=auto\n*.go diff=golang linguist-generated -whitespace\nfilter text\n# * -filter\n"), plain("attributes", "* -filter\n"),
			edited(".gitattributes", "*.key filter=crypt\n", "# keys\n\n*.key filter=crypt\n*.sh text eol=lf\n"),
			{Path: ".gitattributes", Old: Side{Mode: "100644", Content: []byte("* text=auto\n")}},
			mode(".gitattributes", "*.key filter=crypt\n", "100644", "100755"),
		},
	},
	"git-attributes-hide": {
		[]*File{plain(".gitattributes", "*.go -diff\n"), plain(".gitattributes", "src/** linguist-generated=true\n")},
		[]*File{plain(".gitattributes", "*.sh text eol=lf\n")},
	},
	"git-modules":         {[]*File{plain("sub/.gitmodules", "x"), plain(".gitModules", "x")}, []*File{plain("gitmodules", "x")}},
	"git-config":          {[]*File{plain(".gitconfig", "x"), plain("team/shared.gitconfig", "x")}, []*File{plain("git.config.md", "x")}},
	"embedded-repository": {[]*File{plain("a/HEAD", "ref: refs/heads/main\n"), plain("a/config", "[core]\n\tfsmonitor = ./x\n"), plain("b/config", "[hook \"x\"]\n\tcommand = ./x\n"), plain("a/commondir", "..\n")}, []*File{plain("config", "debug = true\n"), plain("HEAD", "of the department\n")}},
	"git-lfs-config":      {[]*File{plain(".lfsconfig", "x")}, []*File{plain("lfsconfig.md", "x")}},
	"other-version-control": {
		[]*File{plain(".hg/hgrc", "x"), plain("a/.jj/repo/config.toml", "x"), plain(".svn/entries", "x")},
		[]*File{plain("hg/hgrc", "x")},
	},
	"git-ignore": {
		[]*File{edited(".gitignore", ".env\n", "\n"), edited(".gitignore", "*.pem\n", "*.pem\n!my.pem\n")},
		[]*File{edited(".gitignore", ".env\n", ".env\nbuild/\n"), edited(".gitignore", "# old\n", "# new\n")},
	},

	"agent-instructions": {
		[]*File{plain("AGENTS.md", "x"), plain("agents.md", "x"), plain("Agents.MD", "x"), plain("docs/CLAUDE.md", "x"), plain("GEMINI.md", "x"), plain(".github/copilot-instructions.md", "x"), plain("CLAUDE.local.md", "x"), plain("AGENTS\u200d.md", "x"), plain("AGENTS.md. ", "x"), plain("AGENTS.md:x", "x"), link("CLAUDE.md", "README.md"), plain(".kilocodemodes", "x"), plain(".continuerules", "x")},
		[]*File{plain("agents.txt", "x"), plain("docs/agents/list.md", "x")},
	},
	"agent-settings": {
		[]*File{plain(".claude/settings.json", "x"), plain(".codex/config.toml", "x"), plain(".Cursor/rules/a.mdc", "x"), plain(".aider.conf.yml", "x"), plain(".continue/config.yaml", "x"), plain("opencode.jsonc", "x"), link(".claude", "tools")},
		[]*File{plain("claude/settings.json", "x"), plain("cursor.go", "x")},
	},
	"mcp-servers":    {[]*File{plain(".mcp.json", "x"), plain("sub/mcp.json", "x")}, []*File{plain("mcp.go", "x")}},
	"aibox-settings": {[]*File{plain(".aibox.toml", "x"), removed(".aibox.toml"), renamed(".aibox.toml", "docs/aibox.toml")}, []*File{plain("aibox.toml", "x"), removed("aibox.toml")}},

	"vscode-tasks":      {[]*File{plain(".vscode/tasks.json", "x"), plain("web/.VSCODE/Tasks.json", "x")}, []*File{plain("tasks.json", "x")}},
	"vscode-settings":   {[]*File{plain(".vscode/settings.json", "x"), plain("all.code-workspace", "x"), plain(".vscode/sftp.json", "x")}, []*File{plain("settings.json", "x")}},
	"vscode-launch":     {[]*File{plain(".vscode/launch.json", "x")}, []*File{plain("launch.json", "x")}},
	"vscode-extensions": {[]*File{plain(".vscode/extensions.json", "x")}, []*File{plain("extensions.json", "x")}},
	"jetbrains":         {[]*File{plain(".idea/runConfigurations/a.xml", "x"), plain("app.iml", "x")}, []*File{plain("idea/a.xml", "x")}},
	"vim-settings":      {[]*File{plain(".exrc", "x"), plain(".nvim.lua", "x"), plain("a/.vimrc", "x")}, []*File{plain("vimrc.md", "x")}},
	"vim-modeline": {
		[]*File{
			plain("a.txt", "text\n# vim: set foldexpr=system('x') :\n"), plain("b.txt", "/* vi: stl=%{x} */\n"),
			edited("c.txt", farModeline+strings.Repeat("y\n", 9), farModeline), edited("d.txt", farModeline+strings.Repeat("y\n", 9), strings.TrimLeft(farModeline, "x\n")+strings.Repeat("y\n", 9)),
		},
		[]*File{plain("a.txt", "# vim: set ts=4 sw=4 et :\n"), plain("b.txt", farModeline+strings.Repeat("x\n", 9)), edited("c.txt", "# vim: foldexpr=x\na\n", "# vim: foldexpr=x\nb\n"), edited("d.txt", farModeline+"y\n", farModeline)},
	},
	"emacs-settings":        {[]*File{plain(".dir-locals.el", "x"), plain(".ycm_extra_conf.py", "x")}, []*File{plain("locals.el", "x")}},
	"emacs-local-variables": {[]*File{plain("a.txt", "-*- eval: (shell-command \"x\") -*-\n"), plain("a.c", "x\n/* Local Variables:\n * eval: (x)\n * End: */\n"), edited("b.c", evalList+strings.Repeat("y\n", lispEnd), evalList)}, []*File{plain("a.txt", "use eval: here\n"), plain("a.c", "x\n/* Local Variables:\n * mode: c\n * End: */\n"), edited("b.c", evalList+"y\n", evalList)}},
	"other-editors":         {[]*File{plain(".zed/tasks.json", "x"), plain("a.sublime-project", "x"), plain("compile_commands.json", "x"), plain("lib/.merlin", "x"), plain(".ctags", "x"), plain(".ctags.d/a.ctags", "x"), plain(".kateproject", "x")}, []*File{plain("zed.go", "x"), plain("tags", "x")}},
	"debugger-settings":     {[]*File{plain(".gdbinit", "x"), plain(".lldbinit", "x")}, []*File{plain("gdb.md", "x")}},

	"direnv":           {[]*File{plain(".envrc", "x"), plain("sub/.envrc", "x"), mode(".envrc", "x", "100644", "100755")}, []*File{plain("envrc", "x"), removed(".envrc")}},
	"tool-versions":    {[]*File{plain(".tool-versions", "x"), plain("mise.toml", "x"), plain("rust-toolchain.toml", "x"), plain(".nvmrc", "x")}, []*File{plain("versions.md", "x")}},
	"environment-file": {[]*File{plain(".env", "x"), plain(".env.local", "x"), plain("prod.env", "x")}, []*File{plain("env.go", "x")}},
	"encryption-recipients": {
		[]*File{plain(".sops.yaml", "x"), plain("passwords/.gpg-id", "x"), plain(".age-recipients", "x"), plain(".git-crypt/keys/default/0/A.gpg", "x")},
		[]*File{plain("sops.md", "x")},
	},
	"dev-container":       {[]*File{plain(".devcontainer/devcontainer.json", "x"), plain(".devcontainer.json", "x"), plain(".gitpod.yml", "x")}, []*File{plain("devcontainer.md", "x")}},
	"nix":                 {[]*File{plain("flake.nix", "x"), plain("shell.nix", "x"), plain("devbox.json", "x")}, []*File{plain("nix.md", "x")}},
	"container-build":     {[]*File{plain("Dockerfile", "x"), plain("web/app.Dockerfile", "x"), plain("docker-compose.override.yml", "x"), plain("compose.yaml", "x"), plain("Containerfile", "x")}, []*File{plain("dockerfile.go.md/x", "x"), plain("docker.go", "x")}},
	"virtual-machine":     {[]*File{plain("Vagrantfile", "x"), plain("ansible.cfg", "x")}, []*File{plain("vagrant.md", "x")}},
	"shell-startup":       {[]*File{plain("dot/.bashrc", "x"), plain(".zshrc", "x"), plain("a.service", "x")}, []*File{plain("bashrc.md", "x"), plain("script.sh", "x")}},
	"process-file":        {[]*File{plain("Procfile", "x"), plain("Tiltfile", "x")}, []*File{plain("procfile.go/x", "x")}},
	"infrastructure-tool": {[]*File{plain(".terraformrc", "x"), plain("Pulumi.yaml", "x")}, []*File{plain("main.tf", "x")}},
	"terraform": {
		[]*File{
			plain("main.tf", "data \"external\" \"a\" {\n  program = [\"sh\", \"x.sh\"]\n}\n"), plain("a.tofu", "  provisioner \"local-exec\" {\n"), plain("a.tf", "  source = \"evil.example/a/b\"\n"), plain("a.tf", "module \"a\" { source = \"./x\" }\n"), plain("main.tf.json", "{\"data\":{\"external\":{}}}"),
			plain("a.tf", "data/**/\"external\" \"a\" {\n"), plain("a.tf", "data\"external\"\"a\"{\n"), plain("a.tf", "data \"\\u0065xternal\" \"a\" {\n"), plain("a.tf", "a = { version = \"1.0\", source = \"evil.example/a/b\" }\n"), plain("a.tf", "source : \"evil.example/a/b\"\n"),
			plain("a.tf", "a = { \"source\" = \"evil.example/a/b\" }\n"), plain("a.tf", "a = { (\"s\\u006furce\") = \"evil.example/a/b\" }\n"), plain("a.tf", "a = { x = \"/*\", source = \"evil.example/a/b\", y = \"*/\" }\n"), plain("a.tf", "source /*\n*/ = \"./x\"\n"), plain("a.tf", "data /*\n*/ \"external\" \"a\" {\n"), plain("main.tf.json", "{\"data\":{\"\\u0065xternal\":{}}}"),
		},
		[]*File{plain("main.tf", "resource \"aws_s3_bucket\" \"a\" {\n  bucket = \"external\"\n  data_source = 1\n}\n"), plain("external.md", "data \"external\" \"a\"\n"), plain("a.tf", "# the source = x\nsources = [\"a\"]\nuser_data = \"\\u00e9\"\nexternal = true\n")},
	},

	"github-actions":  {[]*File{plain(".github/workflows/ci.yml", "x"), plain(".GitHub/Workflows/CI.yml", "x"), plain("deploy/action.yml", "x"), link(".github/workflows", "ci")}, []*File{plain(".github/FUNDING.yml", "x"), plain("workflows/ci.yml", "x")}},
	"forgejo-actions": {[]*File{plain(".forgejo/workflows/a.yml", "x"), plain(".gitea/workflows/a.yml", "x")}, []*File{plain("gitea/a.yml", "x")}},
	"gitlab-ci":       {[]*File{plain(".gitlab-ci.yml", "x"), plain(".gitlab/ci/a.yml", "x"), plain("a.gitlab-ci.yml", "x")}, []*File{plain("gitlab.yml", "x")}},
	"ci-pipeline": {
		[]*File{plain(".circleci/config.yml", "x"), plain("Jenkinsfile", "x"), plain("azure-pipelines.yml", "x"), plain(".buildkite/pipeline.yml", "x"), plain(".drone.yml", "x"), plain(".woodpecker.yml", "x"), plain(".woodpecker/a.yml", "x"), plain(".travis.yml", "x"), plain("bitbucket-pipelines.yml", "x"), plain(".cirrus.star", "x")},
		[]*File{plain("circleci/config.yml", "x"), plain("jenkins.md", "x")},
	},
	"hosting":      {[]*File{plain("netlify.toml", "x"), plain("vercel.json", "x"), plain(".readthedocs.yaml", "x"), plain("wrangler.toml", "x")}, []*File{plain("netlify.md", "x")}},
	"release-tool": {[]*File{plain(".goreleaser.yaml", "x"), plain("debian/rules", "x")}, []*File{plain("release.md", "x")}},
	"protection":   {[]*File{plain(".github/CODEOWNERS", "x"), plain("renovate.json", "x")}, []*File{plain("owners.md", "x")}},

	"make":        {[]*File{plain("Makefile", "x"), plain("makefile", "x"), plain("GNUmakefile", "x"), plain("rules.mk", "x"), plain("Makefile.am", "x")}, []*File{plain("make.go", "x")}},
	"task-runner": {[]*File{plain("justfile", "x"), plain("Justfile", "x"), plain("Taskfile.yml", "x"), plain("Rakefile", "x"), plain("gulpfile.js", "x"), plain("fastlane/Fastfile", "x"), plain(".arcconfig", "x"), plain(".arclint", "x"), plain(".reviewboardrc", "x"), plain("book/_quarto.yml", "x"), plain(".lintrunner.toml", "x")}, []*File{plain("task.go", "x")}},
	"configure":   {[]*File{plain("configure", "x"), plain("configure.ac", "x"), plain("autogen.sh", "x")}, []*File{plain("configure.go", "x")}},
	"cmake":       {[]*File{plain("CMakeLists.txt", "x"), plain("a.cmake", "x"), plain("meson.build", "x"), plain("SConstruct", "x")}, []*File{plain("cmake.md", "x")}},
	"bazel":       {[]*File{plain("BUILD.bazel", "x"), plain("WORKSPACE", "x"), plain("MODULE.bazel", "x"), plain("tools/bazel", "x"), plain(".bazelrc", "x"), plain("a/BUILD", "x")}, []*File{plain("bazel.md", "x"), plain("tools/bazel.d/x", "x")}},
	"gradle":      {[]*File{plain("build.gradle", "x"), plain("settings.gradle.kts", "x"), plain("gradlew", "x"), plain("gradle/wrapper/gradle-wrapper.properties", "x"), plain("buildSrc/a.kt", "x")}, []*File{plain("gradle.md", "x")}},
	"maven":       {[]*File{plain("pom.xml", "x"), plain("mvnw", "x"), plain(".mvn/extensions.xml", "x"), plain("build.xml", "x")}, []*File{plain("maven.md", "x")}},

	"npm-scripts": {
		[]*File{
			plain("package.json", `{"scripts":{"postinstall":"x"}}`), edited("package.json", `{"name":"a"}`, `{"name":"a","dependencies":{"b":"1"}}`), edited("package.json", `{}`, `{"bin":"x.js"}`), plain("package.json", `{"scripts"`), link("package.json", "x"),
			edited("package.json", `{"scripts":{"a":"1"}}`, `{"scripts":{"a":"2"}}`), plain("package.yaml", "x"), edited("package.json", `{}`, `{"eslintConfig":{}}`),
		},
		[]*File{
			edited("package.json", `{"version":"1","scripts":{"a":"1"}}`, `{"version":"2", "scripts": {"a": "1"}}`), edited("package.json", `{"scripts":{"a":"1","b":"2"}}`, `{"scripts":{"a":"1"}}`), edited("package.json", `{}`, `{"description":"scripts"}`),
		},
	},
	"npm-settings":       {[]*File{plain(".npmrc", "x"), plain(".yarnrc.yml", "x"), plain(".pnpmfile.cjs", "x"), plain("bunfig.toml", "x"), plain(".yarn/releases/yarn.cjs", "x")}, []*File{plain("npmrc.md", "x")}},
	"deno-tasks":         {[]*File{plain("deno.json", "x"), plain("deno.jsonc", "x")}, []*File{plain("deno.ts", "x")}},
	"js-tool-settings":   {[]*File{plain("vite.config.ts", "x"), plain(".eslintrc.js", "x"), plain("web/jest.config.mjs", "x"), plain("tsconfig.base.json", "x")}, []*File{plain("config.js", "x"), plain("vite.md", "x")}},
	"node-gyp":           {[]*File{plain("binding.gyp", "x")}, []*File{plain("binding.js", "x")}},
	"installed-packages": {[]*File{plain("node_modules/a/index.js", "x"), plain("lib/__pycache__/a.pyc", "x"), plain("vendor/a/a.go", "x")}, []*File{plain("modules/a.js", "x")}},

	"python-build":        {[]*File{plain("setup.py", "x"), plain("pyproject.toml", "x"), plain("tox.ini", "x"), plain("setup.cfg", "x")}, []*File{plain("setup_test.go", "x")}},
	"python-startup":      {[]*File{plain("tests/conftest.py", "x"), plain("sitecustomize.py", "x"), plain("a.pth", "import os\n"), binary("a.pth", "import os\n#\x00\n"), binary("a.pth", "PK\x03\x04\x00\rimport\tos\n"), binary("a.pth", "\ufeffimport os\n\x00"), {Path: "a.pth", Binary: true, New: Side{Mode: "100644", Cut: true}}}, []*File{plain("conf_test.py", "x"), binary("model.pth", "PK\x03\x04\x00"), binary("model.pth", "PK\x03\x04\x00 import os\nimportos\n")}},
	"python-requirements": {[]*File{plain("requirements.txt", "x"), plain("requirements-dev.txt", "x")}, []*File{plain("required.txt", "x")}},
	"pickle":              {[]*File{binary("model.pkl", "\x80\x04"), binary("model.pth", "PK\x03\x04\x00"), binary("a.pt", "x")}, []*File{plain("pickle.py", "x"), plain("a.pth", "import os\n"), binary("a.pth", "import os\n#\x00\n")}},

	"go-build":    {[]*File{edited("go.mod", "module a\n", "module a\n\nreplace b => ../c\n"), plain("go.work", "use .\n"), edited("go.mod", "module a\n", "module a\ntoolchain go9\n")}, []*File{edited("go.mod", "module a\nrequire b v1\n", "module a\n"), edited("go.mod", "module a\n", "module a\n// a comment\n")}},
	"go-generate": {[]*File{plain("a.go", "package a\n//go:generate sh -c x\n")}, []*File{plain("a.go", "package a\n// go:generate is a thing\n"), edited("a.go", "//go:generate x\n", "//go:generate x\npackage a\n")}},
	"cgo": {[]*File{
		plain("a.go", "package a\n// #cgo LDFLAGS: -x\nimport \"C\"\n"), plain("a.go", "import (\n\t\"C\"\n)\n"), plain("a.go", "//go:linkname a b\n"),
		plain("a.go", "import (\"C\")\n"), plain("a.go", "import(\"C\"; \"fmt\")\n"), plain("a.go", "import \"fmt\"; import \"C\"\n"), plain("a.go", "import /* x */ \"C\"\n"), plain("a.go", "*/ import `C` // x\n"),
		plain("a.go", "//\u2003#cgo LDFLAGS: -x\n"), plain("a.go", "/*\n\u00a0#cgo LDFLAGS: -x\n*/\n"), plain("a.go", "/* a */ /* #cgo LDFLAGS: -x */\n"), plain("a.go", "// #cgo\tLDFLAGS: -x\n"),
	}, []*File{plain("a.go", "package a\nvar c = \"C\"\n"), plain("a.go", "var all = []string{\n\t\"C\",\n}\nf(\"C\")\n"), plain("a.go", "// A #cgo line sets flags, \"C\" does not.\n")}},
	"cargo-build":         {[]*File{plain("build.rs", "x"), edited("Cargo.toml", "", "[lib]\nproc-macro = true\n")}, []*File{plain("src/builder.rs", "x")}},
	"cargo-settings":      {[]*File{plain(".cargo/config.toml", "x"), plain("a/.cargo/config", "x")}, []*File{plain("cargo/config.toml", "x")}},
	"ruby-build":          {[]*File{plain("Gemfile", "x"), plain("a.gemspec", "x"), plain(".rspec", "x"), plain(".irbrc", "x")}, []*File{plain("gem.rb", "x")}},
	"composer":            {[]*File{plain("composer.json", `{"scripts":{"post-install-cmd":"x"}}`), edited("composer.json", `{}`, `{"require":{"a":"1"}}`)}, []*File{edited("composer.json", `{}`, `{"description":"x"}`)}},
	"php-settings":        {[]*File{plain(".user.ini", "x"), plain(".htaccess", "x"), plain("phpunit.xml.dist", "x")}, []*File{plain("a.php", "x")}},
	"jvm-build":           {[]*File{plain("build.sbt", "x"), plain("project.clj", "x"), plain("deps.edn", "x")}, []*File{plain("a.scala", "x")}},
	"dotnet-build":        {[]*File{plain("a.csproj", "x"), plain("Directory.Build.props", "x"), plain("NuGet.Config", "x")}, []*File{plain("a.cs", "x")}},
	"swift-build":         {[]*File{plain("Package.swift", "x"), plain("a.xcodeproj/project.pbxproj", "x")}, []*File{plain("a.swift", "x")}},
	"elixir-build":        {[]*File{plain("mix.exs", "x"), plain("config/runtime.exs", "x")}, []*File{plain("lib/a.ex", "x")}},
	"other-build":         {[]*File{plain("Setup.hs", "x"), plain("build.zig", "x"), plain("dune", "x"), plain("pubspec.yaml", "x")}, []*File{plain("a.hs", "x")}},
	"interpreter-startup": {[]*File{plain(".ghci", "x"), plain(".Rprofile", "x"), plain(".latexmkrc", "x")}, []*File{plain("a.R", "x")}},

	"lock-elsewhere": {
		[]*File{
			edited("package-lock.json", `"resolved": "https://one.example/a.tgz"`, `"resolved": "https://two.example/a.tgz"`), edited("Cargo.lock", "", "source = \"git+ssh://git@evil.example/x\"\n"), edited("yarn.lock", "x\n", "resolved git@evil.example:a/b\n"),
			edited("gradle/wrapper/gradle-wrapper.properties", "distributionUrl=https\\://one.example/x.zip", "distributionUrl=https\\://two.example/x.zip"), edited("poetry.lock", "https://one.example/a", "https://one.example@two.example/a"),
			edited("package-lock.json", "https://one.example/a", `"resolved": "https:\/\/two.example\/a.tgz"`), edited("package-lock.json", "https://one.example/a", `"https:\u002f\u002Ftwo.example/a.tgz"`),
			edited("package-lock.json", "https://one.example/a", `"ht\ntps:two.example/a.tgz"`), edited("package-lock.json", "https://one.example/a", `"https:\\\\two.example/a.tgz"`),
			edited("uv.lock", "https://one.example/a", `"https:\x2f\x2ftwo.example/a"`), edited("yarn.lock", "https://one.example/a", "http://[2001:DB8::5]:80/a"), edited("yarn.lock", "https://one.example/a", "http://one.example/a"),
			edited("gradle-wrapper.properties", "https\\://one.example/x.zip", "https\\://\\\n  two.example/x.zip"), edited("gradle-wrapper.properties", "https\\://one.example/x.zip", "https\\:\\/\\/\\two.example/x.zip"),
			edited("pnpm-lock.yaml", "tarball: https://one.example/x.tgz", "tarball: https://two.example\\@one.example/x.tgz"), edited("requirements.txt", "--index-url https://one.example/simple", "--index-url https://two.example\\@one.example/simple"),
			edited("pnpm-lock.yaml", "https://one.example/x", "https://one.exampl\\e/x"), edited("gradle-wrapper.properties", "https\\://one.example/x.zip", "https\\://one\\x2eexample/x.zip"),
			edited("gradle-wrapper.properties", "https\\://one.example/x.zip", "https\\://one.example\\x2f.two.example/x.zip"),
		},
		[]*File{edited("package-lock.json", "https://one.example/a.tgz", "https://one.example/b.tgz\nhttps://ONE.example:443/c\n"), edited("go.mod", "", "https://x.example/"), edited("Cargo.lock", "https://one.example/a\nhttps://two.example/b\n", "https://two.example/b\n"), edited("yarn.lock", "http://one.example/a", "https://one.example/a"), edited("package-lock.json", "https:\\/\\/one.example\\/a", "https://one.example/b"), edited("uv.lock", "a", "file:///home/x\nhttp: 1.0\n\"https\": \"1\"\n")},
	},
	"lock-file": {[]*File{plain("package-lock.json", "x"), plain("pnpm-lock.yaml", "x"), plain("uv.lock", "x"), plain("Cargo.lock", "x")}, []*File{plain("lock.go", "x"), plain("go.sum", "x")}},
	"go-sum":    {[]*File{edited("go.sum", "a v1 h1:x=\n", "a v1 h1:y=\n")}, []*File{edited("go.sum", "a v1 h1:x=\n", "a v1 h1:x=\nb v1 h1:y=\n")}},

	"newly-executable": {[]*File{mode("a.sh", "#!/bin/sh\n", "100644", "100755"), mode("a", "x", "", "100755")}, []*File{mode("a.sh", "x", "100755", "100755"), mode("a.sh", "x", "100755", "100644")}},
	"program": {
		[]*File{binary("a", "\x7fELF\x02\x01"), binary("a", "MZ\x90\x00"), binary("a", "\xcf\xfa\xed\xfe"), binary("a", "\x00asm\x01"), binary("a.jar", "PK\x03\x04"), binary("a.pyc", "x\x00"), binary("x", "\xcb\x0d\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")},
		[]*File{binary("a.png", "\x89PNG\r\n\x1a\n"), plain("MZ.txt", "MZ is a town\n"), binary("a.zip", "PK\x03\x04")},
	},
	"symlink-outside": {
		[]*File{link("a", "/etc/passwd"), link("a", "../b"), link("a/b", "../../c"), link("a", "b/../c"), link("a", `C:\x`), link("a", ""), link("a", `..\x`)},
		[]*File{link("a", "b"), link("a/b", "../c"), link("a", "./b/c"), plain("a", "/etc/passwd"), link("a/b/c", "../../d")},
	},
	"symlink-into-git": {[]*File{link("a", ".git/config"), link("a", "b/.GIT/hooks"), link("a", "git~1/x")}, []*File{link("a", ".github/x"), link("a", "digit")}},
	"secret":           {[]*File{plain("a.py", "token = \""+token+"\"\n"), binary("a.db", "\x00\x01"+token+"\x00"), plain("a.txt", "\xff\xfe"+utf16Of("token = \""+token+"\"\n"))}, []*File{edited("a.py", "t = \""+token+"\"\n", "t = \""+token+"\"\nx\n"), plain("a.py", "token = os.environ['TOKEN']\n"), link("a", token)}},
	"bidi":             {[]*File{plain("a.go", "x \u202e y\n"), plain("a.go", "\u2066\n"), plain("a.md", "a\u200f\n")}, []*File{edited("a.go", "x \u202e y\n", "x \u202e y\nz\n"), plain("a.md", "שלום عالم\n"), binary("a", "\x00\u202e")}},
	"invisible": {
		[]*File{plain("a.js", "const \u3164 = 1\n"), plain("a.js", "a\u200bb\n"), plain("AGENT.txt", "do\U000e0061\U000e0062\n"), plain("a", "x\ufeffy\n"), plain("a", "A\ufe0f\n"), plain("a", "x\u2028y\n"), plain("a", "x\U000e0100\n")},
		[]*File{plain("a", "\ufeffx\n"), plain("a.md", "👨\u200d👩\u200d👧 ❤\ufe0f 1\ufe0f\u20e3\n"), plain("a.md", "می\u200cخواهم\n"), plain("a.md", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f\n"), plain("a.md", "क\u094d\u200dष\n"), plain("a.md", "ສະບາຍ\u200bດີ\n")},
	},
	"control":     {[]*File{plain("a.sh", "echo \x1b[2J\n"), plain("a.sh", "rm -rf /\rtrue\n"), plain("a", "x\x08\n"), plain("a", "x\u0085\n")}, []*File{plain("a", "x\r\ny\tz\f\n"), plain("a", "na\xefve\n")}},
	"look-alike":  {[]*File{plain("a.go", "var p\u0430ss = 1\n"), plain("a.js", "if (env\u01c3=x)\n"), plain("a.c", "x\u037e\n"), plain("a.py", "\U0001d41e\U0001d42f(x)\n"), plain("a.txt", "ex\u2024am\n")}, []*File{plain("a.md", "привет world\n"), plain("a.md", "Δx = 5 µm ½ 1⁄2\n"), plain("a.md", "中文，test；ok！\n")}},
	"hidden-diff": {[]*File{binary("a.go", "package a\x00\n"), binary("x", "#!/bin/sh\n\x00"), binary("Makefile", "a:\x00")}, []*File{binary("a.png", "\x00"), plain("a.go", "package a\n")}},
	"lfs-pointer": {
		[]*File{plain("a.bin", pointer("ab")), edited("a.bin", pointer("ab"), pointer("cd")), plain("a.bin", "\n"+strings.ReplaceAll(pointer("ab"), "\n", "\r\n"))},
		[]*File{renamed("a.bin", "b.bin"), edited("a.bin", pointer("ab"), pointer("ab")+"\n"), plain("lfs.md", "A pointer:\n\n"+pointer("ab")), link("a", pointer("ab"))},
	},
	"large-file":      {[]*File{{Path: "a", New: Side{Mode: "100644", Cut: true}, Size: MaxContent + 1}}, []*File{plain("a", strings.Repeat("x\n", 1000))}},
	"option-name":     {[]*File{plain("-rf", "x"), plain("a/--checkpoint=1", "x")}, []*File{plain("a-b", "x")}},
	"odd-name":        {[]*File{plain("a\nb", "x"), plain("a\u202eb", "x"), plain("a\xffb", "x"), plain("SETUP~1.PY", "x"), plain("a\u200b", "x")}, []*File{plain("naïve.txt", "x"), plain("backup~", "x"), plain("日本語.md", "x")}},
	"look-alike-name": {[]*File{plain("\u041cakefile", "x"), plain(".\u0435nvrc", "x"), plain("\uff2dakefile", "x")}, []*File{plain("файл.txt", "x"), plain("Makefile", "x")}},
	"symlink-for-folder": {
		[]*File{link(".vscode", "x"), link(".github", "x"), link("a/.Vscode", "x")},
		[]*File{link("src", "x"), plain(".vscode", "x")},
	},
	"protection-lost": {[]*File{removed(".gitignore"), removed(".github/workflows/scan.yml"), removed("CODEOWNERS"), {Path: "b", OldPath: ".pre-commit-config.yaml", Old: Side{Mode: "100644"}, New: Side{Mode: "100644"}}}, []*File{removed("main.go"), removed("AGENTS.md")}},
	"hidden-file":     {[]*File{{Path: "vault/key", Covers: true, New: Side{Mode: "100644", Content: []byte("x\n")}, Size: 2}}, []*File{plain("vault/key", "x\n")}},
	"called":          {}, // see TestAFileThatOthersRunIsFound
	"not-searched":    {[]*File{{Path: "a", New: Side{Mode: "100644", Cut: true}, Size: 10}, plain("a.txt", string(hostileAssigns()))}, []*File{plain("a", "x")}},
}

func utf16Of(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		b.WriteString(string([]byte{c, 0}))
	}
	return b.String()
}

// hostileAssigns makes a rule for secrets start every few characters.
func hostileAssigns() []byte { return []byte(strings.Repeat("key=", MaxContent/4)) }

func names(risks []Risk) []string {
	var all []string
	for _, r := range risks {
		all = append(all, r.Rule)
	}
	return all
}

func TestEveryRuleMatchesOnlyItsExamples(t *testing.T) {
	var rules []*rule
	for _, table := range tables {
		for i := range table.rules {
			rules = append(rules, &table.rules[i])
		}
	}
	rules = append(rules, extraRules...)
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			c, ok := cases[r.name]
			if !ok || r != &calledFile && (len(c.yes) == 0 || len(c.no) == 0) {
				t.Fatal("no example that it finds, or none that it does not")
			}
			for _, f := range c.yes {
				found := Judge(f)
				i := slices.IndexFunc(found, func(r Risk) bool { return r.Rule == t.Name()[strings.LastIndexByte(t.Name(), '/')+1:] })
				if i < 0 {
					t.Errorf("%q (%.60q) is not found, only %v", f.Path, f.New.Content, names(found))
					continue
				}
				if found[i].Title == "" || found[i].When == "" && r != &notSearched && r != &calledFile && r.name != "symlink-outside" {
					t.Errorf("%q: the risk does not say enough: %+v", f.Path, found[i])
				}
			}
			for _, f := range c.no {
				if slices.Contains(names(Judge(f)), r.name) {
					t.Errorf("%q (%.60q) is found", f.Path, f.New.Content)
				}
			}
		})
	}
	if len(cases) != len(rules) {
		t.Errorf("%d rules have examples, there are %d", len(cases), len(rules))
	}
}

func TestEveryRuleHasADescription(t *testing.T) {
	seen := map[string]bool{}
	for _, table := range tables {
		for _, r := range table.rules {
			if seen[r.name] || r.title == "" || r.when == "" || r.severity < Note && r.runs == "" && r.name != "large-file" && r.name != "odd-name" {
				t.Errorf("%s: repeated or incomplete", r.name)
			}
			seen[r.name] = true
			if len(r.files) == 0 && r.about == "" {
				t.Errorf("%s does not say which files it is about", r.name)
			}
			for i, pattern := range r.files {
				if pattern != strings.ToLower(pattern) || slices.Contains(r.files[:i], pattern) {
					t.Errorf("%s: the pattern %q is no pattern, or stands twice", r.name, pattern)
				}
			}
		}
	}
}

func TestOrdinaryWorkHasNoRisks(t *testing.T) {
	for _, f := range []*File{
		plain("src/main.go", "package main\n\nfunc main() { println(\"hello\") }\n"),
		plain("README.md", "# Hello\n\nSome text — with dashes, “quotes” and an emoji 🎉.\n"),
		plain("internal/store/store_test.go", "package store\n"),
		plain("web/src/app.tsx", "export const App = () => <div>ok</div>\n"),
		plain("lib/price.py", "def price(n):\n    return n * 2\n"),
		plain("src/lib.rs", "pub fn add(a: u32) -> u32 { a + 1 }\n"),
		binary("docs/logo.png", "\x89PNG\r\n\x1a\n\x00"),
		removed("old.go"),
		edited("CHANGELOG.md", "a\n", "a\nb\n"),
	} {
		if found := Judge(f); len(found) > 0 {
			t.Errorf("%s: %+v", f.Path, found)
		}
	}
}
