package risk

var editorRules = []rule{
	{
		name: "vscode-tasks", title: "tasks of VS Code", severity: High,
		runs: "the commands in it", when: "when the folder is opened (runOn folderOpen), or a task is started", by: "VS Code and its forks",
		files: []string{".vscode/tasks.json"},
	},
	{
		name: "vscode-settings", title: "settings of VS Code", severity: High,
		runs: "programs that settings name: interpreters, linters, formatters, terminals, git", when: "when the folder is opened", by: "VS Code, its forks and their extensions",
		files: []string{".vscode/settings.json", "*.code-workspace", ".vscode/mcp.json", ".vscode/sftp.json", ".vscode/*.code-snippets"},
	},
	{
		name: "vscode-launch", title: "launch configurations of VS Code", severity: Medium,
		runs: "the programs and preLaunchTasks in it", when: "when debugging starts", by: "VS Code and its forks",
		files: []string{".vscode/launch.json", ".vscode/c_cpp_properties.json", ".vscode/cmake-kits.json"},
	},
	{
		name: "vscode-extensions", title: "extensions that VS Code recommends", severity: Medium,
		runs: "the code of the extensions", when: "when the user follows the recommendation", by: "VS Code and its forks",
		files: []string{".vscode/extensions.json", ".vscode/extensions/**"},
	},
	{
		name: "jetbrains", title: "settings of a JetBrains editor", severity: High,
		runs: "run configurations, file watchers, external tools and startup tasks", when: "when the project is opened or run", by: "IntelliJ, PyCharm, GoLand and the others",
		files: []string{".idea/**", ".run/**", "*.run.xml", "*.iml", "*.ipr", "*.iws", ".fleet/**"},
	},
	{
		name: "vim-settings", title: "settings that vi, Vim or Neovim read in the folder", severity: High,
		runs: "the commands in it", when: "when the editor starts in the folder (exrc, project plugins)", by: "vi, Vim, Neovim",
		files: []string{
			".vimrc", ".gvimrc", "_vimrc", ".exrc", "_exrc", ".nvimrc", ".nvim.lua", ".lvimrc", ".local.vimrc", ".vimrc.local", ".vim/**", ".nvim/**", ".projections.json",
			".vimspector.json", ".neoconf.json", ".nlsp-settings/**", ".lazy.lua", "coc-settings.json",
		},
	},
	{
		name: "vim-modeline", title: "a modeline with an expression", severity: High,
		runs: "the expression", when: "when the file is opened", by: "Vim, if modelineexpr is set or it has an unpatched flaw",
		about: "files whose first or last five lines hold a modeline that sets an expression", look: modeline,
	},
	{
		name: "emacs-settings", title: "settings that Emacs reads in the folder", severity: High,
		runs: "eval forms and risky variables", when: "when a file of the folder is opened", by: "Emacs",
		files: []string{".dir-locals.el", ".dir-locals-2.el", ".projectile", ".emacs", ".emacs.d/**", "cask", "eask", "eldev", ".ycm_extra_conf.py", ".tern-project"},
	},
	{
		name: "emacs-local-variables", title: "file variables that evaluate Lisp", severity: High,
		runs: "the Lisp after eval:", when: "when the file is opened", by: "Emacs", about: "files with an eval: among their file variables", look: emacsEval,
	},
	{
		name: "other-editors", title: "settings of an editor or of a language server", severity: High,
		runs: "builders, tasks, formatters, preprocessors and language servers that it names", when: "when the folder is opened", by: "Zed, Helix, Sublime Text, Eclipse, Visual Studio, Kakoune, Nova, Kate, clangd, Merlin, ctags and others",
		files: []string{
			".zed/**", ".helix/**", "*.sublime-project", "*.sublime-build", "*.sublime-settings", ".project", ".externaltoolbuilders/**", ".settings/**", ".classpath", ".vs/**", "*.suo",
			".nova/**", ".theia/**", ".kakrc", ".kak/**", ".clangd", "compile_commands.json", "compile_flags.txt", ".ccls", ".luarc.json*", ".solargraph.yml", ".rust-analyzer.toml", "rust-analyzer.toml", "rust-project.json",
			".nbproject/**", "nbproject/**", ".lsp.json", "pyrightconfig.json", ".pylspclient", ".ensime", ".metals/**", ".bloop/**", ".bsp/**", "*.workspace.json", ".lite_project*", ".merlin", ".ctags", ".ctags.d/**", ".kateproject*",
		},
	},
	{
		name: "debugger-settings", title: "commands for a debugger", severity: High,
		runs: "the commands in it", when: "when the debugger or the interpreter starts in the folder", by: "gdb, lldb, pdb, radare2",
		files: []string{".gdbinit", "gdbinit", ".gdbearlyinit", ".lldbinit", "*-gdb.gdb", "*-gdb.py", "*-gdb.scm", ".pdbrc", ".radare2rc", ".cgdbrc", ".rr/**"},
	},
}
