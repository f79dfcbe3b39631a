package risk

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestManyFilesOfOneNameAreSearchedForInLinearTime has a workflow that names files again and
// again, and as many files with that last name as a list can have. Comparing each name with
// each file takes minutes.
func TestManyFilesOfOneNameAreSearchedForInLinearTime(t *testing.T) {
	var paths []string
	var text strings.Builder
	for i := range 20_000 {
		paths = append(paths, fmt.Sprintf("d/%d/index.js", i))
		fmt.Fprintf(&text, "e/%d/index.js\nindex.js\n", i)
	}
	c, ok := CallerOf(".github/workflows/a.yml", []byte(text.String()))
	if !ok {
		t.Fatal("it is no caller")
	}
	found := Called(paths, func(int) bool { return false }, slices.Values([]Caller{c, c, c}))
	if len(found) != len(paths) {
		t.Errorf("%d of %d files are found", len(found), len(paths))
	}
}

// TestManyFoldersAndPatternsAreSearchedForInBoundedTime has a hook of as many of them as fit. What
// was not tried counts as named.
func TestManyFoldersAndPatternsAreSearchedForInBoundedTime(t *testing.T) {
	var paths []string
	for i := range 20_000 {
		paths = append(paths, strings.Repeat("d/", 1+i%40)+fmt.Sprintf("e/%d.sh", i))
	}
	for name, c := range map[string]struct {
		line   string
		enough bool
		named  int // files that count as named
	}{
		"patterns":   {"for f in d/*%d*%[1]d?*; do\n", false, len(paths)},
		"folders":    {"run-parts d/%d\n", true, 0},
		"everything": {"sh d/**/%d*.py\n", false, len(paths)},
		"one name":   {"for f in d/*/%d.py; do\n", true, 0},
	} {
		var text strings.Builder
		for i := 0; text.Len() < MaxCaller-100; i++ {
			fmt.Fprintf(&text, c.line, i)
		}
		hook, ok := CallerOf(".husky/pre-commit", []byte(text.String()))
		if !ok {
			t.Fatal("it is no caller")
		}
		found := Called(paths, func(int) bool { return false }, slices.Values([]Caller{hook, hook, hook}))
		if perhaps := slices.ContainsFunc(slices.Collect(maps.Values(found)), func(r Risk) bool {
			return r.Found == "perhaps named in .husky/pre-commit, which has too many patterns to compare"
		}); perhaps == c.enough || len(found) != c.named {
			t.Errorf("%s: %d files count as named, want %d; perhaps: %v", name, len(found), c.named, perhaps)
		}
		f, enough := newFolders(paths), true
		for p := range hook.places {
			enough = f.in(p, "", func(int) {}) && enough
		}
		if enough != c.enough || f.steps < -maxWord*maxWord {
			t.Errorf("%s: enough is %v after %d of %d steps", name, enough, maxPlaceSteps-f.steps, maxPlaceSteps)
		}
	}
}

// TestEveryFileOfAPlaceCounts has many files of one name, deeper than a caller can name, and a hook that starts
// them by many programs.
func TestEveryFileOfAPlaceCounts(t *testing.T) {
	deep := strings.TrimSuffix(strings.Repeat("d/", maxPlaceDepth), "/")
	var paths []string
	for i := range 1000 {
		paths = append(paths, fmt.Sprintf("%s/%d/x.py", deep, i))
	}
	f, visited := newFolders(paths), 0
	f.steps = 160
	if f.in(place{dir: deep, pattern: "x.py"}, "", func(int) { visited++ }) || visited == 0 || visited > 10 {
		t.Errorf("%d files were visited in 160 steps", visited)
	}
	hook := Hook("your hook", []byte("python3 a/*/x.py\npython3.1 a/*/x.py\nsh a/*/x.py\nrun-parts a/*/x.py\n"), &Roots{})
	places := map[place]bool{}
	for p := range hook.places {
		places[p] = true
	}
	if len(places) != 1 {
		t.Errorf("one pattern makes %d places", len(places))
	}
}

// TestPatternsOfManyPackagesCostLittle has workflows that name a file of every package, in a change of
// many files. None of them is one that the workflows name.
func TestPatternsOfManyPackagesCostLittle(t *testing.T) {
	var paths []string
	for i := range 80_000 {
		paths = append(paths, fmt.Sprintf("packages/module%d/src/file_%d.ts", i/90, i))
	}
	var callers []Caller
	for i := range 500 {
		c, ok := CallerOf(fmt.Sprintf(".github/workflows/%d.yml", i), fmt.Appendf(nil, "- run: for p in packages/*/package.json packages/*/%d/*.js; do jq . $p; done\n", i))
		if !ok {
			t.Fatal("it is no caller")
		}
		callers = append(callers, c)
	}
	if found := Called(paths, func(int) bool { return false }, slices.Values(callers)); len(found) > 0 {
		t.Errorf("%d files are found", len(found))
	}
	f := newFolders(paths)
	for p := range callers[0].places {
		f.in(p, "", func(int) {})
	}
	if used := maxPlaceSteps - f.steps; used > maxPlaceSteps/1000 {
		t.Errorf("two patterns take %d steps", used)
	}
}

func TestTheSearchForCalledFilesFindsWhatTryingEachFileFinds(t *testing.T) {
	part := rapid.SampledFrom([]string{"a", "b", "a.js", "ba.js", "a.x", ".js", "b.py", "A_B"})
	name := rapid.Map(rapid.SliceOfN(part, 1, 4), func(parts []string) string { return strings.Join(parts, "/") })
	rapid.Check(t, func(t *rapid.T) {
		paths := rapid.SliceOfN(name, 1, 20).Draw(t, "paths")
		executable := func(i int) bool { return i%3 == 0 }
		c, ok := CallerOf(rapid.SampledFrom([]string{".husky/x", "a/.husky/x", "a/b/.envrc"}).Draw(t, "caller"),
			[]byte(strings.Join(rapid.SliceOfN(name, 1, 8).Draw(t, "words"), " ")))
		if !ok {
			t.Fatal("it is no caller")
		}
		found := Called(paths, executable, slices.Values([]Caller{c}))
		for i, path := range paths {
			want := false
			for word := range c.words() {
				want = want || c.means(word, path, executable(i))
			}
			if _, got := found[i]; got != want {
				t.Errorf("%q named in %q of %q: %v, want %v", path, c.Text, c.Dir, got, want)
			}
		}
	})
}

func TestAScriptOfAPackageThatAHookStartsIsCalled(t *testing.T) {
	hook := Hook("your hook pre-commit", []byte("npm run -s lint && npx lint-staged\n"), &Roots{})
	file := func(name, text string) Caller {
		c, ok := CallerOf(name, []byte(text))
		if !ok {
			t.Fatalf("%s is no caller", name)
		}
		return c
	}
	const lint = `{"scripts":{"lint":"node scripts/lint.js","build":"node scripts/build.js"}}`
	for name, c := range map[string]struct {
		hook    Caller
		name    string
		content string
		path    string
		called  bool
	}{
		"by its name":       {hook, "package.json", lint, "scripts/lint.js", true},
		"another":           {hook, "package.json", lint, "scripts/build.js", false},
		"by another":        {hook, "package.json", `{"scripts":{"lint":"npm run build","build":"node scripts/build.js"}}`, "scripts/build.js", true},
		"by a pattern":      {file(".husky/pre-commit", "run-p 'bu*'\n"), "web/package.json", lint, "web/scripts/build.js", true},
		"by a shell":        {file(".envrc", "pnpm build\n"), "package.json", lint, "scripts/build.js", true},
		"by its prefix":     {file(".husky/pre-commit", "concurrently 'npm:bu*'\n"), "package.json", lint, "scripts/build.js", true},
		"by no prefix":      {file(".husky/pre-commit", "npm run x:build x:*\n"), "package.json", lint, "scripts/build.js", false},
		"by an agent":       {file(".claude/settings.json", `{"hooks": [{"command": "npm run build"}]}`), "package.json", lint, "scripts/build.js", true},
		"by an argument":    {file(".claude/settings.json", "{\"command\": \"npm\",\n\"args\": [\n  \"run\",\n  \"build\"\n]}"), "package.json", lint, "scripts/build.js", true},
		"a permission":      {file(".claude/settings.json", `{"permissions":{"allow":["Bash(npm run build)","Bash(npm run lint:*)"]}}`), "package.json", lint, "scripts/build.js", false},
		"a text":            {file(".claude/commands/x.md", "npm run build\n"), "package.json", lint, "scripts/build.js", false},
		"a task's group":    {file(".vscode/tasks.json", `{"type": "npm", "script": "lint", "group": "build"}`), "package.json", lint, "scripts/build.js", false},
		"by a task":         {file(".vscode/tasks.json", "{\"type\": \"npm\",\n\"script\": \"build\",\n\"runOptions\": {\"runOn\": \"folderOpen\"}}"), "package.json", lint, "scripts/build.js", true},
		"by a workflow":     {file(".github/workflows/a.yml", "run: npm run build\n"), "package.json", lint, "scripts/build.js", false},
		"by lint-staged":    {file(".lintstagedrc.yaml", "'*.js': npm run build\n"), "package.json", lint, "scripts/build.js", true},
		"by hk":             {file("hk.pkl", "[\"x\"] { check = \"npm run build\" }\n"), "package.json", lint, "scripts/build.js", true},
		"by its workspace":  {file(".husky/pre-commit", "pnpm --filter=web run --silent lint\n"), "package.json", lint, "scripts/lint.js", true},
		"by another folder": {file(".husky/pre-commit", "yarn --cwd web lint && pnpm -C web run build\n"), "package.json", lint, "scripts/build.js", true},
		"by an expression":  {file(".husky/pre-commit", "pnpm run '/(build|test)/'\n"), "package.json", lint, "scripts/build.js", true},
		"in a substitution": {file(".husky/pre-commit", "out=$(npm run build)\n"), "package.json", lint, "scripts/build.js", true},
		"among others":      {file(".husky/pre-commit", "dotenv -- concurrently 'echo a' 'npx b' npm:build\n"), "package.json", lint, "scripts/build.js", true},
		"by two of a list":  {file(".husky/pre-commit", "run-s build lint\n"), "package.json", lint, "scripts/lint.js", true},
		"in a command":      {file(".husky/pre-commit", "concurrently \"npm run build\" \"yarn lint\"\n"), "package.json", lint, "scripts/lint.js", true},
		"another command":   {file(".husky/pre-commit", "npm run build && make lint\n"), "package.json", lint, "scripts/lint.js", false},
		"its argument":      {file(".husky/pre-commit", "npm run build lint\n"), "package.json", lint, "scripts/lint.js", false},
		"a message":         {file(".husky/pre-commit", "npm test || { echo 'no, see npm build'; exit 1; }\n"), "package.json", lint, "scripts/build.js", false},
		"any file":          {file(".husky/pre-commit", "npx prettier --check * lint\n"), "package.json", lint, "scripts/lint.js", false},
		"a task of VS Code": {file(".vscode/tasks.json", "{\"type\": \"npm\",\n\"script\": \"build\"}"), "package.json", lint, "scripts/build.js", false},
		"no runner":         {file(".husky/pre-commit", "make\nlint build\n"), "package.json", lint, "scripts/build.js", false},
		"of composer":       {file(".husky/pre-commit", "composer run lint\n"), "composer.json", `{"scripts":{"lint":["@php scripts/lint.php"]}}`, "scripts/lint.php", true},
		"lint-staged":       {hook, "package.json", `{"lint-staged":{"src/a.js":["node scripts/lint.js --fix"]}}`, "scripts/lint.js", true},
		"its patterns":      {hook, "package.json", `{"lint-staged":{"src/a.js":["node scripts/lint.js --fix"]}}`, "src/a.js", false},
		"simple-git-hooks":  {hook, "package.json", `{"simple-git-hooks":{"pre-commit":"node scripts/lint.js"}}`, "scripts/lint.js", true},
		"husky":             {hook, "package.json", `{"husky":{"hooks":{"pre-commit":"yarn build"}},"scripts":{"build":"node scripts/build.js"}}`, "scripts/build.js", true},
		"pre-commit":        {hook, "package.json", `{"pre-commit":["build"],"scripts":{"build":"node scripts/build.js"}}`, "scripts/build.js", true},
	} {
		var scripts Scripts
		scripts.Note(c.hook)
		found := map[int]Risk{}
		described, _ := CallerOf(c.name, []byte(c.content))
		if caller, ok := scripts.Started(described, []byte(c.content)); ok {
			found = Called([]string{c.path}, func(int) bool { return false }, slices.Values([]Caller{caller}))
		}
		if r, ok := found[0]; ok != c.called || ok && (r.Severity != High || r.Found != "named in "+c.name) {
			t.Errorf("%s: %v, %+v", name, ok, r)
		}
	}
	var scripts Scripts
	var text strings.Builder
	text.WriteString("run-s")
	for i := range maxScriptNames + 1 {
		fmt.Fprintf(&text, " x%d", i)
	}
	scripts.Note(Hook("your hook", []byte(text.String()), &Roots{}))
	described, _ := CallerOf("package.json", []byte(lint))
	if c, ok := scripts.Started(described, []byte(lint)); !ok || !strings.Contains(string(c.Text), "build.js") {
		t.Errorf("with too many names, not every script counts as named: %q", c.Text)
	}
}
