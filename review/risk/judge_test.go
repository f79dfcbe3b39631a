package risk

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// find is the risk of one rule in a file.
func find(t *testing.T, f *File, rule string) Risk {
	t.Helper()
	found := Judge(f)
	i := slices.IndexFunc(found, func(r Risk) bool { return r.Rule == rule })
	if i < 0 {
		t.Fatalf("%s: no %s among %v", f.Path, rule, names(found))
	}
	return found[i]
}

func TestSecretsAreFoundByFormatAlone(t *testing.T) {
	for _, f := range []*File{
		plain("a.py", "\ntoken = \""+token+"\"\n"),
		plain("package.json", "{\"scripts\":{\"postinstall\":\"curl -H token="+token+" x\"},\n\"dependencies\":{\"a\":\"https://"+token+"@x.example/\"}}"),
		plain("package.json", "{\"scripts\":{\""+token+"\":\"x\"}}"),
		plain(".gitattributes", "* filter="+token+"\n"),
		plain("a.go", "//go:generate curl "+token+"\n"),
		mode("a.sh", "#!/bin/sh "+token+"\n", "", executable),
		plain("a.txt", "# vim: foldexpr="+token+"\n"),
		binary("a.sqlite", "SQLite\x00\x01token="+token+"\x00"),
	} {
		found := Judge(f)
		if !slices.Contains(names(found), "secret") {
			t.Errorf("%s: no secret among %v", f.Path, names(found))
		}
		encoded, err := json.Marshal(found)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+8 <= len(token)-4; i++ {
			if strings.Contains(string(encoded), token[4+i:4+i+8]) {
				t.Errorf("%s: a part of the secret is printed: %s", f.Path, encoded)
				break
			}
		}
	}
	for _, f := range []*File{ // files that gitleaks leaves out
		plain("go.mod", "module a\nreplace b => "+token+" v1\n"),
		plain("yarn.lock", "resolved https://"+token+".example/a\n"),
	} {
		if encoded := fmt.Sprint(Judge(f)); strings.Contains(strings.ToLower(encoded), strings.ToLower(token[10:18])) {
			t.Errorf("%s: a part of the secret is printed: %s", f.Path, encoded)
		}
	}
	r := find(t, plain("a.py", "\ntoken = \""+token+"\"\n"), "secret")
	if r.Line != 2 || r.Title != "a secret: github-pat" || r.Found != "ghp_… (40 characters)" || r.Severity != High {
		t.Errorf("reported as %+v", r)
	}
}

func TestARiskReportsItsLine(t *testing.T) {
	for _, c := range []struct {
		f     *File
		rule  string
		line  int
		found string
	}{
		{edited("Makefile", "a:\n\tb\n", "a:\n\tb\nc:\n"), "make", 3, ""},
		{edited("package.json", "{}", "{\n \"scripts\": {\n  \"test\": \"go\",\n  \"prepare\": \"husky\"\n }\n}"), "npm-scripts", 4, "prepare: husky"},
		{edited("a.go", "a\n", "a\nb\nc \u202e\n\u2066\n"), "bidi", 3, "U+202E, U+2066 (2 in all)"},
		{edited("yarn.lock", "https://a.example/\n", "https://a.example/\nx\nhttps://b.example/\n"), "lock-elsewhere", 3, "b.example"},
		{plain("a.go", "package a\n//go:generate sh x\n//go:generate sh y\n"), "go-generate", 2, "//go:generate sh x (and 1 more)"},
	} {
		if r := find(t, c.f, c.rule); r.Line != c.line || r.Found != c.found {
			t.Errorf("%s: line %d, found %q; want %d, %q", c.rule, r.Line, r.Found, c.line, c.found)
		}
	}
}

func TestScriptsThatRunAutomaticallyAreMoreSevere(t *testing.T) {
	f := plain("package.json", `{"scripts":{"build":"tsc","postinstall":"node x"}}`)
	found := Judge(f)
	if len(found) != 2 || found[0].Runs != "the script postinstall" || found[0].Severity != High || found[1].Runs != "the script build" || found[1].Severity != Medium {
		t.Errorf("%+v", found)
	}
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprintf("%q:\"x\"", fmt.Sprint("script", i)))
	}
	if found := Judge(plain("package.json", `{"scripts":{`+strings.Join(many, ",")+`}}`)); len(found) != maxScripts {
		t.Errorf("%d risks for 30 scripts", len(found))
	}
}

func TestAFileThatOthersRunIsFound(t *testing.T) {
	caller := func(name, text string) Caller {
		c, ok := CallerOf(name, []byte(text))
		if !ok {
			t.Fatalf("%s is no caller", name)
		}
		return c
	}
	setting := func(key, value string) Caller {
		c, ok := GitSetting(key, value, &Roots{Tops: []string{"/mnt/proj", "/home/u/proj"}, Home: "/home/u"})
		if !ok {
			t.Fatalf("%s is no setting that runs anything", key)
		}
		return c
	}
	hook := func(text string) Caller {
		return Hook("the hook pre-commit", []byte(text), &Roots{Tops: []string{"/home/u/proj"}, Home: "/home/u"})
	}
	for _, c := range []struct {
		caller Caller
		path   string
		called bool
	}{
		{caller("package.json", `{"scripts":{"postinstall":"node tools/setup.js"}}`), "tools/setup.js", true},
		{caller("package.json", `{"scripts":{"prepare":"node ./tools/setup"}}`), "tools/setup.js", true},
		{caller("web/package.json", `{"scripts":{"install":"./setup.sh"}}`), "web/setup.sh", true},
		{caller("package.json", `{"scripts":{"test":"node tools/setup.js"}}`), "tools/setup.js", false},
		{caller("package.json", `{"scripts":{"dependencies":"node tools/setup.js"}}`), "tools/setup.js", true},
		{caller("package.json", `{"scripts":{"pnpm:devPreinstall":"node tools/setup.js"}}`), "tools/setup.js", true},
		{caller("package.json", `{"scripts":{"pretest":"node tools/setup.js"}}`), "tools/setup.js", false},
		{caller("package.json", `{"scripts":{"prepare":"npm run -s build","build":"node tools/setup.js"}}`), "tools/setup.js", true},
		{caller("package.json", `{"scripts":{"prepare":"yarn a && pnpm b","b":"run-s 'build:*'","build:x":"node tools/setup.js"}}`), "tools/setup.js", true},
		{caller("package.json", `{"scripts":{"prepare":"run-s 'build:*'","build:*":"true","build:x":"node tools/setup.js"}}`), "tools/setup.js", true},
		{caller("package.json", `{"scripts":{"prepare":"run-s build:*:prod","build:x:prod":"node tools/setup.js"}}`), "tools/setup.js", true},
		{caller("package.json", `{"scripts":{"prepare":"run-s '*'","build":"node tools/setup.js"}}`), "tools/setup.js", true},
		{caller("package.json", `{"scripts":{"prepare":"run-s 'build:{x,y}'","build:x":"node tools/setup.js"}}`), "tools/setup.js", true},
		{caller("package.json", `{"scripts":{"prepare":"pnpm run \"/^build:.*/\"","build:x":"node tools/setup.js"}}`), "tools/setup.js", true},
		{caller("package.json", `{"scripts":{"prepare":"pnpm run /build/","build:x":"node tools/setup.js"}}`), "tools/setup.js", true},
		{caller("package.json", `{"scripts":{"prepare":"pnpm run '/(build|x):a/'","build:a":"node tools/setup.js"}}`), "tools/setup.js", true},
		{caller("package.json", `{"scripts":{"prepare":"npm run 'x y'","x y":"node tools/setup.js"}}`), "tools/setup.js", true},
		{caller("package.json", `{"scripts":{"prepare":"npm run a=b","a=b":"node tools/setup.js"}}`), "tools/setup.js", true},
		{caller("package.json", `{"scripts":{"prepare":"concurrently \"npm:build-*\"","build-x":"node tools/setup.js"}}`), "tools/setup.js", true},
		{caller("package.json", `{"scripts":{"prepare":"npm test","test":"jest","posttest":"node tools/setup.js"}}`), "tools/setup.js", true},
		{caller("package.json", `{"scripts":{"prepare":"npm run a","a":"npm run b","b":"npm run a","build":"node tools/setup.js"}}`), "tools/setup.js", false},
		{caller("package.json5", `{scripts:{postinstall:'node tools/setup.js'}}`), "tools/setup.js", true},
		{caller("package.yaml", "scripts:\n  postinstall: node tools/setup.js\n"), "tools/setup.js", true},
		{caller("composer.json", `{"scripts":{"post-install-cmd":["@php tools/first.php","@php tools\/setup.php"]}}`), "tools/setup.php", true},
		{caller("composer.json", `{"scripts":{"init":"@php tools/setup.php"}}`), "tools/setup.php", true},
		{caller("composer.json", `{"scripts":{"post-install-cmd":["@php a",["tools/setup.php"]]}}`), "tools/setup.php", true},
		{caller("composer.json", `{"scripts":{"post-install-cmd":["@a:setup"],"a:setup":["@php tools/setup.php"]}}`), "tools/setup.php", true},
		{caller("composer.json", `{"scripts":{"post-install-cmd":"@auto-scripts","auto-scripts":{"tools/setup.php":"php-script"}}}`), "tools/setup.php", true},
		{caller("composer.json", `{"scripts":["tools/setup.php"]}`), "tools/setup.php", true},
		{caller("composer.json", `{"scripts":{"test":["@php tools/setup.php"]}}`), "tools/setup.php", false},
		{caller(".husky/pre-commit", "cd scripts && ./check.sh\n"), "scripts/check.sh", true},
		{caller(".envrc", "source_env scripts/env.bash\n"), "scripts/env.bash", true},
		{caller(".github/workflows/a.yml", "run: python -m tools.release\n"), "tools/release.py", true},
		{caller(".github/workflows/a.yml", "run: make test\n"), "test.go", false},
		{caller(".vscode/tasks.json", `"command": "${workspaceFolder}\\bin\\run.cmd"`), "bin/run.cmd", true},
		{caller(".claude/settings.json", `"command": "$CLAUDE_PROJECT_DIR/hooks/fmt.py"`), "hooks/fmt.py", true},
		{caller(".claude/settings.json", `"theme": "dark"`), "dark/main.go", false},
		{caller(".idea/watcherTasks.xml", `<option name="program" value="$ProjectFileDir$/scripts/fmt.sh" />`), "scripts/fmt.sh", true},
		{caller(".zed/tasks.json", `[{"command": "scripts/fmt.sh"}]`), "scripts/fmt.sh", true},
		{caller("a.sublime-project", `{"shell_cmd": "scripts/fmt.sh"}`), "scripts/fmt.sh", true},
		{caller(".exrc", "source tools/x.vim\n"), "tools/x.vim", true},
		{caller(".dir-locals.el", `((nil . ((eval . (load "tools/x.el")))))`), "tools/x.el", true},
		{caller("Cargo.toml", "[package]\nname = \"a\"\nbuild = \"codegen/gen.rs\"\n"), "codegen/gen.rs", true},
		{caller("lib/Cargo.toml", "package = { name = \"a\", build = 'codegen/gen.rs' }\n"), "lib/codegen/gen.rs", true},
		{caller("Cargo.toml", "[[bin]]\npath = \"src/main.rs\"\n"), "src/main.rs", false},
		{caller("pyproject.toml", "[build-system]\nbuild-backend = \"own.backend:api\"\nbackend-path = [\"tools\"]\n"), "tools/own/backend.py", true},
		{caller("pyproject.toml", "[build-system]\nbuild-backend = \"own\"\nbackend-path = [\".\"]\n"), "own.py", true},
		{caller("pyproject.toml", "[tool.hatch.build.targets.wheel.hooks.custom]\npath = \"tools/hook.py\"\n"), "tools/hook.py", true},
		{caller("pyproject.toml", "[tool.poetry.build]\nscript = \"tools/build.py\"\n"), "tools/build.py", true},
		{caller("pyproject.toml", "[tool.mypy]\nfiles = \"src/main.py\"\n"), "src/main.py", false},
		{hook("for f in scripts/hooks.d/*; do . \"$f\"; done\n"), "scripts/hooks.d/10-fmt", true},
		{hook("for f in scripts/hooks.d/*; do . \"$f\"; done\n"), "scripts/hooks.d/more/10-fmt", false},
		{hook("for f in scripts/hooks.d/*; do . \"$f\"; done\n"), "scripts/hooks.d/README.md", false},
		{hook("for f in a/* \"$(git rev-parse --show-toplevel)\"/scripts/hooks.d/[0-9]*; do sh \"$f\"; done\n"), "scripts/hooks.d/1.sh", true},
		{hook("for f in scripts/*.sh; do . \"$f\"; done; for g in \\\n  tools/*.sh; do . \"$g\"; done\n"), "tools/a.sh", true},
		{hook("echo ok && . tools/*.sh\n"), "tools/a.sh", true},
		{hook("for f in scripts; do eslint src/*.js; done\n"), "src/a.js", false},
		{hook("for d in packages/*/; do make; done\n"), "packages/a.py", false},
		{hook("# for f in scripts/*.sh\n"), "scripts/a.sh", false},
		{hook("echo the source src/*.sh is in src/*.sh\n"), "src/a.sh", false},
		{hook("node --test test/ 'test/*.js'\n"), "test/a.js", false},
		{hook("node --test --import tsx 'test/**/*.test.ts'\n"), "test/a/b.test.ts", false},
		{hook("mocha --require tsx 'test/**/*.test.ts'\n"), "test/a/b.test.ts", false},
		{hook("npx mocha -r ts-node 'test/*.ts'\n"), "test/b.ts", false},
		{hook("node --import=tsx --test 'test/*.ts'\n"), "test/b.ts", false},
		{hook("git ls-files | xargs -r node tools/*.js\n"), "tools/a.js", true},
		{hook("node --import tsx tools/*.ts\n"), "tools/a.ts", true},
		{hook("CI=1 exec env A=$b npx tsx tools/*.ts\n"), "tools/a.ts", true},
		{hook("if ! time node tools/*.js; then\n"), "tools/a.js", true},
		{hook("files | xargs -0 sh tools/*.sh\n"), "tools/a.sh", true},
		{hook("sudo -u x timeout 5 poetry run python tools/*.py\n"), "tools/a.py", true},
		{hook("docker run -v .:/a image sh tools/*.sh\n"), "tools/a.sh", true},
		{hook("php -l src/web/\n"), "src/web/a.php", false},
		{caller(".github/workflows/a.yml", "steps:\n- run: |\n    make\n    python -m tools.lint\n"), "tools/lint/__main__.py", true},
		{caller(".github/workflows/a.yml", "steps:\n- run: >-\n    python\n    -m tools.lint\n  name: x\n"), "tools/lint/__main__.py", true},
		{caller(".github/workflows/a.yml", "steps:\n- run: make\n  name: python -m tools.lint\n"), "tools/lint/__main__.py", false},
		{caller(".gitlab-ci.yml", "a:\n  script:\n  - make\n  - run-parts ci/steps\n  image: x\n"), "ci/steps/a.sh", true},
		{caller(".gitlab/ci.yml", "a: {script: [make, 'for f in ci/*.sh; do sh $f; done']}\n"), "ci/a.sh", true},
		{caller(".pre-commit-config.yaml", "- id: x\n  entry: python -m tools.lint\n  args: [--all]\n"), "tools/lint/__main__.py", true},
		{caller(".pre-commit-config.yaml", "- {id: x, entry: python -m tools.lint, language: system}\n"), "tools/lint/__main__.py", true},
		{caller("lefthook.yml", "pre-commit:\n  commands:\n    lint:\n      run: python -m tools.lint\n"), "tools/lint/__main__.py", true},
		{caller("mise.toml", "[hooks]\nrun = \"python -m tools.lint\"\n"), "tools/lint/__main__.py", true},
		{caller(".vscode/tasks.json", "{\n  // the task\n  \"command\": \"python\",\n  \"args\": [\n    \"-m\",\n    \"tools.lint\"\n  ]\n}"), "tools/lint/__main__.py", true},
		{caller(".mcp.json", `{"mcpServers":{"x":{"command":"node","args":["./tools/server"]}}}`), "tools/server/index.js", true},
		{caller(".lintstagedrc.json", `{"src/*.js": ["node tools/lint", "eslint src/lib"]}`), "tools/lint/index.js", true},
		{caller(".lintstagedrc.yaml", "'*.py': python -m tools.lint\n"), "tools/lint/__main__.py", true},
		{caller("lint-staged.config.mjs", "export default {'*.py': 'python -m tools.lint'}\n"), "tools/lint/__main__.py", true},
		{caller(".simple-git-hooks.cjs", "module.exports = {'pre-commit': 'npm test && python -m tools.lint'}\n"), "tools/lint/__main__.py", true},
		{caller(".rusty-hook.toml", "[hooks]\npre-commit = \"run-parts tools/hooks\"\n"), "tools/hooks/a", true},
		{caller(".husky/_/note.md", "Run python -m tools.lint\n"), "tools/lint/__main__.py", false},
		{caller(".pre-commit-config.yaml", "- id: x\n  name: python -m tools.lint\n"), "tools/lint/__main__.py", false},
		{caller("azure-pipelines.yml", "steps:\n- bash: python -m tools.lint\n"), "tools/lint/__main__.py", true},
		{caller("azure-pipelines.yml", "steps:\n- pwsh: |\n    python -m tools.lint\n"), "tools/lint/__main__.py", true},
		{caller(".travis.yml", "before_install:\n- run-parts ci/steps\n"), "ci/steps/a.sh", true},
		{caller("appveyor.yml", "build_script:\n- cmd: run-parts ci/steps\n"), "ci/steps/a.sh", true},
		{caller("Jenkinsfile", "steps { sh 'python -m tools.lint' }\n"), "tools/lint/__main__.py", true},
		{caller(".devcontainer/devcontainer.json", `"postCreateCommand": "bash tools/*.sh"`), "tools/a.sh", true},
		{caller(".claude/hooks/x.sh", "run-parts tools/hooks\n"), "tools/hooks/a", true},
		{hook("run-parts --verbose scripts/hooks.d\n"), "scripts/hooks.d/10-fmt", true},
		{hook("run-parts \"$(git rev-parse --show-toplevel)/scripts/hooks.d\"\n"), "scripts/hooks.d/10-fmt", true},
		{hook("run-parts \"`git rev-parse --show-toplevel`/scripts/hooks.d\"\n"), "scripts/hooks.d/10-fmt", true},
		{hook("run-parts \"${ROOT:-$(pwd)}/scripts/hooks.d\"\n"), "scripts/hooks.d/10-fmt", true},
		{hook("run-parts \"$(dirname \"$(dirname \"$0\")\")/hooks.d\"\n"), "hooks.d/10-fmt", true},
		{hook(". \"$(dirname \"$0\")/\"hooks.d/*.sh\n"), "tools/hooks.d/a.sh", true},
		{hook("go run \"$(git rev-parse --show-toplevel)/tools/lint\"\n"), "tools/lint/main.go", true},
		{hook("files=$(ls; python -m tools.lint)\n"), "tools/lint.py", true},
		{hook("(cd x && files=`python -m tools.lint`)\n"), "tools/lint.py", true},
		{hook("files=$(cat list\nrun-parts scripts/hooks.d)\n"), "scripts/hooks.d/10-fmt", true},
		{hook("test \"$(which sh)\" src/*.sh\n"), "src/a.sh", false},
		{hook("/usr/bin/bash -e scripts/*/check.sh\n"), "scripts/web/check.sh", true},
		{hook("source tools/**/env.sh\n"), "tools/a/b/env.sh", true},
		{hook("go run ./tools/lint -x\n"), "tools/lint/main.go", true},
		{hook("go run ./lint\n"), "lint/main.go", true},
		{hook("go run ./lint\n"), "web/lint/main.go", false},
		{hook("go vet ./tools/lint\n"), "tools/lint/main.go", false},
		{hook("node scripts/lint --fix\n"), "scripts/lint/index.js", true},
		{hook("eslint 'src/**/*.ts' src/lib\n"), "src/lib/a.ts", false},
		{hook("python3 -m tools.lint --all\n"), "tools/lint/__main__.py", true},
		{hook("python3 -m tools.lint --all\n"), "tools/lint/__init__.py", true},
		{hook("python3 -m tools.lint --all\n"), "tools/__init__.py", true},
		{hook("python -m lint\n"), "lint/__main__.py", true},
		{hook("python -m lint\n"), "lint.py", true},
		{hook("python -m lint\n"), "src/lint.py", false},
		{hook("python -m json.tool; sh json/tool.py\n"), "src/json/tool.py", true},
		{hook("python -m json.tool\n"), "json/tool.py", true},
		{hook("python -m json.tool\n"), "json/__init__.py", true},
		{hook("git commit -m lint\n"), "lint.py", false},
		{hook("git add src.app\n"), "src/__init__.py", false},
		{caller(".gitlab-ci.yml", "include:\n  - local: 'ci/*.yml'\n"), "ci/test.yml", true},
		{caller(".gitlab-ci.yml", "include: ci/**.yml\n"), "ci/a/test.yml", true},
		{caller(".gitlab-ci.yml", "include:\n  - /ci/*.yml\n"), "ci/test.yml", true},
		{caller(".gitlab-ci.yml", "include:\n- local: ci/*.yml\n"), "ci/test.yml", true},
		{caller(".gitlab-ci.yml", "include: []\na:\n  cache:\n  - ci/*.yml\n"), "ci/test.yml", false},
		{caller(".gitlab-ci.yml", "rules:\n  - changes:\n    - src/*.js\n"), "src/a.js", false},
		{caller(".github/workflows/a.yml", "on:\n  push:\n    paths: ['src/**']\n    paths-ignore:\n      - scripts/*.sh\n"), "src/a.js", false},
		{caller(".github/workflows/a.yml", "on:\n  push:\n    paths:\n      - scripts/*.sh\n"), "scripts/a.sh", false},
		{caller("web/package.json", `{"scripts":{"install":"node tools/build"}}`), "web/tools/build/index.js", true},
		{setting("core.hooksPath", "team/hooks"), "team/hooks/post-merge", true},
		{setting("core.hookspath", "./team/hooks/"), "team/hooks/lib/a.txt", true},
		{setting("core.hookspath", "/etc/hooks"), "etc/other/x", false},
		{setting("core.hookspath", "/etc/hooks"), "etc/hooks/x", false},
		{setting("core.hookspath", "/home/u/proj/team/hooks"), "team/hooks/lib.sh", true},
		{setting("core.hookspath", "~/proj/team/hooks"), "team/hooks/lib.sh", true},
		{setting("core.hookspath", "/mnt/proj/team/hooks/"), "team/hooks/lib.txt", true},
		{setting("core.hookspath", "/home/u/project/team/hooks"), "team/hooks/lib.sh", false},
		{setting("filter.tidy.clean", "/home/u/proj/tools/clean.py %f"), "tools/clean.py", true},
		{setting("filter.tidy.clean", "python3 /opt/tools/clean.py %f"), "opt/tools/clean.py", false},
		{setting("alias.up", `!"$(git rev-parse --show-toplevel)"/tools/up.sh`), "tools/up.sh", true},
		{setting("alias.up", "!${TOP}/tools/up.sh"), "tools/up.sh", true},
		{setting("submodule.lib.update", "!sh tools/update.sh"), "tools/update.sh", true},
		{setting("tar.tar.xz.command", "tools/pack.sh"), "tools/pack.sh", true},
		{setting("credential.helper", "store"), "store/user.py", false},
		{setting("lfs.customtransfer.mine.path", "tools/agent.py"), "tools/agent.py", true},
		{setting("lfs.customtransfer.mine.args", "tools/agent.py"), "tools/agent.py", true},
		{setting("lfs.extension.mine.smudge", "tools/agent.py %f"), "tools/agent.py", true},
		{setting("imap.tunnel", "tools/agent.py"), "tools/agent.py", true},
		{setting("annex.secure-erase-command", "tools/agent.py %file"), "tools/agent.py", true},
		{setting("remote.origin.annex-cost-command", "tools/agent.py"), "tools/agent.py", true},
		{hook(`exec ./scripts/check.sh "$@"`), "scripts/check.sh", true},
		{hook("/home/u/proj/scripts/check.sh\n"), "scripts/check.sh", true},
		{hook("root=$(git rev-parse --show-toplevel)\n$root/scripts/check.sh\n"), "scripts/check.sh", true},
		{hook("make lint\n"), "scripts/check.sh", false},
		{hook("sh scripts/check\n"), "scripts/check", true},
		{hook("sh check\n"), "check", false},
		{setting("filter.tidy.clean", "python3 tools/clean.py %f"), "tools/clean.py", true},
		{setting("alias.st", "!sh scripts/st.sh"), "scripts/st.sh", true},
	} {
		found := Called([]string{c.path}, func(int) bool { return false }, slices.Values([]Caller{c.caller}))
		if r, ok := found[0]; ok != c.called || ok && (r.When == "" || r.By == "" || r.Found != "named in "+c.caller.Name || !r.Holds()) {
			t.Errorf("%s by %s: %v, %+v", c.path, c.caller.Name, ok, r)
		}
		if c.called && !WordsOf(slices.Values([]Caller{c.caller})).MayName(c.path) {
			t.Errorf("%s by %s: ruled out by its name", c.path, c.caller.Name)
		}
	}
	for _, key := range []string{"user.name", "core.autocrlf", "remote.origin.url", "branch.main.merge", "submodule.lib.update", "annex.autocommit", "remote.origin.annex-uuid"} {
		if _, ok := GitSetting(key, "x", &Roots{}); ok {
			t.Errorf("%s is taken for a setting that runs something", key)
		}
	}
	for _, name := range []string{
		"compile_commands.json", "rust-project.json", "setup.py", "build.rs", ".idea/workspace.xml", ".vscode/launch.json", "pyrightconfig.json", "nbproject/project.xml",
	} {
		if Calls(name) {
			t.Errorf("Calls is wrong about %s", name)
		}
	}
	if Calls("src/main.go") || Calls("Makefile") || !Calls(".github/workflows/x.yml") || !Calls("a/Package.JSON") {
		t.Error("Calls is wrong about a name")
	}
	var search Search
	for _, c := range cases {
		for _, f := range append(slices.Clone(c.yes), c.no...) {
			if search.Calls(f.Path) != Calls(f.Path) || search.Calls("x/.claude/"+f.Path) != Calls("x/.claude/"+f.Path) {
				t.Errorf("a search is wrong about %q", f.Path)
			}
		}
	}
}

func TestARemovedFileOfRestrictionsIsHeldBack(t *testing.T) {
	for path, rule := range map[string]string{
		".aibox.toml": "aibox-settings", ".npmrc": "npm-settings", ".bunfig.toml": "npm-settings", "pnpm-workspace.yaml": "npm-settings", ".pnpmfile.cjs": "npm-settings", "web/.yarnrc.yml": "npm-settings", ".claude/settings.json": "agent-settings",
	} {
		for _, f := range []*File{removed(path), renamed(path, "docs/old.txt")} {
			if r := find(t, f, rule); r.Severity != Medium || r.Found != "taken away: "+path {
				t.Errorf("%s: %+v", path, r)
			}
		}
	}
	for _, path := range []string{".yarn/cache/a-npm-1.zip", ".yarn/releases/yarn-4.0.0.cjs", ".pnp.cjs", "rush.json", "bower.json", ".claude/commands/old.md"} {
		if found := Judge(removed(path)); len(found) > 0 {
			t.Errorf("%s: %+v", path, found)
		}
	}
	if r := find(t, removed(".gitignore"), "protection-lost"); r.Holds() {
		t.Errorf("%+v", r)
	}
}

// TestAChangeOfARenamedFileIsJudgedByItsOldNameToo has changes that are made to the old name if the
// rename is not accepted.
func TestAChangeOfARenamedFileIsJudgedByItsOldNameToo(t *testing.T) {
	for path, rule := range map[string]string{
		"Makefile": "make", ".github/workflows/ci.yml": "github-actions", ".husky/pre-commit": "hook-manager", "main.tf": "terraform", "a.go": "go-generate",
	} {
		text := "//go:generate sh x\nsource = \"evil.example/a/b\"\n"
		r := find(t, moved(path, "docs/notes.txt", "a\n", "a\n"+text), rule)
		if !r.Holds() || !strings.HasPrefix(r.Found, "without the rename, in "+path) {
			t.Errorf("%s: %+v", path, r)
		}
		if found := Judge(moved(path, "docs/notes.txt", text, text)); slices.ContainsFunc(found, Risk.Holds) {
			t.Errorf("%s, only moved: %+v", path, found)
		}
	}
	f := mode("docs/notes.txt", "x\n", "100644", executable)
	f.OldPath = "Makefile"
	find(t, f, "make")
	if found := Judge(moved("a/Makefile", "b/Makefile", "a\n", "a\nb\n")); len(found) != 1 {
		t.Errorf("one rule has several risks: %+v", found)
	}
}

// TestAnEffectThatOnlyANewNameGivesIsFound moves files without changing them.
func TestAnEffectThatOnlyANewNameGivesIsFound(t *testing.T) {
	for _, c := range []struct{ from, to, text, rule string }{
		{"fixtures/evil.json", "packages/a/package.json", `{"scripts":{"postinstall":"node x"}}`, "npm-scripts"},
		{"go.mod.tmpl", "go.mod", "module a\nreplace b => ../c\n", "go-build"},
		{"x.txt", "x.go", "package a\n\n//go:generate sh x\n", "go-generate"},
		{"x.txt", "x.go", "package a\n\n// #cgo LDFLAGS: -lx\nimport \"C\"\n", "cgo"},
		{"x.txt", "main.tf", "source = \"evil.example/a/b\"\n", "terraform"},
		{"a.json", "composer.json", `{"scripts":{"post-install-cmd":"sh x"}}`, "composer"},
		{"a/.gitattributes", ".gitattributes", "* diff=run\n", "git-attributes"},
		{"hosts.txt", "yarn.lock", "resolved \"https://b.example/\"\n", "lock-elsewhere"},
		{"testdata/evil/package.json", "package.json", `{"scripts":{"postinstall":"node x"}}`, "npm-scripts"},
		{"testdata/composer.json", "composer.json", `{"scripts":{"post-install-cmd":"sh x"}}`, "composer"},
		{"testdata/go.mod", "go.mod", "module a\nreplace b => ../c\n", "go-build"},
		{"go.mod", "go.work", "replace b => ../c\n", "go-build"},
		{"examples/x/external.tf", "external.tf", "data \"external\" \"x\" {\n", "terraform"},
		{"testdata/yarn.lock", "yarn.lock", "resolved \"https://b.example/\"\n", "lock-elsewhere"},
	} {
		find(t, moved(c.from, c.to, c.text, c.text), c.rule)
	}
	for _, f := range []*File{
		moved("a/package.json", "b/package.json", `{"scripts":{"a":"b"}}`, `{"scripts":{"a":"b"}}`),
		moved("package.json", "web/package.json", `{"scripts":{"a":"b"}}`, `{"scripts":{"a":"b"}}`),
		moved("a.tf", "b.tf", "source = \"evil.example/a/b\"\n", "source = \"evil.example/a/b\"\n"),
		moved("a.go", "b.go", "//go:generate sh x\n", "//go:generate sh x\n"),
	} {
		if found := Judge(f); len(found) > 0 {
			t.Errorf("%s: %+v", f.Path, found)
		}
	}
	text := `{"scripts":{"postinstall":"curl -H token=` + token + ` x"}}`
	if r := find(t, moved("a.json", "package.json", text, text), "npm-scripts"); strings.Contains(r.Found, token[4:12]) {
		t.Errorf("a part of the secret is printed: %+v", r)
	}
}

func TestAFolderOfHooksElsewhereIsNoFolderOfTheRepository(t *testing.T) {
	at := &Roots{Tops: []string{"/home/u/proj"}, Home: "/home/u"}
	for value, want := range map[string]string{"/etc/hooks": "", "~/hooks": "", "/home/u/proj": "", "../hooks": "", "/home/u/proj/team": "team", "team/": "team"} {
		c, _ := GitSetting("core.hookspath", value, at)
		if dir, ok := c.dir(); ok != (want != "") || ok && dir != want {
			t.Errorf("%s: %q, %v", value, dir, ok)
		}
	}
}

func TestAHookThatCannotBeReadMayRunAnyScript(t *testing.T) {
	paths := []string{"scripts/check.sh", "README.md", "bin/run"}
	hooks := slices.Values([]Caller{UnreadHook("the hook pre-commit")})
	found := Called(paths, func(i int) bool { return i == 2 }, hooks)
	if len(found) != 2 || found[1].Rule != "" || found[0].Found != "perhaps named in the hook pre-commit, which was not searched" || !found[2].Holds() {
		t.Errorf("%+v", found)
	}
	if w := WordsOf(hooks); !w.MayName("scripts/check.sh") {
		t.Error("a script of a folded folder is not looked at")
	}
}

func TestReasonsForHostileTextAreShort(t *testing.T) {
	for name, f := range map[string]*File{
		"keywords":      plain("a.txt", string(hostile(MaxContent))),
		"a single line": plain("a.js", strings.Repeat("x", MaxContent)),
		"nested JSON":   plain("package.json", strings.Repeat(`{"a":`, MaxContent/5)),
		"many scripts":  plain("package.json", `{"scripts":{`+strings.Repeat(`"a":"b",`, MaxContent/8)+`"z":"z"}}`),
		"no slashes":    plain("yarn.lock", strings.Repeat("http:", MaxContent/5)),
		"escapes":       plain("yarn.lock", strings.Repeat("\\\n\\u", MaxContent/4)),
		"many cgo":      plain("a.go", strings.Repeat("/", MaxContent/2)+"x"+strings.Repeat("#cgo", MaxContent/8)+"\n"),
		"many hosts":    plain("yarn.lock", strings.Repeat("https://x/ git@", MaxContent/15)),
		"many twins":    plain("a.txt", strings.Repeat("a\u0430", MaxContent/3)),
		"invisible":     plain("a.txt", strings.Repeat("\u200b", MaxContent/3)),
		"tags":          plain("a.txt", "\U0001f3f4"+strings.Repeat("\U000e0061", MaxContent/4)),
		"deep path":     plain(strings.Repeat("a/", 2000)+"b", "x"),
		"modelines":     plain("a.txt", strings.Repeat("vim: ", MaxContent/5)),
		"short lines":   edited("a.txt", strings.Repeat("\n", MaxContent), strings.Repeat("a\n", MaxContent/2)),
	} {
		for _, r := range Judge(f) {
			if len(r.Found) > 6*maxExcerpt || !utf8.ValidString(r.Found) {
				t.Errorf("%s: a risk tells %d bytes", name, len(r.Found))
			}
		}
	}
}

func TestOneReviewHasOneBudgetForSecrets(t *testing.T) {
	effort := NewEffort()
	text := string(hostileAssigns())
	searched := 0
	for i := range 200 {
		f := plain(fmt.Sprint("a", i, ".txt"), text)
		f.Effort = effort
		found := f.secrets()
		if len(found) == 0 || found[len(found)-1].Rule != "not-searched" {
			t.Fatalf("file %d counts as searched: %v", i, found)
		}
		if left := effort.left.Load(); left > 0 {
			searched++
		}
	}
	if searched > 40 {
		t.Errorf("%d files had their full effort", searched)
	}
	f := plain("last.txt", "key = 1\n")
	f.Effort = effort
	if found := f.secrets(); len(found) != 1 || found[0].Rule != "not-searched" || !found[0].Holds() {
		t.Errorf("behind the limit: %v", found)
	}
}

// TestARenamedFileIsSearchedForSecretsOnce has names to which other rules for secrets apply, too.
func TestARenamedFileIsSearchedForSecretsOnce(t *testing.T) {
	text := strings.Repeat("key = value\n", 1000)
	used := func(f *File) int64 {
		f.Effort = NewEffort()
		before := f.Effort.left.Load()
		Judge(f)
		return before - f.Effort.left.Load()
	}
	if once, renamed := used(edited("b.txt", "x\n", "x\n"+text)), used(moved("a.txt", "b.txt", "x\n", "x\n"+text)); once == 0 || renamed != once {
		t.Errorf("%d bytes are read of a renamed file, %d of another", renamed, once)
	}
	secret := "token = \"" + token + "\"\n"
	count := func(from, to string) int {
		return len(slices.DeleteFunc(Judge(moved(from, to, "x\n", "x\n"+secret)), func(r Risk) bool { return r.Rule != "secret" }))
	}
	for _, path := range [][2]string{{"a.py", "b.py"}, {"a.py", "go.sum"}, {"go.sum", "a.py"}} {
		if n := count(path[0], path[1]); n != 1 {
			t.Errorf("%v: %d secrets", path, n)
		}
	}
	f := moved("package.json", "docs/notes.txt", "{}", `{"scripts":{"postinstall":"curl -H token=`+token+` x"}}`)
	if r := find(t, f, "npm-scripts"); strings.Contains(r.Found, token[4:12]) {
		t.Errorf("a part of the secret is printed: %+v", r)
	}
}

func FuzzJudge(f *testing.F) {
	for _, c := range cases {
		for _, file := range append(slices.Clone(c.yes), c.no...) {
			if len(file.New.Content) < 4<<10 {
				f.Add(file.Path, file.Old.Content, file.New.Content, file.Old.Mode == symlink, file.New.Mode == symlink, file.Binary)
			}
		}
	}
	f.Fuzz(func(t *testing.T, path string, before, after []byte, wasLink, isLink, binary bool) {
		if path == "" || strings.Contains(path, "\x00") {
			return
		}
		side := func(content []byte, link bool) Side {
			if link {
				return Side{Mode: symlink, Content: content}
			}
			return Side{Mode: "100644", Content: content}
		}
		found := Judge(&File{Path: path, Old: side(before, wasLink), New: side(after, isLink), Size: int64(len(after)), Binary: binary})
		for _, r := range found {
			for _, text := range []string{r.Title, r.Runs, r.When, r.By, r.Found} {
				if !utf8.ValidString(text) || strings.ContainsAny(text, "\n\x1b\u202e") || len(text) > 2000 {
					t.Errorf("%s tells %q", r.Rule, text)
				}
			}
			if r.Line < 0 || r.Line > strings.Count(string(after), "\n")+len(after)/2+2 {
				t.Errorf("%s is in line %d", r.Rule, r.Line)
			}
		}
		// Content that was there before is not reported again, except for files that are
		// judged by name.
		for _, r := range Judge(&File{Path: path, Old: side(after, isLink), New: side(after, isLink), Size: int64(len(after)), Binary: binary}) {
			if r.Rule == "secret" || r.Rule == "bidi" || r.Rule == "invisible" || r.Rule == "control" || r.Rule == "look-alike" {
				if !isLink {
					t.Errorf("%s is found in a file that did not change", r.Rule)
				}
			}
		}
	})
}
