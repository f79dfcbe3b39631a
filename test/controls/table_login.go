package main

// logins are the controls about the keys of the user's accounts at agents' vendors.
func logins() []control {
	const stored, of = "app/run/login.go", "app/login/login.go"
	const only, read = "TestARunInTheVendorsCloudGetsTheStoredKeyAndNoOtherRunDoes", "TestALoginWhoseKeyCannotBeReadStartsNothingAndRepeatsNoKey"
	return []control{
		{name: "only a run in the vendor's cloud gets a login", file: stored, text: `if !info.UsesCloud(launch.Spec.Inference) || !info.HasLogin() {`, off: `if !info.HasLogin() {`, tests: only},
		{name: "a run's own variable overrides the login", file: stored, text: `if slices.Contains(launch.Spec.Env, info.Account.Variable) || `, off: `if `, tests: only},
		{name: "a stored key is checked", file: stored, text: `if err := CheckLoginKey(key); err != nil {`, off: `if err := CheckLoginKey(key); false && err != nil {`, tests: read},
		{name: "the key of a login is only in its agent's sandbox", file: stored, text: `p.Launch.Login = p.Login.Account.Variable + "=" + key.Reveal()`, off: `p.Launch.Env = append(p.Launch.Env, p.Login.Account.Variable+"="+key.Reveal())`, tests: only},
		{name: "a key file is only the user's", file: "internal/secretsource/file.go", text: `case info.Mode&0o077 != 0:`, off: `case false:`, in: "app/run", tests: read},
		{name: "the supervisor gives a login to no other agent", file: "session/supervisor/sandbox.go", text: `if s.launch.Login == "" || !res.agent.Info().UsesCloud(s.launch.Spec.Inference) {`, off: `if s.launch.Login == "" {`, tests: "TestOnlyAnAgentInItsVendorsCloudGetsTheKeyOfALogin"},
		{name: "no other tenant gets a login", file: "app/agentsession/start.go", text: ` || plan.Login != nil || plan.Launch.Login != "" || `, off: ` || `, tests: "TestAPlanOfAnotherTenantHasNothingOfTheUser"},
		{name: "no sandbox of an agent gets a login", file: "app/sandbox/child/bound.go", text: ` || l.Login != "":`, off: `:`, tests: "TestASandboxThatExceedsItsSessionIsRefused"},
		{name: "agents without a login have no settings of one", file: "config/agentpolicy.go", text: `return !agent.Login && (key == keyFile || key == keyCommand) || slices.`, off: `return slices.`, tests: "TestALoginComesFromTheUsersSettingsOnly"},
		{name: "a key is stored in a file of mode 0600", file: of, text: `err = paths.WriteFile(file, []byte(key.Reveal()+"\n"))`, off: `err = os.WriteFile(file, []byte(key.Reveal()+"\n"), 0o644)`, tests: "TestALoginStoresTheKeyInAPrivateFileAndAcceptsTheHosts"},
		{name: "a login that fails leaves no key", file: of, text: "		undo()\n", off: "		_ = undo\n", tests: "TestALoginThatCannotBeWrittenLeavesNoKey"},
		{name: "a terminal shows no key", file: "cli/readsecret.go", text: `hidden.Lflag &^= unix.ECHO`, off: `hidden.Lflag &^= 0`, tests: "TestASecretIsReadFromATerminalWithoutEcho"},
	}
}
