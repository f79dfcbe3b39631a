package risk

var buildRules = []rule{
	{
		name: "make", title: "a makefile", severity: Medium,
		runs: "its recipes, and $(shell …) even without a target", when: "on make; some editors and shells ask make for its targets by themselves", by: "make",
		files: []string{"makefile", "makefile.*", "gnumakefile", "bsdmakefile", "*.mk", "*.mak", "*.make", "kbuild", "kconfig"},
	},
	{
		name: "task-runner", title: "tasks of a task runner", severity: Medium,
		runs: "the commands in it", when: "on just, task, rake, mage, invoke and the like", by: "the task runner",
		files: []string{
			"justfile", ".justfile", "*.just", "taskfile*", "rakefile", "rakefile.rb", ".rake", "*.rake", "magefile.go", "magefiles/**", "tasks.py", "fabfile.py", "dodo.py", "noxfile.py", "maskfile.md", "runfile", "runfile.*", "earthfile",
			"bb.edn", "jakefile*", "cakefile", "gulpfile*", "gruntfile*", "makefile.toml", "xtask/**", "bakefile*", "build.cake", "*.cake", "build.fsx", ".nuke/**", "thorfile", "capfile", "fastfile", "fastlane/**", "dangerfile*", "guardfile", "sakefile", "robofile.php", "deployer.php", "deploy.php", "build.ps1", "build.cmd", "build.bat", "psakefile.ps1", "*.build.ps1", "turbo.json", "nx.json", "project.json", "wireit.json", "moon.y*ml", "lage.config.js", "snakefile", "*.smk", "dvc.y*ml", ".arcconfig", ".arclint", ".arcunit", ".reviewboardrc", "_quarto.y*ml", ".lintrunner.toml",
		},
	},
	{
		name: "configure", title: "a configure script, or what generates it", severity: Medium,
		runs: "the file itself", when: "when a build is configured", by: "the shell, Autoconf",
		files: []string{"configure", "configure.ac", "configure.in", "autogen.sh", "autogen.pl", "bootstrap", "bootstrap.sh", "*.m4", "*.ac", "config.guess", "config.sub", "install-sh", "ltmain.sh", "build.sh", "install.sh", "setup.sh"},
	},
	{
		name: "cmake", title: "a build by CMake or Meson", severity: Medium,
		runs: "the commands in it, even when it is only configured", when: "on cmake or meson; editors configure on their own when the folder is opened", by: "CMake, Meson, Ninja, SCons, Waf, xmake, Premake",
		files: []string{
			"cmakelists.txt", "*.cmake", "*.cmake.in", "cmakepresets.json", "cmakeuserpresets.json", "ctestconfig.cmake", "meson.build", "meson_options.txt", "meson.options", "*.wrap", "build.ninja", "*.ninja", "sconstruct", "sconscript", "wscript", "waf", "xmake.lua", "premake*.lua",
			"jamfile*", "jamroot*", "tupfile*", "*.pro", "*.pri", "*.qbs", "conanfile.*", "vcpkg*.json", "portfile.cmake", "*.gyp", "*.gypi", "gn.build", "build.gn", "*.gni", ".gn", "*.do",
		},
	},
	{
		name: "bazel", title: "a build by Bazel, Buck or Pants", severity: Medium,
		runs: "its rules, and tools/bazel in place of Bazel itself", when: "on bazel; editors run it on their own", by: "Bazel, Bazelisk, Buck, Pants, Please",
		files: []string{".bazelrc", "*.bazelrc", ".bazeliskrc", "workspace", "workspace.bazel", "workspace.bzlmod", "module.bazel", "build", "build.bazel", "*.bzl", "*.bazel", "tools/bazel", "tools/bazel.*", "buck", ".buckconfig*", "buck2", "targets", "pants.toml", ".pants.rc", "build.pants", "build.plz", ".plzconfig*", "pleasew", "*.bxl"},
	},
	{
		name: "gradle", title: "a build by Gradle", severity: Medium,
		runs: "the script, even when it is only configured; gradlew and its jar before anything is checked", when: "on gradle or gradlew; editors import on their own when the folder is opened", by: "Gradle, the shell, the JVM",
		files: []string{"*.gradle", "*.gradle.kts", "*.gradle.dcl", "gradle.properties", "gradlew", "gradlew.bat", "gradle/**", "buildsrc/**", "build-logic/**", "local.properties", "init.gradle*"},
	},
	{
		name: "maven", title: "a build by Maven or Ant", severity: Medium,
		runs: "plugins and extensions that it names; mvnw before anything is checked", when: "on mvn, mvnw or ant; editors import on their own when the folder is opened", by: "Maven, Ant, the shell, the JVM",
		files: []string{"pom.xml", "pom.*", "mvnw", "mvnw.*", ".mvn/**", "build.xml", "ivy.xml", "ivysettings.xml", ".mavenrc", "mvnd*", ".jvmopts", ".java_opts"},
	},
}

var scriptRules = []rule{
	{
		name: "npm-scripts", title: "scripts and dependencies of a JavaScript package", severity: Medium,
		runs: "its scripts, and the install scripts of its dependencies", when: "on npm install or npm run", by: "npm, pnpm, Yarn, Bun",
		files: []string{"package.json", "package.json5", "package.y*ml"}, about: "changes of more than its description", look: packageJSON,
	},
	{
		name: "npm-settings", title: "settings of a JavaScript package manager", severity: High,
		runs: "another registry, shell or program, and hooks of installs", when: "on npm, pnpm, yarn or bun, whatever the command", by: "npm, pnpm, Yarn, Bun",
		files: []string{".npmrc", ".yarnrc", ".yarnrc.y*ml", ".yarn/**", ".pnpmfile.*", "pnpmfile.*", "pnpm-workspace.y*ml", "bunfig.toml", ".bunfig.toml", ".pnp.*", ".pnpm-*", "rush.json", "common/config/rush/**", ".meteor/**", ".bowerrc", "bower.json", ".noderc", "node.config.json"},
	},
	{
		name: "deno-tasks", title: "tasks and imports of Deno", severity: Medium,
		runs: "its tasks, and code from the addresses it imports", when: "on deno task, run or test; editors run it on their own", by: "Deno",
		files: []string{"deno.json", "deno.jsonc", "jsr.json*", "import_map.json", "import-map.json"},
	},
	{
		name: "js-tool-settings", title: "settings of a JavaScript tool that are code", severity: Medium,
		runs: "the file itself, or plugins that it names", when: "when the tool or its editor extension starts", by: "ESLint, Prettier, Babel, Vite, webpack, Jest and others",
		files: []string{
			"*.config.js", "*.config.cjs", "*.config.mjs", "*.config.ts", "*.config.cts", "*.config.mts", "*.config.jsx", "*.config.tsx", "*.conf.js", "*.conf.ts", "*.conf.cjs", ".eslintrc*", ".prettierrc*", ".babelrc*", ".stylelintrc*", ".mocharc*", ".swcrc", ".postcssrc*", ".nycrc*", ".remarkrc*", ".textlintrc*",
			".markdownlint-cli2.*", ".cspell*", ".htmlhintrc", ".xo-config*", "tsconfig*.json", "jsconfig.json", ".parcelrc", ".percy.*", ".storybook/**", "webpack.*.js", "rollup.*.js", "wallaby.*", "angular.json", "ember-cli-build.js", ".ember-cli", "vue.config.*", "metro.config.*", "biome.json*", "esbuild.*", "setupfiles/**", "jest.setup.*", "vitest.setup.*", "vitest.workspace.*", ".dependency-cruiser.*", "plopfile.*", "hardhat.config.*", "truffle*.js", "gatsby-*.js", "gatsby-*.ts", ".graphqlrc*", ".ncurc*", "babel.config.json", ".taprc", ".vscode-test.*", ".vitepress/**", ".sequelizerc", "knexfile.*",
		},
	},
	{
		name: "node-gyp", title: "a native build inside an npm package", severity: High,
		runs: "the commands in it, even without a script", when: "on npm install", by: "npm, through node-gyp",
		files: []string{"binding.gyp"},
	},
	{
		name: "installed-packages", title: "code in place of installed packages", severity: High,
		runs: "the file, in place of a package's own", when: "when the package is used", by: "Node.js, Python, Ruby, PHP, Go",
		files: []string{"node_modules/**", "bower_components/**", "site-packages/**", "dist-packages/**", ".venv/**", "venv/**", "vendor/**", ".bundle/**", "__pycache__/**", "__pypackages__/**", "third_party/go/**", "pods/**", "carthage/**", ".pnpm-store/**"},
	},
}
