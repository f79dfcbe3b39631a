package risk

var pythonRules = []rule{
	{
		name: "python-build", title: "how a Python package is built and tested", severity: Medium,
		runs: "the build backend, plugins and dependencies that it names", when: "on pip install, uv sync, pytest, tox and the like; editors read it on their own", by: "pip, uv, Poetry, pytest and others",
		files: []string{
			"setup.py", "setup.cfg", "pyproject.toml", "pytest.ini", ".pytest.ini", "tox.ini", "tox.toml", "uv.toml", "pdm.toml", "poetry.toml", "hatch.toml", "hatch_build.py", "build.py", "_custom_build.py", "pixi.toml", "environment*.y*ml", "conda*.y*ml", "meta.yaml", "pip.conf", "pip.ini", ".pypirc", "pipfile", "manifest.in",
			"mypy.ini", ".mypy.ini", ".pylintrc", "pylintrc", ".flake8", ".coveragerc", ".isort.cfg", "ruff.toml", ".ruff.toml", "pycodestyle.cfg", ".style.yapf", "mkdocs.y*ml", "conf.py", "jupyter_*_config.py", ".jupyter/**", ".ipython/**", "ipython_config.py", "versioneer.py", "pavement.py", "buildout.cfg", "bento.info", "gunicorn.conf.py", ".pdm.toml", ".pyre_configuration", ".gitlint",
		},
	},
	{
		name: "python-startup", title: "Python code that runs without being called", severity: High,
		runs: "the file itself", when: "when Python or pytest starts in the folder", by: "Python, pytest",
		files: []string{"conftest.py", "sitecustomize.py", "usercustomize.py", "*.pth", ".pythonrc", ".pythonrc.py", ".pythonstartup", "pyvenv.cfg", "__pyvenv__*", "*._pth"},
		about: "a .pth only if it is a text or has a line that begins with import", look: startsPython,
	},
	{
		name: "python-requirements", title: "packages for Python to install", severity: Medium,
		runs: "the build scripts of the packages", when: "on pip install -r", by: "pip, uv",
		files: []string{"requirements*.txt", "requirements*.in", "requirements/**", "constraints*.txt", "*requirements.txt"},
	},
	{
		name: "pickle", title: "data that contains code", severity: Medium,
		runs: "the calls in it", when: "when the data is loaded", by: "Python (pickle, joblib, PyTorch), R, PHP",
		files: []string{"*.pkl", "*.pickle", "*.joblib", "*.dill", "*.pt", "*.pth.tar", "*.ckpt", "*.rds", "*.rdata", "*.phar", "*.mlmodel", "*.pth"},
		about: "a .pth only if it is no text and has no such line", look: pickled,
	},
}

var languageRules = []rule{
	{
		name: "go-build", title: "a Go module", severity: Medium,
		runs: "code of other modules (requires, replacements), another toolchain", when: "on any go command in the folder; editors run it on their own", by: "go",
		files: []string{"go.mod", "go.work"}, about: "added lines, and replacements, exclusions and toolchains that are taken away", look: goMod,
	},
	{
		name: "go-generate", title: "a command in a Go file", severity: Medium,
		runs: "the command after //go:generate", when: "on go generate", by: "go",
		files: []string{"*.go"}, about: "added //go:generate lines", look: goGenerate,
	},
	{
		name: "cgo", title: "C in a Go file", severity: Medium,
		runs: "the C compiler with the flags and the code in it", when: "on go build, go test or go vet; editors run it on their own", by: "go, the C compiler",
		files: []string{"*.go"}, about: "added #cgo lines, import \"C\" and //go:linkname", look: cgo,
	},
	{
		name: "cargo-build", title: "how Rust code is built", severity: Medium,
		runs: "build scripts and procedural macros, its own and those of its dependencies", when: "on cargo build, check or test; rust-analyzer runs it when the folder is opened", by: "Cargo, rust-analyzer",
		files: []string{"build.rs", "cargo.toml", "bindgen.toml", "cbindgen.toml", "clippy.toml", ".clippy.toml", "rustfmt.toml", "dylint.toml", "cross.toml", "trunk.toml", "tauri.conf.*", "nextest.toml"},
	},
	{
		name: "cargo-settings", title: "settings of Cargo", severity: High,
		runs: "another compiler, linker, runner or registry", when: "on any cargo command in the folder or below; rust-analyzer runs it when the folder is opened", by: "Cargo",
		files: []string{".cargo/**"},
	},
	{
		name: "ruby-build", title: "what a Ruby project runs", severity: Medium,
		runs: "the file itself, as Ruby", when: "on any bundle, gem or rspec command; editors run them on their own", by: "Bundler, RubyGems, RSpec, RuboCop",
		files: []string{"gemfile", "gems.rb", "*.gemspec", ".gemrc", ".rspec", ".rspec-local", ".irbrc", ".pryrc", ".rubocop*", ".simplecov", "berksfile", "brewfile", "podfile", ".yardopts", ".rdoc_options", ".standard.yml", "steepfile", ".byebugrc", "config/boot.rb", "config.ru", "puma.rb", "config/puma.rb"},
	},
	{
		name: "composer", title: "scripts and dependencies of a PHP package", severity: Medium,
		runs: "its scripts and the plugins among its dependencies", when: "on composer install or update", by: "Composer",
		files: []string{"composer.json"}, about: "changes of more than its description", look: composerJSON,
	},
	{
		name: "php-settings", title: "settings that PHP or a web server reads in the folder", severity: High,
		runs: "code that they name (auto_prepend_file, handlers)", when: "when a page of the folder is served, or a PHP tool starts", by: "PHP, Apache, IIS, PHPUnit and others",
		files: []string{".user.ini", "php.ini", ".htaccess", "web.config", "phpunit.xml*", ".php-cs-fixer*", ".php_cs*", "phpstan*.neon*", "psalm.xml*", "rector.php", "ecs.php", "phpcs.xml*", ".phpcs.xml*", "box.json*", "infection.json*", ".phan/**", "captainhook.json"},
	},
	{
		name: "jvm-build", title: "a build of Scala, Clojure or Kotlin", severity: Medium,
		runs: "the file itself, or plugins that it names", when: "on sbt, mill, lein, clojure and the like; editors import on their own", by: "sbt, Mill, Leiningen, Clojure and others",
		files: []string{"*.sbt", "project/*.scala", "project/build.properties", "project/plugins.sbt", ".sbtopts", ".sbtrc", "sbt", "build.sc", "build.mill", "*.mill", "millw", "mill", "project.clj", "profiles.clj", "deps.edn", "shadow-cljs.edn", "build.boot", "*.main.kts", ".scalafix.conf", "project.scala", "*.sc", "user.clj", "data_readers.clj*", ".lein-*", ".clj-kondo/**", "maven-metadata*.xml", "build.kts", "amper", "amper.bat", "module.yaml"},
	},
	{
		name: "dotnet-build", title: "a build of .NET or Visual Studio", severity: Medium,
		runs: "the tasks and targets in it, and packages that it names", when: "on dotnet or msbuild; editors load it when the folder is opened", by: "MSBuild, NuGet",
		files: []string{"*.csproj", "*.fsproj", "*.vbproj", "*.vcxproj", "*.proj", "*.shproj", "*.sqlproj", "*.esproj", "*.props", "*.targets", "*.tasks", "*.sln", "*.slnx", "*.user", "nuget.config", "*.rsp", "packages.config", "paket.dependencies", "paket.references", "dotnet-tools.json", "*.runsettings", "*.csx", "*.fsx", "*.tt", "*.ruleset", "*.globalconfig"},
	},
	{
		name: "swift-build", title: "a build of Swift or Xcode", severity: Medium,
		runs: "the manifest itself, build phases and plugins", when: "on swift build; Xcode loads it when the folder is opened", by: "Swift, Xcode, CocoaPods",
		files: []string{"package.swift", "package@*.swift", "*.pbxproj", "*.xcscheme", "*.xcconfig", "*.xcworkspacedata", "*.podspec", "cartfile*", "project.swift", "tuist/**", "*.xctestplan", ".swiftlint.y*ml", ".sourcery.yml", "xcodegen.yml", "mintfile", "podfile.local"},
	},
	{
		name: "elixir-build", title: "what an Elixir or Erlang project runs", severity: Medium,
		runs: "the file itself", when: "on any mix, rebar3 or iex command; editors run them on their own", by: "Mix, Rebar, IEx",
		files: []string{"mix.exs", ".iex.exs", ".formatter.exs", ".credo.exs", ".dialyzer_ignore.exs", "config/*.exs", "rebar.config", "rebar.config.script", "*.app.src.script", "erlang.mk", "emakefile", ".erlang", "gleam.toml"},
	},
	{
		name: "other-build", title: "what a build of another language runs", severity: Medium,
		runs: "the file itself, or hooks that it names", when: "when the project is built, tested or opened in an editor", by: "Cabal, Stack, Dune, Zig, Nim, Dart, Julia, R, Perl, Lua and others",
		files: []string{
			"setup.hs", "setup.lhs", "*.cabal", "stack*.y*ml", "cabal.project*", "hie.yaml", "dune", "dune-project", "dune-workspace", "*.opam", "opam", "jbuild", "esy.json", "build.zig", "build.zig.zon", "*.nimble", "nim.cfg", "*.nims", "config.nims", "pubspec.y*ml", "build.yaml", "analysis_options.yaml", "dart_test.yaml", "hook/build.dart",
			"deps/build.jl", "project.toml", "manifest.toml", "makefile.pl", "build.pl", "cpanfile", "dist.ini", "*.rockspec", "shard.yml", "dub.json", "dub.sdl", "*.asd", "alire.toml", "*.gpr", "fpm.toml", "v.mod", "haxelib.json", "*.hxml", "*.hxp", "spago.*", "packages.dhall", "elm.json", "*.ipkg", "lakefile.*", "_coqproject", "leiningen*", "move.toml", "foundry.toml", "scarb.toml", "anchor.toml", "info.rkt", "platformio.ini", "sdkconfig*", "west.yml", "*.ino", "book.toml", "hugo.*", "_config.yml", "buf.gen.y*ml", "sqlc.y*ml", "codegen.y*ml", "description", "doxyfile*", ".golangci.y*ml", ".golangci.toml", ".golangci.json", ".custom-gcl.y*ml", ".lintr",
		},
	},
	{
		name: "interpreter-startup", title: "what an interpreter runs when it starts in the folder", severity: High,
		runs: "the file itself", when: "when the interpreter starts in the folder", by: "GHCi, OCaml, R, Octave, Julia, latexmk and others",
		files: []string{".ghci", ".ghci.*", ".ocamlinit", ".rprofile", ".rprofile.site", "rprofile.site", ".renviron", "octaverc", ".octaverc", "startup.m", "startup.jl", ".latexmkrc", "latexmkrc", ".perldb", ".perltidyrc", ".perlcriticrc", ".luarc", ".luacheckrc", ".busted", ".sqliterc", ".psqlrc", ".mongorc.js", ".my.cnf", ".utoprc", ".sbclrc", ".guile", ".clisprc", ".gnuplot", ".maxima"},
	},
}
