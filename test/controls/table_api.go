package main

// tenants are the controls that keep a tenant of the API from taking what others need.
func tenants() []control {
	const starts = "app/sandbox/starts.go"
	const starting = "TestATenantDoesNotWaitForTheStartsOfAnother"
	const messages = "TestTheMessagesOfATenantTakeABoundedAmountOfMemory"
	const packages, information = "TestMessagesOfThePackagesTakeFromTheBudgetOfTheTenant", "TestMessagesToHealthAndReflectionAreBounded"
	return []control{
		{name: "what has arrived of messages is limited", file: "api/server/body.go", text: `full != nil`, off: `false && full != nil`, tests: messages},
		{name: "compressed messages are limited", file: "api/server/interceptor.go", text: `requestOf(ctx).messages().ReserveAll(int64(proto.Size(message)))`, off: `error(nil)`, tests: messages},
		{name: "compressed messages of streams are limited", file: "api/server/interceptor.go", text: `f.messages.ReserveAll(int64(proto.Size(m)))`, off: `error(nil)`, tests: messages},
		{name: "compressed messages of the packages named e2b are limited", file: "api/server/strict.go", text: `requestOf(ctx).messages().ReserveAll(int64(proto.Size(message)))`, off: `error(nil)`, tests: packages, in: "api/e2b"},
		{name: "messages of the packages named e2b are limited", file: "api/server/route.go", text: `s.limitMessages(collects, r, caller.Tenant)`, off: `s.limitMessages(false, r, caller.Tenant)`, tests: packages, in: "api/e2b"},
		{name: "commands over a WebSocket are limited", file: "api/server/socket.go", text: `m.full != nil {`, off: `false {`, tests: "TestCommandsOverAWebSocketTakeFromTheMessagesOfTheirTenant"},
		{name: "a connection that does nothing makes room", file: "api/server/limitlistener.go", text: `if longest != nil {`, off: `if false {`, tests: "TestAConnectionTakesThePlaceOfOneWithoutARequest"},
		{name: "a body of nobody has a limited time", file: "api/server/route.go", text: `if route.Public && !route.Upload {`, off: `if false {`, tests: "TestABodyOfSomebodyUnknownHasALimitedTime"},
		{name: "the rest of a body to a port has little time", file: "api/server/listen.go", text: `if r.ProtoMajor == 1 && r.Body != http.NoBody &&`, off: `if false && r.ProtoMajor == 1 &&`, tests: "TestARequestToAPortWhoseBodyDoesNotArriveIsCutOff"},
		{name: "a body to a port pauses little after its program has ended", file: "api/forward/body.go", text: `if b.limited && !b.ended && b.stall > 0 {`, off: `if false {`, tests: "TestARequestWhoseBodyDoesNotArriveEndsWithItsProgramAndItsRight"},
		{name: "no answer of a port directs a reverse proxy", file: "api/forward/modify.go", text: `	dropForProxies(header)`, off: ``, tests: "TestSandboxCannotDirectAProxyInFrontOfTheServer"},
		{name: "a body to a port ends with its caller's right", file: "api/forward/body.go", text: `_ = b.control.SetReadDeadline(time.Unix(1, 0))`, off: `_ = b.control`, tests: "TestARequestWhoseBodyDoesNotArriveEndsWithItsProgramAndItsRight"},
		{name: "a sandbox of MCP is at most as free as the user's settings", file: "api/wiring/mcp.go", text: `return s.checkSandbox(ctx, policy.Tenant, template, given)`, off: `return nil`, tests: "TestASandboxOfMCPIsAtMostAsFreeAsTheUsersSettingsOrTheTenantsDefaults"},
		{name: "a template of a tenant counts over MCP", file: "api/wiring/mcp.go", text: `if tenant != session.LocalTenant {`, off: `if false {`, tests: "TestASandboxOfMCPIsAtMostAsFreeAsTheUsersSettingsOrTheTenantsDefaults"},
		{name: "agents of MCP work only on given repositories", file: "api/wiring/mcp.go", text: `policy.AcceptRisks = false, false, false`, off: `policy.AcceptRisks = true, false, false`, tests: "TestAgentsOfMCPWorkOnlyOnTheRepositoriesThatTheUserHasGiven"},
		{name: "headers in a form are limited", file: "api/e2b/files.go", text: `f.body.N = maxPartHeader`, off: `f.body.N = math.MaxInt64`, tests: "TestAFormIsReadToItsLastBoundaryAndKeepsLittleInMemory"},
		{name: "messages to health are limited", file: "api/server/server.go", text: `NewStaticChecker(s.services...), small)`, off: `NewStaticChecker(s.services...))`, tests: information},
		{name: "messages to reflection are limited", file: "api/server/server.go", text: `NewHandlerV1(reflector, small)`, off: `NewHandlerV1(reflector)`, tests: information},
		{name: "answers that read are limited", file: "api/server/interceptor.go", text: `budget.ReserveAll(ctx, int64(proto.Size(answer)))`, off: `budget.ReserveAll(ctx, 0*int64(proto.Size(answer)))`, tests: "TestAnswersThatReadTakeFromTheBudgetOfTheTenant"},
		{name: "lists of directories are limited", file: "api/e2b/filesystem.go", text: `budget.Reserve(ctx, 2*int64(proto.Size(page.Msg)))`, off: `budget.Reserve(ctx, 0*int64(proto.Size(page.Msg)))`, tests: "TestAListOfADirectoryTakesFromTheBudgetOfTheTenant"},
		{name: "an agent's network needs its right", file: "api/sessions/sessions.go", text: `setting.ChoosesNetwork(r.Msg.GetNetwork(), request.Settings) || `, off: ``, tests: "TestATreeIsUploadedInPieces"},
		{name: "an agent's models need the right network", file: "api/sessions/sessions.go", text: ` || setting.AgentChoosesNetwork(h.Agents, request.Agent, request.Options)`, off: ``, tests: "TestATreeIsUploadedInPieces"},
		{name: "a log is for the tenant of its session", file: "api/server/auditlogs.go", text: `found.Owner() != caller.Tenant`, off: `false && found.Owner() != caller.Tenant`, tests: "TestALogIsReadOnlyByTheTenantOfItsSession"},
		{name: "recorded failures are limited", file: "api/server/failures.go", text: `ok := count.recorded < maxFailures`, off: `ok := true`, tests: "TestFailuresDoNotFillTheRecord"},
		{name: "the command of a process is limited", file: "session/process/process.go", text: `case size > maxCommand:`, off: `case false:`, tests: "TestLongCommandsFillNoListOfProcesses", in: "session/supervisor"},
		{name: "a tenant sees no path of the machine", file: "api/server/errors.go", text: `found == failEnvironment && auth.From(ctx).Tenant != session.LocalTenant`, off: `false`, tests: "TestNoAnswerHasAStackOrAnInternalError"},
		{name: "a deletion that fails names no path of the machine", file: "app/agentsession/service.go", text: `if s.Policy.Tenant != session.LocalTenant && errors.Is(err, manager.ErrUnsaved) {`, off: `if false && errors.Is(err, manager.ErrUnsaved) {`, tests: "TestADeletionThatCannotSaveTheWorkNamesNoPathOfTheHost"},
		{name: "a tenant starts only some sandboxes at once", file: starts, text: `of < t.own && `, off: ``, tests: starting},
		{name: "a signed URL is for its user", file: "api/e2b/inside.go", text: `if user != signed.user {`, off: `if false {`, tests: "TestASignedURLOpensOneFileInOneWayUntilItExpires"},
		{name: "a caller with many tokens ends no signed URLs of others", file: "api/e2b/token.go", text: `len(own) > len(t.of[most])`, off: `len(own) < len(t.of[most])`, tests: "TestACallerWithManyTokensEndsNoURLsOfOthers"},
		{name: "the next start is that of the tenant with the fewest", file: starts, text: `of < t.of[t.waiting[best].tenant]`, off: `false`, tests: starting},
		{name: "a tenant's agent gets no texts of the user's options", file: "app/agentsession/start.go", text: `if !isGiven && isUsersText(own.Field) &&`, off: `if false && !isGiven && isUsersText(own.Field) &&`, tests: "TestATenantsAgentGetsNoTextsOfTheUsersOptions"},
		{name: "a tenant's options are at most as free as the user's", file: "app/agentsession/start.go", text: `if isEmptied || own.Field.Tightens(own.Value, next) != nil {`, off: `if false && isEmptied {`, tests: "TestATenantsOptionsAreAtMostAsFreeAsThoseThatTheUserHasSet"},
		{name: "new lists keep what the machine's user has denied", file: "session/supervisor/setpolicy.go", text: `slices.Concat(deniedLater(rules.Deny), deny)`, off: `deny`, tests: "TestNewListsKeepWhatTheUserOfTheMachineHasDenied"},
		{name: "a preset adds nothing to a list that replaced its own", file: "session/supervisor/presets.go", text: `if !slices.Contains(p.presets, r.Preset) {`, off: `if false && !slices.Contains(p.presets, r.Preset) {`, tests: "TestAPresetAddsNothingToAnAllowListThatReplacedItsOwnDuringTheStart"},
	}
}
