package main

// bodies are the controls of the bodies of requests to models.
func bodies() []control {
	const folder = "netguard/gateway/schema/"
	const rebuilt, complex = "TestBodyIsRebuiltFromItsListedParts TestWhatReachesBeyondTheModelIsRefusedOrLeftOut", "TestTooComplexJSONIsRejected"
	const headers = "TestHeadersAndParametersAreBoundedAndCountedAsSent"
	return []control{
		{name: "nothing follows a body", file: folder + "walk.go", text: `if _, err := w.dec.ReadToken(); !errors.Is(err, io.EOF) {`, off: `if _, err := w.dec.ReadToken(); false && !errors.Is(err, io.EOF) {`, tests: rebuilt + " " + complex},
		{name: "the depth of a body is bounded", file: folder + "walk.go", text: `if w.dec.StackDepth() > depthLimit {`, off: `if false {`, tests: complex},
		{name: "the members of an object are bounded", file: folder + "walk.go", text: `n > 2*memberLimit {`, off: `n < 0 {`, tests: complex},
		{name: "left out places are bounded", file: folder + "walk.go", text: `if len(w.leftOut) < leftOutLimit && `, off: `if `, tests: "TestTheListOfLeftOutPlacesIsBounded"},
		{name: "a JSON schema has no reference outside", file: folder + "rule.go", text: `!strings.HasPrefix(ref, "#") {`, off: `ref == "never" {`, tests: rebuilt},
		{name: "only listed kinds of parts", file: folder + "rule.go", text: "	if !known || tag == \"\" {\n", off: "	if !known {\n		return anything{}.apply(w)\n	}\n	if tag == \"\" {\n", tests: rebuilt},
		{name: "a list of only closed tools is refused", file: folder + "rule.go", text: `if kept == 0 && len(w.offers) > 0 {`, off: `if false {`, tests: rebuilt},
		{name: "a refused value is refused", file: folder + "rule.go", text: "	return false, refusal\n", off: "	return false, nil\n", tests: rebuilt},
		{name: "a closed server tool is refused", file: folder + "tool.go", text: "	if w.policy.opens(s.kind) {", off: "	if true {", tests: rebuilt},
		{name: "a server that runs each shell gets none", file: folder + "openai_responses.go", text: `if w.policy.HostsShells || ok && environment != "local" {`, off: `if ok && environment != "local" {`, tests: "TestAShellToolRunsWhereTheSettingsAllow"},
		{name: "copied parts of a body count", file: "netguard/gateway/admit.go", text: `if result.Copied < result.Size {`, off: `if false {`, tests: "TestCopiedPartsOfABodyCountTowardItsMemory"},
		{name: "an answer is asked for in a form that can be read", file: "netguard/gateway/route.go", text: `name == "alt" && values[0] != "sse" && values[0] != "json":`, off: `false:`, tests: "TestOnlyAnswersThatCanBeReadAreAskedFor"},
		{name: "an answer of another media type is not asked for", file: "netguard/gateway/route.go", text: `if name == "Accept" {`, off: `if false {`, tests: "TestOnlyAnswersThatCanBeReadAreAskedFor"},
		{name: "headers of a model request are bounded", file: "netguard/gateway/route.go", text: `case sizeOf(values) > valueLimit:`, off: `case false:`, tests: headers},
		{name: "parameters of a model request are bounded", file: "netguard/gateway/route.go", text: `case len(values[0]) > valueLimit, name`, off: `case name`, tests: headers},
		{name: "beta values of a model request are bounded", file: "netguard/gateway/beta.go", text: ` && size+len(one) <= betasLimit`, off: ` && size >= 0`, tests: headers},
		{name: "headers and parameters count as sent to the model", file: "netguard/gateway/admit.go", text: `head := c.head.size()`, off: `head := int64(0)`, tests: headers},
		{name: "a request without a body counts as sent to the model", file: "netguard/gateway/admit.go", text: `return g.countUpload(c, 0), nil`, off: `return nil, nil`, tests: headers},
		{name: "embeddings use the budgets", file: "netguard/gateway/call.go", text: `c.event.Generates || c.api().Embeds()`, off: `c.event.Generates`, tests: "TestEmbeddingsCountTowardTheLimits"},
		{name: "a chat is not stored", file: folder + "streaming.go", text: `if !w.policy.StoresChats {`, off: `if true {`, tests: "TestAChatIsNotStoredByAServerThatStoresByDefault"},
		{name: "a shell in a container is closed", file: folder + "openai_responses.go", text: `if w.policy.HostsShells || ok && environment != "local" {`, off: `if w.policy.HostsShells && ok && environment != "" {`, tests: rebuilt},
		{name: "a closed tool is left out", file: folder + "tool.go", text: "	if w.policy.opens(o.kind) {", off: "	if true {", tests: rebuilt},
		{name: "the history of a closed tool is left out", file: folder + "tool.go", text: "	if w.policy.opens(h.kind) {", off: "	if true {", tests: rebuilt},
		{name: "only listed members", file: folder + "object.go", text: "	if !ok {\n		_, err := w.leave()\n		return \"\", err\n	}", off: "	if !ok {\n		r = anything{}\n	}", tests: rebuilt},
		{name: "no member in two spellings", file: folder + "object.go", text: `if slices.Contains(passed, name) { // in two spellings`, off: `if false {`, tests: rebuilt},
		{name: "needed members are there", file: folder + "object.go", text: `if !slices.Contains(passed, name) {`, off: `if false {`, tests: rebuilt},
		{name: "forced members replace those of the agent", file: folder + "object.go", text: "	if _, ok := o.force[name]; ok {", off: "	if _, ok := o.force[name]; false && ok {", tests: rebuilt + " TestStreamedAnswerIsAskedForItsUsage"},
		{name: "a body is an object", file: folder + "schema.go", text: `if w.dec.PeekKind() != '{' {`, off: `if false {`, tests: rebuilt + " " + complex},
		{name: "a faster tier is noticed", file: folder + "surcharge.go", text: `if !slices.Contains(ordinary, name) {`, off: `if false && !slices.Contains(ordinary, name) {`, tests: "TestWhatCanCostMoreThanTheModelsPriceIsRead"},
		{name: "a second model is noticed", file: folder + "value.go", text: `if w.model != "" && w.model != name {`, off: `if false {`, tests: "TestWhatCanCostMoreThanTheModelsPriceIsRead"},
		{name: "an opened tool with a fee is noticed", file: folder + "tool.go", text: `		w.charge(o.kind)`, off: ``, tests: "TestOpenedToolsWithFeesAreRead"},
		{name: "an opened option with a fee is noticed", file: folder + "tool.go", text: `		w.charge(s.kind)`, off: ``, tests: "TestOpenedToolsWithFeesAreRead"},
		{name: "no tool with a fee with a limit of cost", file: "netguard/gateway/budget.go", text: `c.fee != 0 && !free {`, off: `free {`, tests: "TestAToolWithFeesIsRefusedWithALimitOfCost"},
		{name: "the limit of an answer counts its choices", file: folder + "outputlimit.go", text: `w.outputLimit * w.allChoices()`, off: `w.outputLimit`, tests: "TestTheLimitOfAnAnswersTokensIsRead"},
		{name: "each prompt of a list has an answer", file: folder + "outputlimit.go", text: `		w.prompts++`, off: ``, tests: "TestTheNumberOfPromptsIsRead TestTheLimitOfAnAnswersTokensIsRead"},
		{name: "pictures have tokens", file: folder + "value.go", text: `		w.mediaTokens += tokensOfPicture`, off: ``, tests: "TestPicturesAndDocumentsAreCounted"},
		{name: "pictures count in a reservation", file: "netguard/gateway/reservation.go", text: `mostUsed(size+c.mediaTokens, `, off: `mostUsed(size, `, tests: "TestAReservationHasTheTokensOfPictures"},
		{name: "pictures count in an estimate", file: "netguard/gateway/budget.go", text: `c.sent/bytesOfToken + c.mediaTokens`, off: `c.sent / bytesOfToken`, tests: "TestOutputOfARequestThatIsGivenUpIsEstimatedByItsTime"},
		{name: "all choices count in an estimate", file: "netguard/gateway/budget.go", text: `, longestOutput)*max(1, c.choices), `, off: `, longestOutput), `, tests: "TestOutputOfARequestThatIsGivenUpIsEstimatedByItsTime"},
		{name: "an answer in another form counts by its time", file: "netguard/gateway/budget.go", text: ` || c.event.Outcome == NoAnswer && !c.usage.Reported()`, off: ``, tests: "TestOutputOfAnAnswerInAnotherFormIsEstimatedByItsTime"},
	}
}

// modelServers are the controls about the servers of models and their keys.
func modelServers() []control {
	const folder = "netguard/gateway/modelserver/"
	const parse, trusted, connection = "TestInvalidInferenceValueIsExplained", "TestOwnersTrustedWithoutConfirmation", "TestEveryConnectionIsChecked TestAnotherUsersServerIsSkipped"
	return []control{
		{name: "the URL of a model server has no key", file: folder + "parse.go", text: `case root.User != nil:`, off: `case false:`, tests: parse},
		{name: "a model server is called by HTTP", file: folder + "parse.go", text: `case root.Scheme != "http" && root.Scheme != "https", `, off: `case `, tests: parse},
		{name: "an unknown owner is not trusted", file: folder + "owner.go", text: `case unknownOwner, overflowUID:`, off: "case unknownOwner, overflowUID:\n\t\treturn true\n\tcase -2:", tests: trusted},
		{name: "only system accounts are Ollama's", file: folder + "owner.go", text: ` && o.UID < firstUser`, off: ` && firstUser > 0`, tests: trusted},
		{name: "only Ollama's own account is trusted", file: folder + "owner.go", text: ` && o.Name == "ollama"`, off: ``, tests: trusted},
		{name: "a server of another user gets no prompt", file: folder + "owner.go", text: `if owner := ownerOf(conn, address); !u.admits(owner) {`, off: `if owner := ownerOf(conn, address); false && !u.admits(owner) {`, tests: connection},
		{name: "a confirmed owner is known", file: folder + "owner.go", text: `u.Admits != nil && owner.UID != unknownOwner && `, off: `u.Admits != nil && `, tests: trusted + " " + connection},
	}
}
