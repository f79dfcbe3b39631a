package main

// mounts are the controls about the user's folders and files that a sandbox reads.
func mounts() []control {
	const source, keys = "session/mount/source.go", "TestNoSandboxSeesKeysOrFoldersOfAibox"
	const supervisor, run, probe = "session/supervisor/sandboxspec.go", "app/run/plan.go", "internal/probe/run.go"
	const foreign = "TestNothingOfTheUserIsReadForASessionOfAnotherTenant"
	return []control{
		{name: "no mount inside a protected folder", file: source, text: `case within(found, name):`, off: `case false && within(found, name):`, tests: keys},
		{name: "no mount of a folder with a protected one", file: source, text: `case within(name, found):`, off: `case false && within(name, found):`, tests: keys},
		{name: "no mount by a link to a protected folder", file: source, text: `return found, check(dirs, found, info)`, off: `return found, check(dirs, name, info)`, tests: keys},
		{name: "no mount of the repository", file: "session/mount/mount.go", text: `err := checkRepository(m.Source, repository); err != nil`, off: `err := checkRepository(m.Source, repository); false`, tests: "TestTheRepositoryIsNotMounted"},
		{name: "no mount at a path of the agent", file: "session/mount/mount.go", text: `if Overlap(target, folder) {`, off: `if false {`, tests: "TestWhatIsNoMountIsRefusedWithTheReason"},
		{name: "no mount for another tenant", file: supervisor, text: `len(spec.Mount) > 0 && `, off: `false && `, tests: "TestOnlyTheUsersOwnSessionsHaveMounts"},
		{name: "mounts are read-only", file: supervisor, text: `Target: m.Target, ReadOnly: true}`, off: `Target: m.Target}`, tests: "TestOnlyTheUsersOwnSessionsHaveMounts"},
		{name: "no look at the user's mounts for another tenant", file: run, text: `		launched.Mount = nil`, off: ``, tests: foreign},
		{name: "a mount that can be changed fails its probe", file: probe, text: `return askWrite(p.Target)`, off: `return "", syscall.EROFS`, tests: "TestAMountThatCanBeChangedFailsItsProbe"},
	}
}

// readOnlyFiles are the controls about the files that an agent's work must not change.
func readOnlyFiles() []control {
	const readOnly, scan, change = "workspace/readonly.go", "review/scan/collector.go", "TestNoChangeOfAReadOnlyFileIsInAChangeSet"
	const copied = "TestAThrowawayCopyHasReadOnlyFilesAsTheyWere"
	return []control{
		{name: "no change of a read-only file", file: scan, text: `out.changed && c.walk.readOnly.Has(cand.path)`, off: `false`, tests: change},
		{name: "no deletion of a read-only file", file: "review/scan/walk.go", text: `!there && w.readOnly.Has(path)`, off: `!there && path == ""`, tests: change},
		{name: "a verification has no file in the place of a read-only one", file: "workspace/duplicate.go", text: `if d.readOnly.covers(path, kind == unix.S_IFDIR) {`, off: `if false {`, tests: copied},
		{name: "a verification has the read-only files", file: "workspace/throwaway.go", text: `req.readOnly == nil || gone {`, off: `true {`, tests: copied},
		{name: "a filtered read-only file is that of the start", file: "workspace/unfiltered.go", text: `string(hash.Sum(nil)) == u.raw[e.Path]`, off: `true`, tests: "TestAThrowawayCopyHasFilteredReadOnlyFilesAsTheyWereOnDisk"},
		{name: "nothing in the place of a folder above a read-only file", file: readOnly, text: `r.above[path] || `, off: ``, tests: "TestAReadOnlyPathIsAlsoWhatCouldReplaceAReadOnlyFile"},
		{name: "no link in the place of a read-only folder", file: readOnly, text: ` || !r.plain[path] && r.list.Match(path, true) {`, off: ` {`, tests: "TestAReadOnlyPathIsAlsoWhatCouldReplaceAReadOnlyFile"},
	}
}

// repositoryNames are the controls about names in a repository that lead out of the workspace.
func repositoryNames() []control {
	const outside = "TestNoNameInARepositoryLeadsOutOfTheWorkspace"
	return []control{
		{name: "no private key of the history", file: "workspace/visiblehistory.go", text: `v.keys[id] = isPrivateKey(content)`, off: `v.keys[id] = false && isPrivateKey(content)`, tests: "TestAPrivateKeyThatWasRemovedIsNotInTheHistory"},
		{name: "no name that git never checks out", file: "workspace/names.go", text: `strings.SplitSeq(e.Path, "/")`, off: `strings.SplitSeq("x", "/")`, tests: outside},
		{name: "no name that could be taken for .git", file: "workspace/names.go", text: `if likeDotGit(e.Path) {`, off: `if false {`, tests: outside},
		{name: "no symlink in the place of .gitmodules", file: "workspace/names.go", text: `path.Base(e.Path)`, off: `path.Base(e.Path)+"x"`, tests: outside},
		{name: "no folder in a sandbox is given to a user through a symlink", file: "cmd/aibox-init/account.go", text: `info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf(`, off: `false {
			return fmt.Errorf(`, tests: "TestNoFolderIsGivenToAUserThroughALink"},
		{name: "no folder is made through a symlink", file: "workspace/copy.go", text: `above, err := openDir(root, folderOf(dir))`, off: `above, err := unix.Openat(root, folderOf(dir), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)`, tests: outside},
	}
}

// sandboxUsers are the controls about the user of a sandbox for processes and files.
func sandboxUsers() []control {
	const asAnother = "TestNoRequestAsAnotherUserReachesTheSandboxWithoutThePermissionRoot"
	return []control{
		{name: "no user that the permissions do not allow", file: "session/supervisor/idle.go", text: `case !spec.Permissions.Root:`, off: `case false:`, tests: asAnother},
		{name: "no process as another user", file: "session/supervisor/processes.go", text: `	request.User = user`, off: `	_ = user`, tests: asAnother},
		{name: "no file as another user", file: "session/supervisor/files.go", text: `userOf(s.launch.Spec.Sandbox, user)`, off: `userOf(nil, user)`, tests: asAnother},
	}
}

// filters are the controls about the user's git filters, which read files of the agent.
func filters() []control {
	return []control{
		{name: "filters start where no file of the agent is", file: "review/branch/clean_filter.go", text: `settings[setting] = enterFolder + program`, off: `settings[setting] = program`, tests: "TestAFilterRunsNoProgramOfTheAgent"},
	}
}

// hiddenFiles are the controls about files of the user's that an agent must not see.
func hiddenFiles() []control {
	const search, renamed = "workspace/hiddenhistory.go", "TestAHiddenFileOfTheHistoryStaysHiddenWhateverItWasRenamedTo"
	return []control{
		{name: "a hidden file of the history is found", file: search, text: `if s.hide.list.Entry(path, e.folder) {`, off: `if false {`, tests: renamed},
		{name: "the content of a hidden file stays out under another name", file: "workspace/visiblehistory.go", text: `, !e.folder && v.secret[e.id()] && !v.shown[e.id()]:`, off: `:`, tests: renamed},
	}
}
