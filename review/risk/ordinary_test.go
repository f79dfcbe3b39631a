package risk

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestOrdinaryWorkIsNotHeldBack has projects whose settings, CI files and rules for agents name their
// source files and folders in the usual ways. Editing these files is what agents are for.
func TestOrdinaryWorkIsNotHeldBack(t *testing.T) {
	for name, project := range map[string]struct {
		files map[string]string
		edits string
	}{
		"Go": {
			map[string]string{
				".vscode/launch.json":      "{\n  // in src/app\n  \"program\": \"${workspaceFolder}/cmd/server/main.go\",\n  \"args\": [\"src/app/app.go\"]\n}",
				".github/workflows/ci.yml": "name: Test in packages/api and cmd/server\non:\n  push:\n    paths: ['internal/**', 'cmd/server/*.go']\njobs:\n  test:\n    # keep in sync with src/app\n    steps:\n    - run: go test ./...\n    - run: go vet ./internal/store\n    - run: echo \"look in docs/ for help\"\n    - run: make in=internal/store\n    - run: |\n        golangci-lint run ./internal/...\n        for d in packages/*/; do (cd \"$d\" && go test ./...); done\n",
				".pre-commit-config.yaml":  "repos:\n- repo: local\n  hooks:\n  - id: vet\n    entry: go vet ./internal/store\n    language: system\n    files: ^(cmd|internal)/\n    args: [internal/store]\n",
				".githooks/README.md":      "The source is in internal/store. Run go run ./cmd/server to start it.\n",
				".githooks/pre-commit":     "# the commands are in cmd/server, source internal/store\nmake lint\ngo test ./internal/store\ngo run ./tools/lint internal/store\n",
				"Makefile":                 "run:\n\tgo run ./cmd/server\n",
				".golangci.yml":            "linters:\n  exclude: internal/store\n",
				".gitlab-ci.yml":           "include:\n  - local: ci/build.yml\ntest:\n  rules:\n    - changes:\n      - backend/**/*.yml\n      - locales/*.yaml\n  cache:\n    key:\n      files:\n      - locales/*.yaml\n  script:\n    - go test ./internal/...\n",
				".cursor/rules/go.mdc":     "---\nglobs: internal/**/*.go\n---\nNever edit files in docs/generated/. Run go run ./cmd/server and import from `internal/store/`.\n",
			},
			"cmd/server/main.go cmd/server/serve.go internal/store/store.go packages/api/api.go src/app/app.go docs/conf.py docs/generated/x.py backend/a/openapi.yml locales/de.yaml packages/x.py",
		},
		"Node": {
			map[string]string{
				".claude/settings.json":    `{"permissions":{"allow":["Bash(npm run lint:*)","Bash(npm run build:*)","Bash(node src/lib:*)"],"deny":["Bash(npm run deploy)"]}}`,
				".claude/commands/x.md":    "The source is in src/ and the tests in test/.\nRun `npm run dev`, then `node src/lib`.\nimport from `src/lib/`, never require src/web/.\n",
				".claude/agents/review.md": "Read the source in src/ and python tests/. Start with npm start.\n",
				".cursor/rules/style.mdc":  "Never edit files in src/generated/\n",
				".vscode/launch.json":      `{"configurations":[{"type":"node","request":"launch","program":"${workspaceFolder}/src/index.js","outFiles":["${workspaceFolder}/src/lib/*.js"]}]}`,
				".vscode/settings.json":    "{\n  \"eslint.workingDirectories\": [\"./src\"],\n  \"typescript.tsdk\": \"node_modules/typescript/lib\",\n  \"search.include\": [\"src/**\"]\n}",
				".vscode/tasks.json":       "{\"tasks\":[\n{\"type\":\"npm\",\n\"script\":\"lint\",\n\"group\":{\"kind\":\"build\"},\n\"label\":\"npm: lint\",\n\"detail\":\"start dev\"},\n{\"type\":\"npm\",\n\"script\":\"dev\"}]}",
				".idea/workspace.xml":      `<change beforePath="$PROJECT_DIR$/src/server.ts" afterPath="$PROJECT_DIR$/src/server.ts" />`,
				".idea/web.iml":            `<sourceFolder url="file://$MODULE_DIR$/src/index.js" />`,
				".tern-project":            `{"loadEagerly": ["src/index.js"]}`,
				".husky/pre-commit":        "npx lint-staged\nnpm run lint build\nnpm test || { echo 'tests failed, see npm start'; exit 1; }\nnpx prettier --check *\nnpx eslint src dev\n",
				"lint-staged.config.mjs":   "export default {'src/**/*.ts': ['eslint src/'], 'test/*.js': () => 'tsc'}\n",
				".lintstagedrc.json":       `{"src/**/*.js": ["eslint --fix", "prettier --write src/"], "*.ts": "tsc -p src/"}`,
				".lintstagedrc.yaml":       "'src/**/*.js': eslint src/lib\n",
				"azure-pipelines.yml":      "trigger:\n  paths:\n    include: ['src/*.js']\nsteps:\n- bash: npx eslint src/lib\n",
				"Jenkinsfile":              "steps {\n  sh 'npx eslint src/lib'\n  sh 'npm run build'\n  archiveArtifacts 'src/**'\n}\n",
				"opencode.json":            "{\"permission\": {\"bash\": {\n  \"npm run build\": \"ask\"\n}}}",
				"package.json":             `{"scripts":{"lint":"eslint src/ 'test/**/*.js'","start":"node src/index.js","dev":"tsx watch src/server.ts","build":"node src/index.js","deploy":"node src/server.ts","test":"node --test --import tsx test/ 'test/**/*.test.js' && mocha -r tsx 'test/**/*.js'","a:dev":"node src/lib"},"lint-staged":{"src/**/*.{ts,js}":["eslint --fix","prettier --write"]}}`,
				".github/workflows/ci.yml": "jobs:\n  test:\n    name: Test in src/ and the source test/\n    steps:\n    - run: npm ci\n    - run: npm test -- src/lib\n    - run: node --test test/\n    - run: npx eslint src/lib 'src/**/*.js'\n    - uses: actions/cache@v4\n      with:\n        path: src/lib\n        hashFiles: ['src/**/*.ts']\n",
				".vimspector.json":         `{"program": "${workspaceRoot}/src/index.js"}`,
			},
			"src/index.js src/server.ts src/a.js src/lib/index.js src/lib/a.ts src/web/index.ts src/generated/x.ts test/a.js test/unit/b.test.js",
		},
		"Python": {
			map[string]string{
				"pyrightconfig.json":              `{"include": ["src/mypkg", "tests"], "ignore": ["src/mypkg/legacy.py"], "exclude": ["src/**"]}`,
				".vscode/launch.json":             "{\n \"module\": \"uvicorn\",\n\"args\": [\"app.main:app\", \"--reload\"],\n \"program\": \"${workspaceFolder}/manage.py\"\n}",
				".vscode/settings.json":           "{\n  \"python.analysis.extraPaths\": [\"./src\"],\n  \"python.testing.unittestArgs\": [\"-v\", \"-s\", \"./tests\", \"-p\", \"test_*.py\"],\n  \"python.analysis.include\": [\"src/**\"],\n  \"python.testing.pytestArgs\": [\"tests\"]\n}",
				".claude/commands/test.md":        "All endpoints in app/api/ need a test. Python: put models in app/models/*.py and run python -m app.serve\n",
				".claude/skills/x/SKILL.md":       "You are in charge of the source in app/api/.\n```sh\nfor f in app/models/*.py; do python -m app.serve $f; done\n```\n",
				".idea/runConfigurations/app.xml": `<option name="SCRIPT_NAME" value="$PROJECT_DIR$/app/main.py" />`,
				".pre-commit-config.yaml":         "repos:\n- repo: https://example.com/black\n  hooks:\n  - id: mypy\n    files: ^src/\n    args: [--strict, -p, src.mypkg]\n  - id: t\n    entry: python -m pytest tests/\n    language: system\n",
				".devcontainer/devcontainer.json": "{\n// see in app/models/\n\"postCreateCommand\": \"pip install -e ./src\"\n}",
				"pyproject.toml":                  "[project.scripts]\nbuild = \"app.cli:main\"\n[tool.poe.tasks]\nbuild = \"python app/main.py\"\nscript = \"app.cli:main\"\n[tool.pytest.ini_options]\ntestpaths = [\"tests\"]\n",
				"nbproject/project.properties":    "main.file=app/main.py\n",
				".github/workflows/ci.yml":        "jobs:\n  test:\n    steps:\n    - run: pip install -e ./src\n    - run: pytest tests/unit app/api/\n    - run: ruff check src/ app/\n    - run: python -m pytest app/api\n    - run: python -m compileall app/\n    - run: python -m pip install .\n    - run: python -m build\n    - run: python -m http.server\n",
				"mise.toml":                       "[tasks.lint]\nrun = 'ruff check app/'\nsources = ['src/**/*.py']\n[env]\n_.path = ['./src']\n",
			},
			"src/a.py src/mypkg/__init__.py src/mypkg/app.py src/mypkg/legacy.py src/mypkg/README.md tests/test_a.py tests/unit/t.py app/main.py app/cli.py app/__init__.py app/__main__.py app/api/users.py app/models/user.py manage.py src/mypkg/commands/build.py src/mypkg/http/server.py src/mypkg/http/__init__.py src/mypkg/pip/__init__.py",
		},
		"Rust": {
			map[string]string{
				"Cargo.toml":               "[package]\nname = \"a\"\n[[bin]]\nname = \"a\"\npath = \"src/main.rs\"\n[lib]\npath = \"src/lib.rs\"\n",
				".vscode/launch.json":      `{"configurations":[{"type":"lldb","program":"${workspaceFolder}/target/debug/a","args":["tests/run.py"],"sourceFileMap":{"in":"src/"}}]}`,
				".github/workflows/ci.yml": "jobs:\n  test:\n    steps:\n    - run: cargo test --manifest-path crates/core/Cargo.toml\n    - run: for c in crates/*/; do (cd $c; cargo test); done\n",
				".pre-commit-config.yaml":  "repos:\n- repo: local\n  hooks:\n  - {id: fmt, entry: cargo fmt --, language: system, files: 'src/.*\\.rs'}\n",
				".cursor/rules/rust.mdc":   "Put errors in src/error/ and import from crates/core/.\n",
				".zed/debug.json":          `[{"program": "tests/run.py"}]`,
				"rust-analyzer.toml":       "linkedProjects = [\"tests/run.py\"]\n",
			},
			"src/main.rs src/lib.rs src/error/mod.rs crates/core/src/lib.rs crates/core/build.py crates/x.py tests/run.py",
		},
	} {
		var callers []Caller
		var scripts Scripts
		for _, file := range slices.Sorted(maps.Keys(project.files)) {
			if c, ok := CallerOf(file, []byte(project.files[file])); ok {
				callers = append(callers, c)
				scripts.Note(c)
			}
		}
		for file, text := range project.files {
			described, _ := CallerOf(file, []byte(text))
			if c, ok := scripts.Started(described, []byte(text)); ok {
				callers = append(callers, c)
			}
		}
		edits := strings.Fields(project.edits)
		for i, r := range Called(edits, func(int) bool { return false }, slices.Values(callers)) {
			t.Errorf("%s: %s is held back: %s", name, edits[i], r.Found)
		}
	}
}
