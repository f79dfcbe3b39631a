package main

// tenants are the controls that keep a tenant of the API from taking what others need.
func tenants() []control {
	const starts = "app/sandbox/starts.go"
	const starting = "TestATenantDoesNotWaitForTheStartsOfAnother"
	const messages = "TestTheMessagesOfATenantTakeABoundedAmountOfMemory"
	return []control{
		{name: "what has arrived of messages is limited", file: "api/server/body.go", text: `full != nil`, off: `false && full != nil`, tests: messages},
		{name: "compressed messages are limited", file: "api/server/interceptor.go", text: `requestOf(ctx).messages().ReserveAll(int64(proto.Size(message)))`, off: `error(nil)`, tests: messages},
		{name: "compressed messages of streams are limited", file: "api/server/interceptor.go", text: `f.messages.ReserveAll(int64(proto.Size(m)))`, off: `error(nil)`, tests: messages},
		{name: "a tenant starts only some sandboxes at once", file: starts, text: `of < t.own && `, off: ``, tests: starting},
		{name: "a caller with many tokens ends no signed URLs of others", file: "api/e2b/token.go", text: `len(own) > len(t.of[most])`, off: `len(own) < len(t.of[most])`, tests: "TestACallerWithManyTokensEndsNoURLsOfOthers"},
		{name: "the next start is that of the tenant with the fewest", file: starts, text: `of < t.of[t.waiting[best].tenant]`, off: `false`, tests: starting},
	}
}
